"""ResourceQuotas: what is used of them, for whom they hold, and who is over one."""

from __future__ import annotations

from decimal import Decimal

from tests.kit.cluster.amounts import forbidden, quantity, written
from tests.kit.cluster.objects import JOB, POD, QUOTA, VOLUME, Kind, Object, Shelves


def usage(kind: Kind, found: Object) -> dict[str, Decimal]:
    """What one object takes of a quota."""
    if kind is VOLUME:
        size = found["spec"]["resources"]["requests"]["storage"]
        return _one(kind) | {"requests.storage": quantity(size)}
    if kind is not POD:
        return _one(kind)
    taken = _one(kind)
    for container in found["spec"]["containers"]:
        resources = container.get("resources", {})
        for part in ("requests", "limits"):
            for what, value in resources.get(part, {}).items():
                names = [f"{part}.{what}", what] if part == "requests" else [f"{part}.{what}"]
                for name in names:
                    taken[name] = taken.get(name, Decimal(0)) + quantity(value)
    return taken


def _one(kind: Kind) -> dict[str, Decimal]:
    """Of its kind; those of the core have a short name as well."""
    short = {} if kind.group else {kind.plural: Decimal(1)}
    return {f"count/{kind.full_name}": Decimal(1), **short}


def used(shelves: Shelves, namespace: str, quota: Object) -> dict[str, Decimal]:
    hard = quota["spec"].get("hard", {})
    found = {name: Decimal(0) for name in hard}
    for kind in (POD, VOLUME, JOB):
        for one in shelves.all(kind, namespace):
            if not _in_scope(quota, kind, one):
                continue
            over = kind is POD and one.get("status", {}).get("phase") in ("Succeeded", "Failed")
            taken = {"count/pods": Decimal(1)} if over else usage(kind, one)
            for name, value in taken.items():
                if name in found:
                    found[name] += value
    return found


def _in_scope(quota: Object, kind: Kind, one: Object) -> bool:
    selector = quota["spec"].get("scopeSelector", {}).get("matchExpressions", [])
    if not selector:
        return True
    if kind is not POD:
        return False
    name = one["spec"].get("priorityClassName")
    return all(_fits(rule, name) for rule in selector if rule["scopeName"] == "PriorityClass")


def _fits(rule: Object, name: str | None) -> bool:
    match rule["operator"]:
        case "In":
            return name in rule.get("values", [])
        case "NotIn":
            return name not in rule.get("values", [])
        case "Exists":
            return name is not None
        case _:
            return name is None


def check_quota(shelves: Shelves, kind: Kind, wanted: Object, namespace: str) -> None:
    for quota in shelves.all(QUOTA, namespace):
        if not _in_scope(quota, kind, wanted):
            continue
        hard = {one: quantity(value) for one, value in quota["spec"].get("hard", {}).items()}
        taken, before = usage(kind, wanted), used(shelves, namespace, quota)
        name = quota["metadata"]["name"]
        if kind is POD:
            _check_named(name, hard, wanted)
        over = [one for one in hard if taken.get(one, 0) and before[one] + taken[one] > hard[one]]
        if over:
            why = (
                f"exceeded quota: {name}, requested: {written(taken, over)}, "
                f"used: {written(before, over)}, limited: {written(hard, over)}"
            )
            raise forbidden(kind, wanted, why)


def _check_named(name: str, hard: dict[str, Decimal], pod: Object) -> None:
    """Whoever counts cpu or memory wants both named, by every container."""
    counted = ("cpu", "memory")
    names = [*counted, *(f"{part}.{one}" for part in ("requests", "limits") for one in counted)]
    missing: dict[str, list[str]] = {}
    for container in pod["spec"]["containers"]:
        has = usage(POD, {"spec": {"containers": [container]}})
        for one in sorted(set(hard) & set(names)):
            if one not in has:
                missing.setdefault(one, []).append(container["name"])
    if missing:
        parts = "; ".join(f"{one} for: {','.join(who)}" for one, who in sorted(missing.items()))
        raise forbidden(POD, pod, f"failed quota: {name}: must specify {parts}")
