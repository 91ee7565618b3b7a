"""What ResourceQuotas leave: how much more a namespace may ask for, and who is short of what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from paddock.cluster.client import Object
from paddock.cluster.quantities import number_of

MEMORY: Final = ("limits.memory", "requests.memory", "memory")


@dataclass(frozen=True, slots=True)
class Line:
    """One resource of one quota."""

    quota: str
    resource: str
    hard: Decimal
    used: Decimal

    @property
    def left(self) -> Decimal:
        return self.hard - self.used


def lines_of(quotas: Iterable[Object], priority_class: str | None = None) -> list[Line]:
    """Those that bind pods of the class; a quota with a scope that we do not know binds too."""
    return all_lines(quota for quota in quotas if _binds(quota, priority_class))


def all_lines(quotas: Iterable[Object]) -> list[Line]:
    found = []
    for quota in quotas:
        status = quota.get("status", {})
        hard, used = quota["spec"].get("hard", {}), status.get("used", {})
        for resource, value in hard.items():
            taken = number_of(str(used.get(resource, "0")))
            name = quota["metadata"]["name"]
            found.append(Line(name, resource, number_of(str(value)), taken))
    return found


def _binds(quota: Object, priority_class: str | None) -> bool:
    for rule in quota["spec"].get("scopeSelector", {}).get("matchExpressions", []):
        if rule.get("scopeName") != "PriorityClass":
            continue
        values, operator = rule.get("values", []), rule.get("operator")
        if operator == "In" and priority_class not in values:
            return False
        if operator == "NotIn" and priority_class in values:
            return False
        if operator == "Exists" and priority_class is None:
            return False
        if operator == "DoesNotExist" and priority_class is not None:
            return False
    return True


def short_of(asked: Mapping[str, Decimal], lines: Iterable[Line]) -> str | None:
    """Why this much more would be refused, with the numbers; None where it fits."""
    for line in lines:
        wanted = asked.get(line.resource)
        if wanted is not None and wanted > line.left:
            return (
                f"the quota {line.quota} has {plain(max(line.left, Decimal(0)))} of "
                f"{plain(line.hard)} {line.resource} left, and {plain(wanted)} are asked for"
            )
    return None


def never_fits(asked: Mapping[str, Decimal], lines: Iterable[Line]) -> str | None:
    """Why it would wait for ever: it is more than a quota allows with nobody else there."""
    for line in lines:
        wanted = asked.get(line.resource)
        if wanted is not None and wanted > line.hard:
            return (
                f"the quota {line.quota} allows {plain(line.hard)} {line.resource} in all, and "
                f"{plain(wanted)} are asked for"
            )
    return None


def plain(value: Decimal) -> str:
    """For people: bytes as Gi, everything else as it is."""
    if value >= 1 << 20 and value == int(value):
        gib = value / (1 << 30)
        return (
            f"{gib.quantize(Decimal('0.1')).normalize():f}Gi"
            if gib >= 1
            else f"{value / (1 << 20):.0f}Mi"
        )
    return f"{value.normalize():f}"
