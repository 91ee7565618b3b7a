"""What the stand-in says of itself: the groups and kinds that it serves, as discovery has them."""

from __future__ import annotations

from collections.abc import Iterable

from tests.kit.cluster.objects import Kind, Object

ABOUT = ("api", "apis")
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


def is_discovery(path: str) -> bool:
    """`api/v1` and `apis/batch/v1`, and what is above them."""
    parts = path.strip("/").split("/")
    return (parts[0] == "api" and len(parts) <= 2) or (parts[0] == "apis" and len(parts) <= 3)


def discovered(path: str, kinds: Iterable[tuple[str, Kind]]) -> Object | None:
    """None: a 404, which the real one says as plain text. `kinds`: each with a version of it."""
    parts = path.strip("/").split("/")
    known = [(version, kind) for version, kind in kinds if bool(kind.group) == (parts[0] == "apis")]
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"]}
    if parts == ["apis"]:
        groups = dict.fromkeys(kind.group for _, kind in known)
        return {"kind": "APIGroupList", "groups": [{"name": name} for name in groups]}
    group = parts[1] if parts[0] == "apis" else ""
    version = parts[-1] if len(parts) > (2 if group else 1) else None
    found = [kind for served, kind in known if kind.group == group and version in (None, served)]
    if not found:
        return None
    if version is None:
        return {"kind": "APIGroup", "name": group}
    return {
        "kind": "APIResourceList",
        "groupVersion": f"{group}/{version}".lstrip("/"),
        "resources": [part for kind in found for part in _resources(kind)],
    }


def _resources(kind: Kind) -> list[Object]:
    one = {"name": kind.plural, "kind": kind.kind, "namespaced": kind.namespaced, "verbs": VERBS}
    if not kind.has_status:
        return [one]
    return [one, {**one, "name": f"{kind.plural}/status", "verbs": ["get", "patch", "update"]}]
