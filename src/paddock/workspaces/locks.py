"""One at a time: a lock (flock) on a file of ours, between threads and between processes."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .errands import LOOK_S, current
from .errors import Busy

_LONGEST_NOTE: Final = 200


@contextmanager
def hold(path: Path, *, who: str, wait_s: float) -> Iterator[None]:
    """Busy names who has it. The kernel drops it with its process, whatever ended that."""
    descriptor = _locked(path, wait_s)
    try:
        os.ftruncate(descriptor, 0)
        note = f"pid {os.getpid()} for {who} since {time.strftime('%H:%M:%S')}"
        os.pwrite(descriptor, note.encode()[:_LONGEST_NOTE], 0)
        yield
    finally:
        os.close(descriptor)


def _locked(path: Path, wait_s: float) -> int:
    deadline, pause_s = time.monotonic() + wait_s, 0.001
    while True:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(path, flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, _LONGEST_NOTE, 0).decode("utf-8", "replace")
            os.close(descriptor)
            if time.monotonic() >= deadline:
                what = path.parent.name
                raise Busy(f"{what} is taken by {holder or 'somebody'}; try again later") from None
            current().check()
            time.sleep(pause_s)
            pause_s = min(1.5 * pause_s, LOOK_S)
            continue
        if _is_still(path, descriptor):
            return descriptor
        os.close(descriptor)


def _is_still(path: Path, descriptor: int) -> bool:
    """It may have been removed, with what it guarded, while we waited."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
