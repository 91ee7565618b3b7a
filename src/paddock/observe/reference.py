"""The reference page of metrics and alerts, made from the tables. `docs/` has it as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .alerts import HOST, Alert, cluster, controllers
from .metric import MOST_AGENTS, MOST_GROUPS, OTHER, Metric
from .metrics import METRICS, OF_CONTROLLERS, SECTIONS
from .rules import CONTAINER, NAMESPACE

HEAD: Final = f"""\
# Metrics and alerts

Made from the tables in `src/paddock/observe` by `paddock observe metrics --markdown`. How to have
them scraped, and what to do with rules and dashboard: [observe](../how-to/observe.md).

`GET /metrics` answers on the Unix socket, and on TCP with the token. Counters begin at 0 with every
daemon. Series of single agents are there while the agent is, of the oldest {MOST_AGENTS:,} at most.
Of groups the first {MOST_GROUPS} have names; others are counted as `{OTHER}`, and one that was not
heard of for a day gives its place to another. All other labels have a fixed set of values. A
histogram is `NAME_bucket`, `NAME_sum` and `NAME_count`.
"""
CONTROLLERS: Final = f"""
## Alerts of controllers in Kubernetes

In `{NAMESPACE}`, by default. Controllers serve these at `--metrics`: the one that leads all of
them, one that waits for its turn only what it knows of itself, and counters at 0:
"""
PODS: Final = f"""
## Alerts of pods in Kubernetes

Of containers `{CONTAINER}` in `{NAMESPACE}`, by default.
"""


def page() -> str:
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    for section, metrics in SECTIONS.items():
        yield f"## {section}\n"
        yield "| metric | kind, unit | labels | what | from |"
        yield "|---|---|---|---|---|"
        yield from map(_row, metrics)
        yield ""
    yield "## Alerts of a host\n"
    yield from _alerts(HOST)
    yield PODS
    yield from _alerts(cluster(NAMESPACE, CONTAINER))
    yield CONTROLLERS
    yield ", ".join(f"`{name}`" for name in METRICS if name in OF_CONTROLLERS) + ".\n"
    yield from _alerts(controllers(NAMESPACE))


def _row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
    kind = f"{metric.kind}, {metric.unit}"
    return f"| `{metric.name}` | {kind} | {labels} | {metric.about} | {metric.source} |"


def _alerts(alerts: tuple[Alert, ...]) -> Iterator[str]:
    yield "| alert | severity | for | when |"
    yield "|---|---|---|---|"
    for alert in alerts:
        link = f"[{alert.name}](../operate/alerts/{alert.name}.md)"
        yield f"| {link} | {alert.severity} | {alert.lasts} | `{alert.expr}` |"
