"""Walls around local attempts: what the driver asks of them. One module a kind; `none` has none.

Whatever a kind cannot do itself it answers with False or nothing, and the driver does it process by
process. Cgroups of agents are named `…/paddock…/fleet/LEAF`, with the supervisor's beside `fleet`:
`keeper/cgroups.py` knows by that path who was started inside an agent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from paddock.cgroups.group import Walls
from paddock.core.run import Attempt, Priority
from paddock.drivers.watched import Notice, Toll
from paddock.ports import Guarantees


@dataclass(frozen=True, slots=True)
class Place:
    """Where the shim puts itself before it becomes the agent."""

    procs: tuple[str, ...] = ()  # `cgroup.procs` files, one a hierarchy
    oom_score_adj: int | None = None  # None: what the keeper itself had at its birth


class Containment(Protocol):
    """Every method may be repeated without harm, and none of them waits."""

    @property
    def guarantees(self) -> Guarantees: ...

    def prepare(self, attempt: Attempt, walls: Walls, *, priority: Priority) -> Place:
        """A fresh place for a new attempt. OSError: it cannot be had, and nothing is started."""

    def set_priority(self, attempt: Attempt, priority: Priority) -> None:
        """Of those inside, for the kernel's choice; as far as we may."""

    def adopt(self, attempts: Collection[Attempt]) -> None:
        """Those that an earlier daemon prepared; what is left of others is cleared away."""

    def look(self) -> Mapping[Attempt, int]:
        """What those use whose memory it counts; of the others the processes are added up."""

    def cpu_limits(self) -> Mapping[Attempt, float]:
        """In cores, of those that have such a wall."""

    def cpu_s(self) -> Mapping[Attempt, float]:
        """CPU time of the same."""

    def notices(self, now: float) -> list[Notice]:
        """What was seen at the walls since the last time; after each `look`."""

    def holds(self, attempt: Attempt) -> bool:
        """Whether it has walls around this one."""

    def pids(self, attempt: Attempt) -> frozenset[int]:
        """Every process inside, marked or not."""

    def partly(self, attempt: Attempt, turn: int) -> frozenset[int]:
        """Those that have left some of its walls and not all, marked or not; some walls a turn."""

    def is_inside(self, attempt: Attempt, where: Mapping[str, str]) -> bool:
        """Whether a process with these cgroups (`cgroups.mounts.cgroups_of`) is."""

    def take_back(self, attempt: Attempt, pid: int) -> bool:
        """Put one that left back inside."""

    def kill(self, attempt: Attempt) -> bool: ...

    def freeze(self, attempt: Attempt, *, reclaim: bool) -> bool: ...

    def thaw(self, attempt: Attempt) -> bool: ...

    def toll(self, attempt: Attempt, *, failed: bool) -> Toll:
        """`failed`: also what could explain that."""

    def remove(self, attempt: Attempt) -> None:
        """The attempt is empty and forgotten."""

    def set_wall(self, limit_bytes: int) -> None:
        """The wall around all of them."""

    def close(self) -> None: ...
