"""Room on the disk: below 100 MB output is no longer kept, until there is more again (ADM-5)."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paddock.core.units import format_size

LOW_BYTES: Final = 100 * 1000 * 1000
AGAIN_BYTES: Final = 10 * 1000 * 1000  # above that, before it is kept again
LOOK_EVERY_S: Final = 1.0
LOOK_EVERY_BYTES: Final = 8 << 20  # one flood fills a hundred megabytes within a second
SAID_FOR_S: Final = 3600.0

log = logging.getLogger("paddock.logs")


@dataclass(frozen=True, slots=True)
class Space:
    total_bytes: int
    free_bytes: int

    @property
    def low_bytes(self) -> int:
        """A disk that never has 100 MB free would keep nothing: there it is a tenth."""
        return LOW_BYTES if self.total_bytes > LOW_BYTES else self.total_bytes // 10


def space_of(directory: Path) -> Space | None:
    """None: it cannot be told, and whoever writes there will hear it."""
    try:
        facts = os.statvfs(directory)
    except OSError:
        return None
    return Space(facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize)


@dataclass(slots=True)
class _Shortage:
    """One time in which output was not kept."""

    since: float
    until: float | None = None
    count: int = 0
    lines: int = 0

    def __str__(self) -> str:
        if not self.count:
            return "nothing was written meanwhile"
        return f"{format_size(self.count)} ({self.lines} lines) were not kept"


class FreeRoom:
    """Asked for each turn of each attempt: looks only every second, or every 8 MiB."""

    def __init__(
        self,
        directory: Path,
        *,
        now: Callable[[], float] = time.time,
        look: Callable[[Path], Space | None] = space_of,
    ) -> None:
        self._directory = directory
        self._now, self._look = now, look
        self._looked_at = 0.0
        self._since_look = 0
        self._shortage: _Shortage | None = None
        self._free_bytes = 0

    def is_low(self) -> bool:
        elapsed_s = self._now() - self._looked_at
        if 0 <= elapsed_s < LOOK_EVERY_S and self._since_look < LOOK_EVERY_BYTES:
            return self._is_short
        self._looked_at, self._since_look = self._now(), 0
        space = self._look(self._directory)
        if space is not None:
            self._free_bytes = space.free_bytes
            self._judge(space)
        return self._is_short

    def took(self, count: int) -> None:
        """So much was written."""
        self._since_look += count

    def refused(self) -> None:
        """Whatever the sums say: a quota, or a disk that lies."""
        self._looked_at, self._since_look = self._now(), 0
        self._begin()

    def not_kept(self, count: int, lines: int) -> None:
        if self._shortage is not None:
            self._shortage.count += count
            self._shortage.lines += lines

    def notice(self) -> str | None:
        """For whoever looks: that it is so, and for an hour that it was."""
        shortage = self._shortage
        if shortage is None:
            return None
        since = time.strftime("%H:%M:%S", time.localtime(shortage.since))
        if shortage.until is None:
            free = format_size(self._free_bytes)
            return (
                f"the disk is nearly full ({free} free at {self._directory}): since {since} output "
                f"is not kept, agents go on; {shortage}. Make room, or set PADDOCK_STATE elsewhere"
            )
        if self._now() - shortage.until > SAID_FOR_S:
            return None
        until = time.strftime("%H:%M:%S", time.localtime(shortage.until))
        return f"the disk was nearly full from {since} to {until}: {shortage}"

    @property
    def _is_short(self) -> bool:
        return self._shortage is not None and self._shortage.until is None

    def _judge(self, space: Space) -> None:
        if space.free_bytes < space.low_bytes:
            self._begin()
        elif self._is_short and space.free_bytes >= space.low_bytes + _margin(space):
            assert self._shortage is not None
            self._shortage.until = self._now()
            log.warning("there is room on the disk again: output is kept; %s", self._shortage)

    def _begin(self) -> None:
        if not self._is_short:
            self._shortage = _Shortage(self._now())
            log.warning("%s", self.notice())


def _margin(space: Space) -> int:
    return min(AGAIN_BYTES, space.low_bytes // 10)
