"""Who stands still at `memory.high`: with no swap the kernel can hold it there for an hour.

Seen on 6.1: with high = 48M a process stood at 55 MB for as long as the test went on, PSI full at
68 %, never killed and never done. After a dwell that counts as over its limit (ISO-8).
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Final

DWELL_S: Final = 30.0
# The kernel lets a task that is over it sleep for up to 2 s at a time and counts it once then, so
# a single look may see neither: it is judged by the last few seconds.
WINDOW_S: Final = 5.0
STALLED_SHARE: Final = 0.4  # of that time in which all its tasks stood still
# Who comes so much closer to its wall in a dwell will meet it by itself.
PROGRESS: Final = 0.25


@dataclass(frozen=True, slots=True)
class Reading:
    at: float
    throttled: int  # times that `memory.high` was passed
    stalled_us: int  # PSI full, in all
    used_bytes: int


class Dwell:
    """Fed with one reading a look. `room_bytes` is what lies between `memory.high` and the wall."""

    def __init__(self, room_bytes: int, dwell_s: float = DWELL_S) -> None:
        self._room_bytes = room_bytes
        self._dwell_s = dwell_s
        self._readings: deque[Reading] = deque()
        self._since: Reading | None = None

    def see(self, now: Reading) -> bool:
        """Whether it has stood there for too long."""
        if not self._stands(now):
            self._since = None
            return False
        if self._since is None:
            self._since = self._readings[0]
        if now.at - self._since.at < self._dwell_s:
            return False
        if now.used_bytes - self._since.used_bytes > PROGRESS * self._room_bytes:
            self._since = now
            return False
        return True

    def _stands(self, now: Reading) -> bool:
        kept = self._readings
        kept.append(now)
        while len(kept) > 1 and kept[1].at <= now.at - WINDOW_S:
            kept.popleft()
        first, seconds = kept[0], now.at - kept[0].at
        if seconds < min(WINDOW_S, self._dwell_s) / 2:
            return False
        stalled = (now.stalled_us - first.stalled_us) / (seconds * 1e6)
        return now.throttled > first.throttled and stalled >= STALLED_SHARE
