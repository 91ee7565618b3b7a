"""Memory that the kernel leaves to daemon and keeper, however hard the rest presses: `memory.min`.

Only v2 has it. It holds against a reclaim that begins further up only where every cgroup in between
keeps as much: ours do, and what is above them is somebody else's, so it is told and not changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from .files import number, put, read_or_empty
from .home import Home

# With 1,000 agents the daemon has 55 MB and the keeper 13 (bench/results/idle.json); page cache of
# their programs comes on top.
KEPT_BYTES = 128 << 20
SHARE = 16  # of the fleet's wall, at most: what is kept for them nobody else can have
FILE = "memory.min"


def kept_bytes(wall_bytes: int) -> int:
    page = os.sysconf("SC_PAGE_SIZE")
    return min(KEPT_BYTES, wall_bytes // SHARE) // page * page


def protect(home: Home, size_bytes: int) -> None:
    """OSError: the kernel did not take it. From above, so that it counts once it is there."""
    if home.version == 2:
        for group in (home.group, home.supervisor):
            put(f"{group.path}/{FILE}", size_bytes)


def protected_bytes(home: Home) -> int:
    """As it was set on the supervisor; 0 where there is no such thing."""
    return number(read_or_empty(f"{home.supervisor.path}/{FILE}")) or 0


def in_the_way(directory: str, size_bytes: int) -> list[str]:
    """This cgroup and those above it that keep less, so that less holds below; the uppermost first.

    The root of all has no such file: nobody reclaims from outside of it.
    """
    found = []
    for path in _upwards(directory):
        text = read_or_empty(f"{path}/{FILE}").strip()
        kept = number(text)  # None for `max`, which is enough
        if text and kept is not None and kept < size_bytes:
            found.append(path)
    return found[::-1]


def _upwards(path: str) -> Iterator[str]:
    """As far as these are cgroups."""
    while os.path.exists(f"{path}/cgroup.procs"):  # noqa: PTH110
        yield path
        path = path.rpartition("/")[0]
