"""How much memory this machine really has, RAM or less where a cgroup says so, and its probe.

HOST-1 for Linux: /proc and cgroup files, v1, v2 or both; `macos` has the other one. Does not decide
what is safe. `root` stands for `/` so that tests can bring a machine of their own.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from paddock.cgroups.files import read_or_empty
from paddock.cgroups.mounts import Place
from paddock.core.events import Host
from paddock.host.cgroups import MemoryLimit, cgroups_above, memory_limits
from paddock.host.pressure import (
    Paging,
    PagingRates,
    Stall,
    read_cpus,
    read_load,
    read_paged,
    read_stall,
    worst_stall,
)

# Four of fifty lines: to take them all apart was a fifth of a look's cost.
_WANTED: Final = re.compile(
    r"^(MemTotal|MemAvailable|SwapTotal|SwapFree):[ \t]*(\d{1,20}) kB$", re.MULTILINE | re.ASCII
)


class MemoryUnreadable(Exception):
    """The machine does not say how much memory it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Total and available are the effective ones; `limited_by` names the cgroup that narrows."""

    physical_bytes: int
    total_bytes: int
    available_bytes: int | None
    used_percent: float | None
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    limited_by: Path | None = None
    limits: tuple[Path, ...] = ()  # all cgroups that narrow, `limited_by` the tightest

    @property
    def swap_percent(self) -> float:
        """0 also where nobody knows: a signal that the host does not have presses nobody."""
        if not self.swap_total_bytes or self.swap_used_bytes is None:
            return 0.0
        return round(100 * self.swap_used_bytes / self.swap_total_bytes, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """All that one look at a host found (HOST-1)."""

    memory: Memory
    memory_stall: Stall | None
    cpu_stall: Stall | None
    paging: Paging
    load: tuple[float, float, float] | None
    cpus: float | None  # that can really be used; a quota may be part of one
    calm: bool = False  # the system itself says that nothing presses, whatever was swapped out

    def host(self) -> Host:
        return host_of(self.memory, self.memory_stall, self.paging, calm=self.calm)


def host_of(memory: Memory, stall: Stall | None, paging: Paging, *, calm: bool = False) -> Host:
    """What the core decides by. A completion-time slowdown is no reading: runs tell it."""
    full = stall.full_percent if stall else None
    return Host(
        available_bytes=memory.available_bytes,
        used_percent=memory.used_percent,
        total_bytes=memory.total_bytes,
        swap_percent=0.0 if calm else memory.swap_percent,
        memory_stall_percent=full or 0.0,
        pageouts_rising=paging.rising and not calm,
    )


def read_memory(root: Path = Path("/"), cgroups: Iterable[Place] | None = None) -> Memory:
    """Raises MemoryUnreadable when not even the physical size can be read."""
    fields = _read_meminfo(root / "proc/meminfo")
    physical = fields.get("MemTotal", 0)
    if physical <= 0:
        raise MemoryUnreadable(f"{root / 'proc/meminfo'} does not say MemTotal")
    # A limit above the RAM limits nothing; "no limit" is written as a very large one in v1.
    limits = memory_limits(root, below_bytes=physical, cgroups=cgroups)
    tightest = min(limits, key=lambda limit: limit.limit_bytes, default=None)
    free = fields.get("MemAvailable")
    return Memory(
        physical_bytes=physical,
        total_bytes=tightest.limit_bytes if tightest else physical,
        available_bytes=_available(free, limits),
        used_percent=_used_percent(physical, free, limits),
        swap_total_bytes=fields.get("SwapTotal"),
        swap_used_bytes=_swap_used(fields),
        limited_by=tightest.path if tightest else None,
        limits=tuple(limit.path for limit in limits),
    )


class LinuxProbe:
    """The HostProbe of a Linux machine. Keeps what rates and later looks need."""

    def __init__(
        self, root: Path = Path("/"), *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._root = root
        self._clock = clock
        self._paging = PagingRates()
        self._home = ""
        self._memory_cgroups: list[Place] = []
        self._cpu_cgroups: list[Place] = []
        self._find_cgroups()
        # Known from the start, so that a later look that finds nothing still has a total.
        self._memory = read_memory(root, self._memory_cgroups)

    def sample(self) -> Host:
        """Only what the core decides by: the rest of a reading is half of what it takes."""
        self._find_cgroups()
        memory = self._read_memory()
        return host_of(memory, self._stall(memory), self._page())

    def glance(self, last: Host) -> Host | None:
        """0.05 ms, where a look at host and agents takes 3 ms with 100 processes on the machine.
        What cannot be read is for the next look to say."""
        try:
            if self._memory.limits:
                memory = read_memory(self._root, self._memory_cgroups)
                available, used = memory.available_bytes, memory.used_percent
            else:
                fields = _read_meminfo(self._root / "proc/meminfo")
                available = fields.get("MemAvailable")
                used = _used_percent(self._memory.physical_bytes, available, [])
        except MemoryUnreadable:
            return None
        return replace(last, available_bytes=available, used_percent=used)

    def read(self) -> Readings:
        self._find_cgroups()
        memory = self._read_memory()
        return Readings(
            memory=memory,
            memory_stall=self._stall(memory),
            cpu_stall=read_stall(self._root / "proc/pressure/cpu"),
            paging=self._page(),
            load=read_load(self._root),
            cpus=read_cpus(self._root, self._cpu_cgroups),
        )

    def _stall(self, memory: Memory) -> Stall | None:
        narrowed = (path / "memory.pressure" for path in memory.limits)
        return worst_stall((self._root / "proc/pressure/memory", *narrowed))

    def _page(self) -> Paging:
        return self._paging.look(read_paged(self._root), at=self._clock())

    def _find_cgroups(self) -> None:
        """Again only when this process was moved: all mounts take 0.64 ms, the rest 0.51 ms.

        Without a descriptor left it cannot be read; the limits that were there still are.
        """
        home = read_or_empty(self._root / "proc/self/cgroup")
        if home and home != self._home:
            self._home = home
            self._memory_cgroups = cgroups_above("memory", self._root)
            self._cpu_cgroups = cgroups_above("cpu", self._root)

    def _read_memory(self) -> Memory:
        try:
            self._memory = read_memory(self._root, self._memory_cgroups)
        except MemoryUnreadable:
            last = self._memory
            return Memory(
                physical_bytes=last.physical_bytes,
                total_bytes=last.total_bytes,
                available_bytes=None,
                used_percent=None,
            )
        return self._memory


def _available(free: int | None, limits: list[MemoryLimit]) -> int | None:
    """The least that is left anywhere; None when any of it is unknown."""
    left = [free, *(limit.left_bytes for limit in limits)]
    known = [amount for amount in left if amount is not None]
    return min(known) if len(known) == len(left) else None


def _used_percent(physical: int, free: int | None, limits: list[MemoryLimit]) -> float | None:
    """The highest use over the host and each limiting cgroup; None when any is unknown."""
    if free is None or any(limit.left_bytes is None for limit in limits):
        return None
    shares = [1 - free / physical]
    shares += [1 - (limit.left_bytes or 0) / limit.limit_bytes for limit in limits]
    return round(100 * max(0.0, *shares), 2)


def _swap_used(fields: dict[str, int]) -> int | None:
    total, free = fields.get("SwapTotal"), fields.get("SwapFree")
    return None if total is None or free is None else max(0, total - free)


def _read_meminfo(path: Path) -> dict[str, int]:
    """Bytes by name; lines that are not `Name: number kB` are passed over."""
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise MemoryUnreadable(f"{path}: {error.strerror}") from error
    return {name: int(number) * 1024 for name, number in _WANTED.findall(text)}
