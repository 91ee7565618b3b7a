"""One attempt's cgroup, with what was read of it last: most looks need one small read.

Whichever driver made it: use, notices while it lives, and the toll when it has ended.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from paddock.cgroups.files import read_or_empty, table
from paddock.cgroups.group import Group, Walls
from paddock.core.run import Attempt
from paddock.core.units import format_size
from paddock.drivers.cpu import processes_s
from paddock.drivers.dwell import DWELL_S, Dwell, Reading
from paddock.drivers.victims import KernelLog, largest

# `memory.stat` takes 15 µs and the total 0.6: the former only when the latter has moved, or when
# page cache and the rest may have changed places behind it.
MOVED_BYTES: Final = 1 << 20
NEAR_ITS_WALL: Final = 0.8
LOOKS: Final = 10
CACHE_SHARE: Final = 0.1
SMALL_BYTES: Final = 8 << 20
MOST_NOTICES: Final = 3  # of a kind: a story is to be read


@dataclass(frozen=True, slots=True)
class Toll:
    """What the kernel counted for an attempt, read when its main process has ended."""

    oom: bool = False
    fleet_oom: bool = False
    peak_bytes: int | None = None  # None: nobody counted
    victim: str | None = None  # the process that was killed at the wall, for people
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """Something seen at a wall. `over`: it counts as passed, and the attempt is to be stopped."""

    attempt: Attempt
    text: str
    over: bool = False


class Watched:
    """`main`: the cgroup below it that its own processes live in, where tools have others."""

    def __init__(
        self,
        attempt: Attempt,
        group: Group,
        walls: Walls,
        *,
        main: Group | None = None,
        dwell_s: float = DWELL_S,
    ) -> None:
        self.attempt = attempt
        self.group = group
        self.main: Group = main or group
        self.walls = walls
        self.total_bytes = 0  # page cache included, as last read
        self.largest: str | None = None  # its largest process, when it was last near its wall
        self._used_bytes = 0
        self._looks = 0
        self._gauge = -1
        self._refused_forks = 0
        self._told_of_forks = 0
        self._dwell_s = dwell_s
        self._dwell = Dwell((walls.limit_bytes or 0) - (walls.high_bytes or 0), dwell_s)
        self._dwelt = False

    def used_bytes(self) -> int:
        total = self._total()
        self._looks += 1
        near = total >= NEAR_ITS_WALL * (self.walls.limit_bytes or total + 1)
        moved = abs(total - self.total_bytes) > MOVED_BYTES
        if near or moved or self._looks % LOOKS == 1:
            self._used_bytes, self.total_bytes = self.group.used_bytes(), total
        if near:
            self.largest = largest(self.pids()) or self.largest
        return self._used_bytes

    def cpu_s(self) -> float:
        """As its cgroup counts, or else its processes added up."""
        counted = self.group.cpu_s()
        return processes_s(self.pids()) if counted is None else counted

    def pids(self) -> list[int]:
        """A look at a whole directory of v2 takes 50 µs, and there is one a tick."""
        only_main = self.main is not self.group and _links(self.group) == 3
        return self.main.pids() if only_main else self.group.pids()

    def peak_bytes(self) -> int | None:
        """The kernel's peak has page cache in it: an agent that reads files looks as large as its
        wall. Only where it can be hardly any it tells what the agent itself used."""
        peak = self.group.peak_bytes()
        if peak is None or peak <= SMALL_BYTES:
            return peak
        return None if self.group.counters().cache_bytes > CACHE_SHARE * peak else peak

    def toll(self, kernel_log: KernelLog, *, failed: bool) -> Toll:
        """`failed`: also what could explain that."""
        try:
            # Only its own processes: what died at a tool's wall has told so itself.
            killed = self.main.kills() > 0
            peak = self.peak_bytes()
            own = killed and self.group.counters().oom > 0
            note = self._refusals() if failed else None
        except OSError:
            return Toll()
        victim = None
        if killed:
            victim = kernel_log.victim(self.group.path.rpartition("/")[2]) or self.largest
        return Toll(own, killed and not own, peak, victim, note)

    def notices(self, now: float) -> list[Notice]:
        found = []
        text = self._forks_refused()
        if text is not None:
            found.append(Notice(self.attempt, text))
        if self._stands_still(now):
            found.append(Notice(self.attempt, self._dwell_text(), over=True))
        return found

    def _refusals(self) -> str | None:
        refused = self.group.refused_forks()
        if not refused:
            return None
        most = self.walls.pids or "all"
        return (
            f"its {most} processes and threads (pids) were in use, and {refused} more were refused"
        )

    def _forks_refused(self) -> str | None:
        refused = self.group.refused_forks()
        before, self._refused_forks = self._refused_forks, refused
        if refused <= before or self._told_of_forks >= MOST_NOTICES:
            return None
        self._told_of_forks += 1
        most = self.walls.pids or "all"
        return f"its {most} processes and threads (pids) are in use: {refused} more were refused"

    def _stands_still(self, now: float) -> bool:
        high = self.walls.high_bytes
        if high is None or self._dwelt or self.total_bytes < NEAR_ITS_WALL * high:
            return False
        events = table(read_or_empty(f"{self.group.path}/memory.events"))
        stalled = _full_stall_us(read_or_empty(f"{self.group.path}/memory.pressure"))
        reading = Reading(now, events.get("high", 0), stalled, self._used_bytes)
        self._dwelt = self._dwell.see(reading)
        return self._dwelt

    def _dwell_text(self) -> str:
        high = format_size(self.walls.high_bytes or 0)
        return (
            f"stood still for {self._dwell_s:g} s where the kernel throttles it (memory_high, "
            f"{high}), using {format_size(self._used_bytes)}"
        )

    def _total(self) -> int:
        if self._gauge < 0:
            self._gauge = _open_gauge(self.group.path)
        return int(os.pread(self._gauge, 32, 0))

    def close(self) -> None:
        if self._gauge >= 0:
            os.close(self._gauge)
            self._gauge = -1


def _links(group: Group) -> int:
    """Two, and one for each cgroup below."""
    try:
        return os.stat(group.path).st_nlink  # noqa: PTH116
    except OSError:
        return 0


def _open_gauge(path: str) -> int:
    for name in ("memory.current", "memory.usage_in_bytes"):
        try:
            return os.open(f"{path}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
    raise FileNotFoundError(f"{path} does not count memory")


def _full_stall_us(text: str) -> int:
    """`full avg10=… total=N`, in microseconds."""
    _, _, full = text.partition("full ")
    total = full.partition("total=")[2].split("\n", 1)[0].strip()
    return int(total) if total.isdigit() else 0
