"""How much memory this machine really has: RAM, or less where a cgroup says so (HOST-1).

Reads Linux's /proc and cgroup files, v1, v2 or both. Does not decide what is safe, and does not
know macOS yet. `root` stands for `/` so that tests can bring a machine of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from paddock.core.events import Host
from paddock.host.cgroups import MemoryLimit, memory_limits, whole_number


class MemoryUnreadable(Exception):
    """The machine does not say how much memory it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Total and available are the effective ones; `limited_by` names the cgroup that narrows."""

    physical_bytes: int
    total_bytes: int
    available_bytes: int | None
    used_percent: float | None
    swap_percent: float = 0.0
    limited_by: Path | None = None


def read_memory(root: Path = Path("/")) -> Memory:
    """Raises MemoryUnreadable when not even the physical size can be read."""
    fields = _read_meminfo(root / "proc/meminfo")
    physical = fields.get("MemTotal", 0)
    if physical <= 0:
        raise MemoryUnreadable(f"{root / 'proc/meminfo'} does not say MemTotal")
    # A limit above the RAM limits nothing; "no limit" is written as a very large one in v1.
    limits = [limit for limit in memory_limits(root) if limit.limit_bytes < physical]
    tightest = min(limits, key=lambda limit: limit.limit_bytes, default=None)
    free = fields.get("MemAvailable")
    return Memory(
        physical_bytes=physical,
        total_bytes=tightest.limit_bytes if tightest else physical,
        available_bytes=_available(free, limits),
        used_percent=_used_percent(physical, free, limits),
        swap_percent=_swap_percent(fields),
        limited_by=tightest.path if tightest else None,
    )


class LinuxProbe:
    """The HostProbe of a Linux machine, as far as memory goes."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        # Known from the start, so that a later sample that cannot be read still has a total.
        self._total_bytes = read_memory(root).total_bytes

    def sample(self) -> Host:
        try:
            memory = read_memory(self._root)
        except MemoryUnreadable:
            return Host(available_bytes=None, used_percent=None, total_bytes=self._total_bytes)
        self._total_bytes = memory.total_bytes
        return Host(
            available_bytes=memory.available_bytes,
            used_percent=memory.used_percent,
            total_bytes=memory.total_bytes,
            swap_percent=memory.swap_percent,
        )


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


def _swap_percent(fields: dict[str, int]) -> float:
    total = fields.get("SwapTotal", 0)
    return round(100 * (1 - fields.get("SwapFree", total) / total), 2) if total > 0 else 0.0


def _read_meminfo(path: Path) -> dict[str, int]:
    """Bytes by name; lines that are not `Name: number kB` are passed over."""
    try:
        text = path.read_text(encoding="ascii", errors="replace")
    except OSError as error:
        raise MemoryUnreadable(f"{path}: {error.strerror}") from error
    fields = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        value = whole_number(rest.strip().removesuffix(" kB"))
        if value is not None:
            fields[name] = value * 1024
    return fields
