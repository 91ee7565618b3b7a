"""What a metric is: a line of the table, with bounds for what its labels may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Kind = Literal["counter", "gauge", "histogram"]
Unit = Literal["bytes", "seconds", "ratio", "cores", "runs", "agents", "times", "state", "things"]

# Of live attempts the oldest so many have series of their own; `paddock_agents_without_series`
# counts the others.
MOST_AGENTS: Final = 1000
# Groups beyond that are counted together, as OTHER. One that was not heard of for a day gives its
# place to a new one.
MOST_GROUPS: Final = 100
OTHER: Final = "(other)"

QUEUE_BUCKETS_S: Final = (0.1, 1, 5, 15, 60, 300, 900, 3600, 14400)
RUN_BUCKETS_S: Final = (1, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400)
CLONE_BUCKETS_S: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)

AGENT: Final = ("run", "name", "group")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    name: str
    kind: Kind
    unit: Unit
    about: str
    source: str  # where the daemon has it from, for people
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()  # of a histogram

    @property
    def is_per_agent(self) -> bool:
        return self.labels == AGENT


def gauge(name: str, unit: Unit, about: str, source: str, *labels: str) -> Metric:
    return Metric(name=name, kind="gauge", unit=unit, about=about, source=source, labels=labels)


def counter(name: str, unit: Unit, about: str, source: str, *labels: str) -> Metric:
    return Metric(name=name, kind="counter", unit=unit, about=about, source=source, labels=labels)


def times(name: str, buckets: tuple[float, ...], about: str, source: str, *labels: str) -> Metric:
    return Metric(
        name=name,
        kind="histogram",
        unit="seconds",
        about=about,
        source=source,
        labels=labels,
        buckets=buckets,
    )
