"""What is otherwise in an object than before: by paths, as far as somebody said it. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .objects import Object

# What the server keeps for itself, in every object.
OWN: Final = {
    *("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"),
}
LONGEST: Final = 40


def differences(before: Object, after: Object) -> Iterator[str]:
    """`spec.hard.pods 30 → 60`; only the path of what is no single value."""
    yield from _between(_said(before), _said(after), "")


def _said(one: Object) -> Object:
    meta = {key: value for key, value in one.get("metadata", {}).items() if key not in OWN}
    found = {key: value for key, value in one.items() if key not in ("status", "apiVersion")}
    return {**found, "metadata": meta}


def _between(before: Any, after: Any, path: str) -> Iterator[str]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _between(before.get(key), after.get(key), f"{path}.{key}" if path else key)
    elif _is_short(before) and _is_short(after):
        yield f"{path} {_shown(before)} → {_shown(after)}"
    else:
        yield path


def _is_short(value: Any) -> bool:
    return not isinstance(value, dict | list) and len(str(value)) <= LONGEST


def _shown(value: Any) -> str:
    return "-" if value is None else str(value)
