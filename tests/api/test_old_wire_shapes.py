"""Shapes that were once sent must always be understood: keys are only ever added."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from paddock.wire import views
from tests.data.make_wire import SHAPES, WIRE

FILES = sorted(WIRE.glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_what_was_sent_then_is_understood_today(file: Path) -> None:
    kept: dict[str, Any] = json.loads(file.read_bytes())
    assert kept
    for name, then in kept.items():
        now = msgspec.json.decode(json.dumps(then), type=getattr(views, name))
        again = json.loads(msgspec.json.encode(now))
        assert _within(then, again), f"{name}: a key is gone or has changed"


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_only_what_was_always_needed_is_needed(name: str) -> None:
    """A key that was added later has a default: an old daemon does not send it."""
    first = next(kept for file in FILES if name in (kept := json.loads(file.read_bytes())))
    kind = getattr(views, name)
    needed = {field.name for field in msgspec.structs.fields(kind) if field.required}
    missing = needed - first[name].keys()
    assert not missing, f"{name}: {missing} cannot be asked of an old one"


def test_every_shape_that_is_sent_is_kept() -> None:
    top = {
        name
        for name, kind in vars(views).items()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and kind is not msgspec.Struct
    }
    inside = {"Taken", "Otherwise", "HostView", "FleetView", "QueueView", "HeartbeatView"}
    inside |= {"SilenceView"}
    in_submit = {"RunRequest", "HeartbeatRequest"}
    assert top - inside - in_submit == SHAPES.keys()


def _within(then: Any, now: Any) -> bool:
    if isinstance(then, dict):
        return isinstance(now, dict) and all(
            key in now and _within(value, now[key]) for key, value in then.items()
        )
    if isinstance(then, list):
        return len(then) == len(now) and all(map(_within, then, now))
    return bool(then == now)
