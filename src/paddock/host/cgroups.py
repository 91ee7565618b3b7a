"""The memory limits of the cgroups this process lives in, its own and every ancestor's.

Only reads. Making cgroups and setting walls is the drivers' work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from paddock.cgroups.files import number, read_or_empty
from paddock.cgroups.mounts import Place, places_above
from paddock.cgroups.use import held_bytes


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """A cgroup's limit, and how much of it is in use and cannot be reclaimed, if it says so."""

    path: Path
    limit_bytes: int
    used_bytes: int | None

    @property
    def left_bytes(self) -> int | None:
        if self.used_bytes is None:
            return None
        return max(0, self.limit_bytes - self.used_bytes)


def cgroups_above(controller: str, root: Path = Path("/")) -> list[Place]:
    return places_above(controller, root=str(root).rstrip("/"))


def memory_limits(
    root: Path = Path("/"),
    *,
    below_bytes: int | None = None,
    cgroups: Iterable[Place] | None = None,
) -> list[MemoryLimit]:
    """Every limit that is set on the way from this process's cgroup up; unreadable ones are not.

    Only those below a size: a root cgroup's memory.stat is the dearest file of all to read.
    """
    above = cgroups_above("memory", root) if cgroups is None else cgroups
    found = (_limit(cgroup, below_bytes) for cgroup in above)
    return [limit for limit in found if limit is not None]


def _limit(cgroup: Place, below_bytes: int | None) -> MemoryLimit | None:
    name = "memory.max" if cgroup.is_v2 else "memory.limit_in_bytes"
    limit_bytes = number(read_or_empty(f"{cgroup.path}/{name}"))
    # "max" is v2's word for none. A limit of 0 is garbage: nothing could be running in it.
    if not limit_bytes or (below_bytes is not None and limit_bytes >= below_bytes):
        return None
    used_bytes = held_bytes(cgroup.path, is_v2=cgroup.is_v2)
    return MemoryLimit(Path(cgroup.path), limit_bytes, used_bytes)
