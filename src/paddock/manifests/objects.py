"""The shape that all objects of a cluster share, and paddock's labels on them."""

from __future__ import annotations

from typing import Any, Final

from paddock.cluster.labels import MANAGED

from .values import Values

Object = dict[str, Any]

CONTROLLER: Final = "paddock-controller"
PART: Final = "app.kubernetes.io/component"
NAME: Final = "app.kubernetes.io/name"


def an_object(  # noqa: PLR0913 - what every object has
    values: Values,
    api: str,
    kind: str,
    name: str,
    *,
    namespace: str | None = "",
    why: str = "",
    **rest: Any,
) -> Object:
    """In paddock's namespace unless it says another; None for what has no namespace."""
    metadata: Object = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace or values.namespace
    metadata["labels"] = {NAME: "paddock", MANAGED: "paddock", **values.labels}
    if why:
        metadata["annotations"] = {"paddock.dev/why": why}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **rest}


def controller_labels() -> dict[str, str]:
    return {NAME: "paddock", PART: "controller"}
