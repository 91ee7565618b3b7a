"""When an agent that ended with "try later" wants to be tried again: what it wrote down (RUN-7)."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from paddock.config.mistakes import printable
from paddock.supervisor.stated_times import read_time

LONGEST: Final = 200
SHOWN: Final = 40
# Seconds since 1970 rather than a pause: nobody asks for one of 31 years.
EPOCH_S: Final = 1e9
_NUMBER: Final = re.compile(r"[0-9]{1,12}(\.[0-9]*)?")
ALLOWED: Final = "seconds, a time with its zone as 2026-11-16T18:00:00Z, or an HTTP date"


@dataclass(frozen=True, slots=True)
class Stated:
    """At most one of both: how long from now, or what is wrong with what it wrote."""

    after_s: float | None = None
    problem: str | None = None


def stated_in(path: str, *, now: float) -> Stated:
    """`now` is the wall clock's, as agents' times are. Nothing written is nothing stated."""
    try:
        text, written_at = _read(path)
    except FileNotFoundError:
        return Stated()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        return Stated(problem=f"when to try again cannot be read from PADDOCK_LATER: {why}")
    if not text.strip():
        return Stated()
    after_s = seconds_in(text.strip(), written_at=written_at, now=now)
    if after_s is None:
        shown = printable(text.strip(), SHOWN)
        return Stated(problem=f"PADDOCK_LATER says {shown}; allowed: {ALLOWED}")
    return Stated(after_s=after_s)


def seconds_in(text: str, *, written_at: float, now: float) -> float | None:
    """A pause begins when it was written: the daemon may have been away since. None: no time."""
    if _NUMBER.fullmatch(text):
        number = float(text)
        at = number if number >= EPOCH_S else number + min(written_at, now)
        return max(0.0, at - now)
    found = read_time(text)
    if found is None or found.tzinfo is None:
        return None
    return max(0.0, (found - datetime.fromtimestamp(now, UTC)).total_seconds())


def _read(path: str) -> tuple[str, float]:
    """An agent may put anything there: a link or a FIFO is not followed, nor waited for."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    descriptor = os.open(path, flags)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is no plain file")
        text = os.read(descriptor, LONGEST + 1)
    finally:
        os.close(descriptor)
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST} bytes")
    return text.decode("utf-8", "replace"), found.st_mtime
