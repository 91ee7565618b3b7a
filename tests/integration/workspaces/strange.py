"""Workspaces in which something is strange: looked at soon, and left where they are."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.records import Record
from paddock.workspaces.room import Room

LONG_S = 60.0  # below git's own deadline: whoever takes longer has waited in a pipe


def record_of(room: Room) -> Record:
    record = room.record("run1")
    assert record is not None
    return record


def admin(room: Room) -> Path:
    return Path(record_of(room).git_dir)


def stays(room: Room, path: Path, reason: str) -> None:
    """Whoever looks says so in a line, soon; and the work is where it was."""
    began = time.monotonic()
    (judged,) = room.gc()
    assert not judged.removed and reason in judged.because, judged.because
    for look in (
        lambda: room.save("run1", because="a timeout"),
        lambda: room.diff("run1"),
        lambda: room.prepare("run1", repository=Path(record_of(room).repository)),
    ):
        with suppress(WorkspaceError):  # some may do without what is strange
            look()
    assert time.monotonic() - began < LONG_S
    assert (path / "work.txt").read_text() == "work\n"
