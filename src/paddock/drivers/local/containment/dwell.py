"""Who stands still at `memory.high`: with no swap the kernel can hold it there for an hour.

Seen on 6.1: with high = 48M a process stood at 55 MB for as long as the test went on, PSI full at
68 %, never killed and never done. After a dwell that counts as over its limit (ISO-8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DWELL_S: Final = 30.0
STALLED_SHARE: Final = 0.4  # of the time between two looks in which all its tasks stood still
PROGRESS_BYTES: Final = 1 << 20  # who still grows will meet its wall, or shrinks and is free


@dataclass(frozen=True, slots=True)
class Reading:
    at: float
    throttled: int  # times that `memory.high` was passed
    stalled_us: int  # PSI full, in all
    used_bytes: int


class Dwell:
    """Fed with one reading a look."""

    def __init__(self, dwell_s: float = DWELL_S) -> None:
        self._dwell_s = dwell_s
        self._last: Reading | None = None
        self._since: Reading | None = None

    def see(self, now: Reading) -> bool:
        """Whether it has stood there for too long."""
        last, self._last = self._last, now
        if last is None or now.at <= last.at:
            return False
        stalled = (now.stalled_us - last.stalled_us) / ((now.at - last.at) * 1e6)
        stands = now.throttled > last.throttled and stalled >= STALLED_SHARE
        if not stands:
            self._since = None
            return False
        if self._since is None or abs(now.used_bytes - self._since.used_bytes) > PROGRESS_BYTES:
            self._since = now
            return False
        return now.at - self._since.at >= self._dwell_s
