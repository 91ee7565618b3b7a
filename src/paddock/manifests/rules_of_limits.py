"""Rules about quotas, defaults, priorities and what pods may do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from paddock.cluster.quantities import NoQuantity, number_of

from .objects import Object
from .problems import Problem, of_kind, rule, space_of, where

OF_QUANTITIES: Final = {
    *("hard", "requests", "limits", "default", "defaultRequest", "max", "min"),
    *("minAllowed", "maxAllowed"),
}
WITH_QUANTITIES: Final = (
    *("ResourceQuota", "LimitRange", "PersistentVolumeClaim", "VerticalPodAutoscaler"),
    *("Pod", "Job", "Deployment", "StatefulSet", "DaemonSet"),
)
COMPUTE: Final = ("cpu", "memory", "requests.", "limits.", "pods")


@rule("no-global-default")
def no_global_default(objects: Sequence[Object]) -> list[Problem]:
    told = "globalDefault: true gives every pod of the whole cluster this priority: leave it false"
    return [
        Problem("no-global-default", where(one), told)
        for one in of_kind(objects, "PriorityClass")
        if one.get("globalDefault")
    ]


@rule("scoped-quota")
def scoped_quota(objects: Sequence[Object]) -> list[Problem]:
    """Where controllers live beside agents, what is counted for pods must be the agents' only."""
    shared = {space_of(one) for one in of_kind(objects, "Deployment")}
    told = "counts the controllers' pods too, which takes agents' room: scope it by priority class"
    return [
        Problem("scoped-quota", where(one), told)
        for one in of_kind(objects, "ResourceQuota")
        if space_of(one) in shared and _counts_pods(one) and not one["spec"].get("scopeSelector")
    ]


def _counts_pods(quota: Object) -> bool:
    names = [name for name in quota["spec"].get("hard", {}) if name != "requests.storage"]
    return any(name.startswith(COMPUTE) for name in names)


@rule("scope-counts-pods")
def scope_counts_pods(objects: Sequence[Object]) -> list[Problem]:
    """The API server refuses a scope on what is no pod."""
    found = []
    for one in of_kind(objects, "ResourceQuota"):
        if not one["spec"].get("scopeSelector"):
            continue
        hard = one["spec"].get("hard", {})
        wrong = [name for name in hard if not name.startswith(COMPUTE) or "storage" in name]
        if wrong:
            told = f"{', '.join(wrong)} cannot be counted by priority class: a quota of its own"
            found.append(Problem("scope-counts-pods", where(one), told))
    return found


@rule("default-limit-fits")
def default_limit_fits(objects: Sequence[Object]) -> list[Problem]:
    """A pod that asks for more than the default limit, and says no limit, is refused."""
    found = []
    for one in of_kind(objects, "LimitRange"):
        for part in one["spec"].get("limits", []):
            for name, text in (part.get("default") or {}).items():
                largest = _largest_limit(objects, name, space_of(one), part)
                if number_of(text) < largest:
                    told = f"the default limit of {name}, {text}, is below {largest:f}, which a"
                    told += " container may ask for: one that names no limit would be refused"
                    found.append(Problem("default-limit-fits", where(one), told))
    return found


def _largest_limit(
    objects: Sequence[Object], name: str, space: str | None, part: Object
) -> Decimal:
    """What may be asked for here: by the range's own maximum, or else by all of a quota's room."""
    if name in (part.get("max") or {}):
        return number_of(part["max"][name])
    quotas = [one for one in of_kind(objects, "ResourceQuota") if space_of(one) == space]
    asked = [one["spec"].get("hard", {}).get(f"requests.{name}") for one in quotas]
    return max((number_of(text) for text in asked if text), default=Decimal(0))


@rule("quantities")
def quantities(objects: Sequence[Object]) -> list[Problem]:
    """To a schema a quantity is any text; the API server refuses `4Gb`."""
    return [
        Problem("quantities", where(one), f"{path}: {text!r} is no quantity; as in 500m or 8Gi")
        for one in of_kind(objects, *WITH_QUANTITIES)
        for path, text in _quantities(one.get("spec"), "spec")
        if not _is_quantity(text)
    ]


def _quantities(part: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What stands right below a key that holds names and quantities."""
    if isinstance(part, list):
        for value in part:
            yield from _quantities(value, path)
    elif isinstance(part, dict):
        for key, value in part.items():
            below = f"{path}.{key}"
            if key in OF_QUANTITIES and isinstance(value, dict):
                yield from ((f"{below}.{name}", text) for name, text in value.items())
            else:
                yield from _quantities(value, below)


def _is_quantity(text: Any) -> bool:
    try:
        return number_of(str(text)) >= 0
    except NoQuantity:
        return False


@rule("tight-pods")
def tight_pods(objects: Sequence[Object]) -> list[Problem]:
    """What the namespace's own standard (restricted) asks of every pod."""
    return [
        Problem("tight-pods", where(one), told)
        for one in of_kind(objects, "Deployment", "Job", "StatefulSet", "DaemonSet", "Pod")
        for told in _loose(_pod_of(one))
    ]


def _pod_of(one: Object) -> dict[str, Any]:
    spec: dict[str, Any] = one.get("spec") or {}
    if one.get("kind") == "Pod":
        return spec
    pod: dict[str, Any] = (spec.get("template") or {}).get("spec") or {}
    return pod


def _loose(pod: dict[str, Any]) -> Iterator[str]:
    of_pod = pod.get("securityContext") or {}
    for container in pod.get("containers", []):
        own = {**of_pod, **(container.get("securityContext") or {})}
        name = container.get("name", "?")
        if not own.get("runAsNonRoot"):
            yield f"container {name} may run as root: runAsNonRoot"
        if own.get("allowPrivilegeEscalation") is not False:
            yield f"container {name} may get more rights: allowPrivilegeEscalation: false"
        if "ALL" not in ((own.get("capabilities") or {}).get("drop") or []):
            yield f"container {name} keeps capabilities: drop ALL"
        if (own.get("seccompProfile") or {}).get("type") not in ("RuntimeDefault", "Localhost"):
            yield f"container {name} may call everything: seccompProfile RuntimeDefault"
        if not container.get("resources", {}).get("limits", {}).get("memory"):
            yield f"container {name} has no memory limit"
