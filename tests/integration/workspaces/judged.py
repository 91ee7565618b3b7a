"""What becomes of workspaces that were given back, and who is in them."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from paddock.workspaces.clearing import Judged
from paddock.workspaces.room import Room


def the_one(room: Room, *, dry_run: bool = False) -> Judged:
    (judged,) = room.gc(dry_run=dry_run)
    return judged


def is_kept(room: Room, path: Path, *reasons: str) -> bool:
    before = sorted(path.rglob("*")) if path.is_dir() else []
    judged = the_one(room)
    assert not judged.removed, judged.because
    for reason in reasons:
        assert reason in judged.because, judged.because
    assert path.exists() or path.is_symlink()
    return before == (sorted(path.rglob("*")) if path.is_dir() else [])


def ended(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
