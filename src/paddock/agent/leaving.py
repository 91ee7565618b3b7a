"""What an agent tells paddock by itself: that it is ready, and that it wants to be tried later."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from .keeping import put, touch

if TYPE_CHECKING:
    from datetime import datetime

TRY_LATER = 75  # EX_TEMPFAIL of sysexits.h


def later(after: float | datetime | str | None = None) -> NoReturn:
    """End now (exit 75) and be tried again: no failure, whatever it waits for.

    `after` is in seconds, a time with its zone, or what a `Retry-After` said; without it paddock
    takes a minute, and twice as long each time. Call it in the main thread: it raises SystemExit.
    """
    path = os.environ.get("PADDOCK_LATER")
    text = "" if after is None else _words(after)
    if text and path:
        put(path, text.encode())
    sys.exit(TRY_LATER)


def ready() -> bool:
    """Say that this run is ready, by the file that its `ready_marker` names. False where none was
    asked for, or it cannot be made."""
    path = os.environ.get("PADDOCK_READY")
    return bool(path) and touch(str(path))


def _words(after: float | datetime | str) -> str:
    if isinstance(after, str):
        return after.strip()
    if isinstance(after, int | float):
        if not after < float("inf"):  # nor is it one that is no number at all
            raise ValueError(f"later: {after} is no time")
        return str(max(0.0, float(after)))
    if after.tzinfo is None:
        raise ValueError("later: a time needs its zone, as datetime.now(timezone.utc) has one")
    return after.isoformat()
