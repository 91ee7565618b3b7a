"""One cgroup around all containers, within the fleet's own: its wall holds them with local agents.

The engine is told to make its cgroups in it. That takes one of root's, on this kernel, that goes by
paths: if it leaves cgroups to systemd it knows only slices.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from paddock.cgroups.group import Group, remove_tree
from paddock.cgroups.mounts import UNIFIED, mounts, top_of
from paddock.cgroups.v1 import Group1

CONTAINERS: Final = "containers"
OURS: Final = 2  # levels above it: `paddock-NAME/fleet`


class FleetWall:
    """`parent` is its name as engines want it. In v1 they make the same path in every hierarchy;
    the wall is in that of memory, and only there it must be ours."""

    def __init__(self, fleet: Group, proc: str = "/proc") -> None:
        self._group = fleet.child(CONTAINERS)
        self._proc = proc
        name = "memory" if isinstance(fleet, Group1) else UNIFIED
        self.parent = self._group.path.removeprefix(top_of(name, proc) or "")
        self._new: set[str] = set()  # what was not there before engines made it

    def prepare(self) -> None:
        for way in self._ways():
            self._new |= {path for path in way if not os.path.isdir(path)}  # noqa: PTH112
        self._group.ensure()
        self._group.hand_down()

    def holds(self, group: Group) -> bool:
        return group.path.startswith(f"{self._group.path}/")

    def tidy(self) -> bool:
        """Once no container is left and none is made. What engines leave lies also in hierarchies
        where we have no cgroup; there they have made the way to it, and that goes, too."""
        ours = set(self._group.directories.values()) if isinstance(self._group, Group1) else set()
        gone = self._group.remove()
        for way in self._ways():
            gone = remove_tree(way[0]) and gone
            if way[0] in ours | {self._group.path}:
                continue
            for level, path in enumerate(way[1:]):
                if level < OURS or path in self._new:
                    _remove_if_empty(path)
        return gone

    def _ways(self) -> Iterator[list[str]]:
        """In each hierarchy: from it up, without the top."""
        parts = self.parent.split("/")
        for mount in mounts(self._proc):
            yield [mount.point + "/".join(parts[:end]) for end in range(len(parts), 1, -1)]


def _remove_if_empty(directory: str) -> None:
    try:
        os.rmdir(directory)  # noqa: PTH106
    except OSError:
        return
