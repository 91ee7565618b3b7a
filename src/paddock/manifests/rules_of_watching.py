"""Rules about alerts: expressions that can never fire, or fire for nothing, and whom to scrape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from paddock.observe.alerts import JOB
from paddock.observe.metrics import METRICS, OF_CONTROLLERS

from .objects import CONTROLLER, Object
from .problems import Problem, of_kind, rule, space_of, where

_QUOTA: Final = re.compile(
    r"kube_resourcequota\{[^}]*type=\"used\"[^}]*\}\s*/(?!\s*(?:on|ignoring))"
)
_BARE_LIMIT: Final = re.compile(r"/\s*container_spec_memory_limit_bytes")
_CORES: Final = re.compile(
    r"^\s*rate\(container_cpu_usage_seconds_total\{[^}]*\}\[\w+\]\)\s*>\s*0\.\d+"
)
_RESTARTS: Final = re.compile(r"restarts_total.*and\s+on\s*\(\s*pod\s*\)", re.DOTALL)
_OURS: Final = re.compile(r"\bpaddock_[a-z_]+")
_UP: Final = re.compile(rf'\bup\{{[^}}]*job="{JOB}"')
_PART: Final = re.compile(r"_(?:bucket|sum|count)$")


@rule("alerts-can-fire")
def alerts_can_fire(objects: Sequence[Object]) -> list[Problem]:
    return [
        Problem("alerts-can-fire", at, told)
        for at, _, expr in _alerts(objects)
        for told in _faults(expr)
    ]


@rule("alerts-are-fed")
def alerts_are_fed(objects: Sequence[Object]) -> list[Problem]:
    """Of controllers that are among the objects: what alerts ask for they serve, to somebody who
    asks. Whoever else may be scraped is not known here."""
    controllers = {
        space_of(one): one
        for one in of_kind(objects, "Deployment")
        if one["metadata"]["name"] == CONTROLLER
    }
    return [
        Problem("alerts-are-fed", at, told)
        for at, space, expr in _alerts(objects)
        if space in controllers
        for told in _unfed(expr, controllers[space], objects)
    ]


def _alerts(objects: Sequence[Object]) -> Iterator[tuple[str, str | None, str]]:
    """Where it is, in which namespace, and what it asks."""
    for one in of_kind(objects, "PrometheusRule"):
        for group in one["spec"].get("groups", []):
            for alert in group.get("rules", []):
                if "alert" in alert:
                    at = f"{where(one)}, {alert['alert']}"
                    yield at, space_of(one), str(alert.get("expr", ""))


def _unfed(expr: str, controller: Object, objects: Sequence[Object]) -> Iterator[str]:
    asked = {_PART.sub("", name) if name not in METRICS else name for name in _OURS.findall(expr)}
    for name in sorted(asked - OF_CONTROLLERS):
        yield f"no controller serves {name}: it can never fire; leave it to the host's rules"
    if (asked & OF_CONTROLLERS or _UP.search(expr)) and not any(
        _scrapes(one, controller) for one in of_kind(objects, "PodMonitor")
    ):
        yield "nothing scrapes the controllers: render their PodMonitor as well"


def _scrapes(monitor: Object, controller: Object) -> bool:
    if space_of(monitor) != space_of(controller):
        return False
    template = controller["spec"]["template"]
    wanted = (monitor["spec"].get("selector") or {}).get("matchLabels") or {}
    ports = {
        port.get("name")
        for container in template["spec"]["containers"]
        for port in container.get("ports", [])
    }
    asked = {one.get("port") for one in monitor["spec"].get("podMetricsEndpoints") or []}
    return wanted.items() <= template["metadata"]["labels"].items() and bool(asked & ports)


def _faults(expr: str) -> Iterator[str]:
    if _QUOTA.search(expr):
        yield "used / hard never match, their label type differs: ignoring (type)"
    if _BARE_LIMIT.search(expr):
        yield "where no limit is set this divides by 0: (… > 0)"
    if _CORES.search(expr):
        yield "compares cores with a share: one core of four fires it; divide by the limit"
    if _RESTARTS.search(expr):
        yield "a pod that is not restarted never shows here, and names meet across namespaces"
