"""One attempt's cgroup as the local driver makes it."""

from __future__ import annotations

from typing import Final

from paddock.cgroups.group import Group, Walls
from paddock.cgroups.v2 import Group2
from paddock.core.run import Attempt
from paddock.drivers.dwell import DWELL_S
from paddock.drivers.watched import Watched

MAIN: Final = "main"


class Leaf(Watched):
    def __init__(
        self, attempt: Attempt, group: Group, walls: Walls, *, dwell_s: float = DWELL_S
    ) -> None:
        # v2 allows no processes beside child cgroups, and tool walls are such; v1 does, and then a
        # second level would only double what a start costs.
        main = group.child(MAIN) if isinstance(group, Group2) else group
        super().__init__(attempt, group, walls, main=main, dwell_s=dwell_s)

    def prepare(self) -> None:
        self.group.make()
        try:
            self.group.set(self.walls)
            if self.main is not self.group:
                self.group.hand_down()
                self.main.make()
        except OSError:
            self.group.remove()
            raise
