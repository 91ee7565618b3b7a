"""Rules about alerts: expressions that can never fire, or fire for nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from .objects import Object
from .problems import Problem, of_kind, rule, where

_QUOTA: Final = re.compile(
    r"kube_resourcequota\{[^}]*type=\"used\"[^}]*\}\s*/(?!\s*(?:on|ignoring))"
)
_BARE_LIMIT: Final = re.compile(r"/\s*container_spec_memory_limit_bytes")
_CORES: Final = re.compile(
    r"^\s*rate\(container_cpu_usage_seconds_total\{[^}]*\}\[\w+\]\)\s*>\s*0\.\d+"
)
_RESTARTS: Final = re.compile(r"restarts_total.*and\s+on\s*\(\s*pod\s*\)", re.DOTALL)


@rule("alerts-can-fire")
def alerts_can_fire(objects: Sequence[Object]) -> list[Problem]:
    return [
        Problem("alerts-can-fire", f"{where(one)}, {alert['alert']}", told)
        for one in of_kind(objects, "PrometheusRule")
        for group in one["spec"].get("groups", [])
        for alert in group.get("rules", [])
        if "alert" in alert
        for told in _faults(str(alert.get("expr", "")))
    ]


def _faults(expr: str) -> Iterator[str]:
    if _QUOTA.search(expr):
        yield "used / hard never match, their label type differs: ignoring (type)"
    if _BARE_LIMIT.search(expr):
        yield "where no limit is set this divides by 0: (… > 0)"
    if _CORES.search(expr):
        yield "compares cores with a share: one core of four fires it; divide by the limit"
    if _RESTARTS.search(expr):
        yield "a pod that is not restarted never shows here, and names meet across namespaces"
