"""What a request to an API server asks for: its path, its verb, and whom it selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.kit.cluster.objects import EVENT, JOB, POD, Kind, Object, Refusal

# What a kind can be selected by, besides its name: not by any field.
FIELDS = {
    POD.family: ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "status.phase"),
    JOB.family: ("status.successful",),
    EVENT.family: (
        *("involvedObject.kind", "involvedObject.namespace", "involvedObject.name"),
        *("involvedObject.uid", "reason", "reportingComponent", "source", "type"),
    ),
}


class Place:
    """/api/v1/namespaces/ns/pods/name/log, taken apart."""

    def __init__(self, group: str, version: str, rest: list[str]) -> None:
        self.group, self.version = group, version
        self.namespace = ""
        if rest[0] == "namespaces" and len(rest) > 2:
            self.namespace, rest = rest[1], rest[2:]
        self.plural = rest[0]
        self.name = rest[1] if len(rest) > 1 else ""
        self.sub = rest[2] if len(rest) > 2 else ""

    @classmethod
    def of(cls, path: str) -> Place:
        parts = path.strip("/").split("/")
        if parts[0] == "api" and len(parts) > 2:
            return cls("", parts[1], parts[2:])
        if parts[0] == "apis" and len(parts) > 3:
            return cls(parts[1], parts[2], parts[3:])
        raise Refusal(404, "NotFound", f"the server could not find {path}")


def path_of(kind: Kind, namespace: str, name: str = "", sub: str = "") -> str:
    """Of all namespaces where none is said."""
    root = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
    where = f"namespaces/{namespace}/" if kind.namespaced and namespace else ""
    return "/".join(filter(None, (f"/{root}/{where}{kind.plural}", name, sub)))


def verb_of(method: str, query: Mapping[str, str], place: Place) -> str:
    if method == "GET":
        if query.get("watch", "").lower() in ("true", "1"):
            return "watch"
        return "get" if place.name else "list"
    return {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[method]


def has_list(body: Any) -> bool:
    if isinstance(body, dict):
        return any(isinstance(each, list) or has_list(each) for each in body.values())
    return False


def selector(kind: Kind, query: Mapping[str, str]) -> Callable[[Object], bool]:
    text = query.get("labelSelector", "")
    if any(sign in text for sign in "!() "):
        raise Refusal(400, "BadRequest", f"the stand-in selects by equality only, not by {text}")
    labels = [one.partition("=") for one in text.split(",") if one]
    fields = [one.partition("=") for one in query.get("fieldSelector", "").split(",") if one]
    known = ("metadata.name", "metadata.namespace", *FIELDS.get(kind.family, ()))
    for name, _, _ in fields:
        if name not in known:
            raise Refusal(400, "BadRequest", f"field label not supported: {name}")

    def wants(found: Object) -> bool:
        own = found["metadata"].get("labels", {})
        for name, has_value, value in labels:
            if name not in own or (has_value and own[name] != value.removeprefix("=")):
                return False
        return all(_field(found, name) == value.removeprefix("=") for name, _, value in fields)

    return wants


def _field(found: Object, path: str) -> str:
    value: Any = found
    for part in path.split("."):
        value = value.get(part, {}) if isinstance(value, dict) else {}
    return value if isinstance(value, str) else ""
