"""LimitRanges: what they put into a container, and who is out of one."""

from __future__ import annotations

from decimal import Decimal

from tests.kit.cluster.amounts import forbidden, quantity, text_of
from tests.kit.cluster.objects import LIMITS, POD, VOLUME, Object, Shelves


def fill_range(limits: Object) -> None:
    for rule in limits["spec"]["limits"]:
        if rule["type"] == "Container":
            _fill_rule(rule)


def fill_from_ranges(shelves: Shelves, pod: Object, namespace: str) -> None:
    for limits in shelves.all(LIMITS, namespace):
        for rule in limits["spec"]["limits"]:
            if rule["type"] == "Container":
                for container in pod["spec"]["containers"]:
                    _fill_container(container, rule)


def _fill_rule(rule: Object) -> None:
    """A range that has a most has a usual limit, and with that a usual request."""
    usual, asked = rule.setdefault("default", {}), rule.setdefault("defaultRequest", {})
    for names, values in (
        (usual, rule.get("max", {})),
        (asked, usual),
        (asked, rule.get("min", {})),
    ):
        for name, value in values.items():
            names.setdefault(name, value)


def _fill_container(container: Object, rule: Object) -> None:
    resources = container.setdefault("resources", {})
    for part, usual in (("limits", "default"), ("requests", "defaultRequest")):
        for name, value in rule.get(usual, {}).items():
            resources.setdefault(part, {}).setdefault(name, value)


def check_ranges(shelves: Shelves, wanted: Object, namespace: str) -> None:
    for limits in shelves.all(LIMITS, namespace):
        for rule in limits["spec"]["limits"]:
            asked = []
            if rule["type"] == "Container":
                asked = [one.get("resources", {}) for one in wanted["spec"]["containers"]]
            elif rule["type"] == "Pod":
                asked = [_summed(wanted)]
            problems = [why for each in asked for why in _out_of_range(rule, each)]
            if problems:
                whole = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
                raise forbidden(POD, wanted, whole)


def _summed(pod: Object) -> Object:
    total: dict[str, dict[str, Decimal]] = {"requests": {}, "limits": {}}
    for container in pod["spec"]["containers"]:
        for part, values in container.get("resources", {}).items():
            for name, value in values.items():
                total[part][name] = total[part].get(name, Decimal(0)) + quantity(value)
    return {
        part: {name: text_of(name, value) for name, value in values.items()}
        for part, values in total.items()
    }


def _out_of_range(rule: Object, resources: Object) -> list[str]:
    """Why, each in the server's words. Without a request a least is broken, without a limit a
    most."""
    found, kind = [], rule["type"]
    parts = {one: resources.get(f"{one}s", {}) for one in ("request", "limit")}
    for word, must, broken in (("min", "request", 1), ("max", "limit", -1)):
        for name, bound in rule.get(word, {}).items():
            begin = f"{word}imum {name} usage per {kind} is {bound}"
            if name not in parts[must]:
                found.append(f"{begin}.  No {must} is specified")
                continue
            for part in (must, *(one for one in parts if one != must)):
                value = parts[part].get(name)
                if value is not None and (quantity(value) - quantity(bound)) * broken < 0:
                    found.append(f"{begin}, but {part} is {value}")
                    break
    return found


def check_ranges_of_claims(shelves: Shelves, wanted: Object, namespace: str) -> None:
    for limits in shelves.all(LIMITS, namespace):
        for rule in limits["spec"]["limits"]:
            if rule["type"] != "PersistentVolumeClaim":
                continue
            size = wanted["spec"]["resources"]["requests"]["storage"]
            same = {"requests": {"storage": size}, "limits": {"storage": size}}
            for why in _out_of_range(rule, same):
                raise forbidden(VOLUME, wanted, why.replace("but limit is", "but request is"))
