"""How much memory is in use where the fleet lives: the host's, or that of a limit around it.

`host.memory` reads the same and more; its imports take 60 ms. Tests hold both to each other.
"""

from __future__ import annotations

from typing import NamedTuple

from paddock.cgroups.files import number, read_or_empty
from paddock.cgroups.mounts import UNIFIED, Place, mounts, places_above, upwards
from paddock.cgroups.use import held_bytes


class Unreadable(Exception):
    """Not even the size of the machine's memory can be read."""


class Reading(NamedTuple):
    """None: it cannot be read now, and nobody is killed on a guess."""

    total_bytes: int
    available_bytes: int | None
    used_percent: float | None

    @property
    def is_known(self) -> bool:
        return self.available_bytes is not None and self.used_percent is not None


class Gauge:
    """Finds once what to read, then reads it: two files, and one or two for each cgroup above."""

    def __init__(self, home: str | None = None, *, root: str = "") -> None:
        """`home`: where the fleet lives; limits around it count, not those around us, who may be in
        another session, or inside one agent."""
        self._meminfo = f"{root}/proc/meminfo"
        found = _around(home, root) if home else places_above("memory", root=root)
        physical = _fields(read_or_empty(self._meminfo)).get("MemTotal", 0)
        if not physical:
            raise Unreadable(f"{self._meminfo} does not say MemTotal")
        self._physical = physical
        self._around = found  # all of them: one that has no limit today may be given one

    def look(self) -> Reading:
        free = _fields(read_or_empty(self._meminfo)).get("MemAvailable")
        total, left, shares = self._physical, [free], [_share(free, self._physical)]
        for one in self._around:
            limit = _limit(one, self._physical)
            if limit is None:
                continue
            used = held_bytes(one.path, is_v2=one.is_v2)
            left.append(None if used is None else max(0, limit - used))
            shares.append(_share(left[-1], limit))
            total = min(total, limit)
        known = [size for size in left if size is not None]
        if len(known) < len(left):
            return Reading(total, None, None)
        return Reading(total, min(known), round(100 * max(0.0, *shares), 2))


def _share(left: int | None, whole: int) -> float:
    return 0.0 if left is None else 1 - left / whole


def _around(home: str, root: str) -> list[Place]:
    """The cgroup itself and all above it, up to where its hierarchy is mounted."""
    for mount in mounts(f"{root}/proc"):
        if home.startswith(f"{mount.point}/") and mount.controllers & {UNIFIED, "memory"}:
            is_v2 = UNIFIED in mount.controllers
            return [Place(root + path, is_v2) for path in upwards(home, mount.point)]
    return []


def _limit(one: Place, below_bytes: int) -> int | None:
    name = "memory.max" if one.is_v2 else "memory.limit_in_bytes"
    limit = number(read_or_empty(f"{one.path}/{name}"))
    return limit if limit and limit < below_bytes else None


def _fields(meminfo: str) -> dict[str, int]:
    found = {}
    for line in meminfo.splitlines():
        name, _, rest = line.partition(":")
        if name in ("MemTotal", "MemAvailable") and rest.endswith(" kB"):
            found[name] = (number(rest[:-3]) or 0) * 1024
    return found
