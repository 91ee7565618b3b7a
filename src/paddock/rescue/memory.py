"""How much memory is in use where the fleet lives: the host's, or that of a limit around it.

`host.memory` reads the same and more; its imports take 60 ms. Tests hold both to each other.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from paddock.cgroups.files import number, read_or_empty, table
from paddock.cgroups.mounts import UNIFIED, cgroups_of, mounts
from paddock.cgroups.v1 import HELD as HELD_V1
from paddock.cgroups.v2 import HELD as HELD_V2
from paddock.cgroups.v2 import children_of

V1_CHARGED = "memory.usage_in_bytes"
BEHIND_BYTES = 16 << 20  # more than charges that wait on each core, and what the kernel has itself


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


class Limited(NamedTuple):
    """A cgroup that may have a limit."""

    path: str
    is_v2: bool


class Gauge:
    """Finds once what to read, then reads it: two files, and one or two for each cgroup above."""

    def __init__(self, home: str | None = None, *, root: str = "") -> None:
        """`home`: where the fleet lives; limits around it count, not those around us, who may be in
        another session, or inside one agent."""
        self._meminfo = f"{root}/proc/meminfo"
        found = _around(home, root) if home else _around_ourselves(root)
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
            used = _used(one)
            left.append(None if used is None else max(0, limit - used))
            shares.append(_share(left[-1], limit))
            total = min(total, limit)
        known = [size for size in left if size is not None]
        if len(known) < len(left):
            return Reading(total, None, None)
        return Reading(total, min(known), round(100 * max(0.0, *shares), 2))


def _share(left: int | None, whole: int) -> float:
    return 0.0 if left is None else 1 - left / whole


def _around(home: str, root: str) -> list[Limited]:
    """The cgroup itself and all above it, up to where its hierarchy is mounted."""
    for mount in mounts(f"{root}/proc"):
        if home.startswith(f"{mount.point}/") and _has_memory(mount.controllers):
            return _upwards(home, mount.point, is_v2=UNIFIED in mount.controllers, root=root)
    return []


def _around_ourselves(root: str) -> list[Limited]:
    own = cgroups_of(proc=f"{root}/proc")
    found = []
    for mount in mounts(f"{root}/proc"):
        is_v2 = UNIFIED in mount.controllers
        name = UNIFIED if is_v2 else "memory"
        if name in own and _has_memory(mount.controllers):
            # In a container /proc may tell a path that is not mounted: then its top is ours.
            path = mount.path(own[name]) or mount.point
            found += _upwards(path, mount.point, is_v2=is_v2, root=root)
    return found


def _has_memory(controllers: frozenset[str]) -> bool:
    return UNIFIED in controllers or "memory" in controllers


def _upwards(path: str, top: str, *, is_v2: bool, root: str) -> list[Limited]:
    found = [Limited(root + path, is_v2)]
    while path != top and path.startswith(top):
        path = os.path.dirname(path)  # noqa: PTH120
        found.append(Limited(root + path, is_v2))
    return found


def _limit(one: Limited, below_bytes: int) -> int | None:
    name = "memory.max" if one.is_v2 else "memory.limit_in_bytes"
    limit = number(read_or_empty(f"{one.path}/{name}"))
    return limit if limit and limit < below_bytes else None


def _used(one: Limited) -> int | None:
    return used_bytes(one.path, is_v2=one.is_v2)


def used_bytes(path: str, *, is_v2: bool) -> int | None:
    """What cannot be reclaimed; without the anonymous part the rest would be a guess.

    `memory.stat` of a cgroup is up to 2 s behind those below it (4 of 87 hogs of 300 MiB; one of
    them was still 0 in it), while the sum of all charges is exact. Where the two differ, the
    cgroups below are added up.
    """
    names = HELD_V2 if is_v2 else HELD_V1
    stat = table(read_or_empty(f"{path}/memory.stat"))
    if names[0] not in stat:
        return None
    held = sum(stat.get(name, 0) for name in names)
    charged = number(read_or_empty(f"{path}/{'memory.current' if is_v2 else V1_CHARGED}"))
    if charged is None:
        return held
    cache = stat.get("file" if is_v2 else "total_cache", 0)
    if charged - stat[names[0]] - cache > BEHIND_BYTES:
        held = max(held, _added_up(path, is_v2=is_v2))
    return min(held, charged)


def _added_up(path: str, *, is_v2: bool) -> int:
    """In v2 only leaves have processes; in v1 any may, and what is its own has a name."""
    below = children_of(path)
    found = sum(_added_up(f"{path}/{name}", is_v2=is_v2) for name in below)
    if is_v2 and below:
        return found
    names = HELD_V2 if is_v2 else [name.removeprefix("total_") for name in HELD_V1]
    stat = table(read_or_empty(f"{path}/memory.stat"))
    return found + sum(stat.get(name, 0) for name in names)


def _fields(meminfo: str) -> dict[str, int]:
    found = {}
    for line in meminfo.splitlines():
        name, _, rest = line.partition(":")
        if name in ("MemTotal", "MemAvailable") and rest.endswith(" kB"):
            found[name] = (number(rest[:-3]) or 0) * 1024
    return found
