"""What a cgroup that has others below it holds, exactly: its own figures come late."""

from __future__ import annotations

from .files import number, read_or_empty, table
from .v1 import HELD as HELD_V1
from .v2 import HELD as HELD_V2
from .v2 import children_of

V1_CHARGED = "memory.usage_in_bytes"
BEHIND_BYTES = 16 << 20  # more than charges that wait on each core, and what the kernel has itself


def held_bytes(path: str, *, is_v2: bool) -> int | None:
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
