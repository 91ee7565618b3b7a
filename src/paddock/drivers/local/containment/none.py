"""No walls: attempts are told apart by process, and their limits are watched, not enforced."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from paddock.cgroups.group import Walls
from paddock.core.run import Attempt, Priority
from paddock.drivers.local.containment import Place
from paddock.drivers.watched import Notice, Toll
from paddock.ports import Guarantees

_GUARANTEES: Final = Guarantees(
    name="local (no walls)",
    hard_memory_wall=False,
    kills_whole_tree=True,
    can_freeze=True,
    survives_daemon=True,
)


class NoContainment:
    """For hosts without cgroups we may write; also what every other kind is measured against.

    Freezing is SIGSTOP, round after round until no process moves. The whole tree is killed as far
    as descent, sessions and marks reach: only a process that left its parent, its session and its
    environment all at once is nobody's.
    """

    @property
    def guarantees(self) -> Guarantees:
        return _GUARANTEES

    def prepare(self, attempt: Attempt, walls: Walls, *, priority: Priority) -> Place:  # noqa: ARG002
        return Place()

    def set_priority(self, attempt: Attempt, priority: Priority) -> None:
        pass

    def adopt(self, attempts: Collection[Attempt]) -> None:
        pass

    def look(self) -> Mapping[Attempt, int]:
        return {}

    def cpu_limits(self) -> Mapping[Attempt, float]:
        return {}

    def cpu_s(self) -> Mapping[Attempt, float]:
        return {}

    def notices(self, now: float) -> list[Notice]:  # noqa: ARG002
        return []

    def holds(self, attempt: Attempt) -> bool:  # noqa: ARG002
        return False

    def pids(self, attempt: Attempt) -> frozenset[int]:  # noqa: ARG002
        return frozenset()

    def partly(self, attempt: Attempt, turn: int) -> frozenset[int]:  # noqa: ARG002
        return frozenset()

    def is_inside(self, attempt: Attempt, where: Mapping[str, str]) -> bool:  # noqa: ARG002
        return False

    def take_back(self, attempt: Attempt, pid: int) -> bool:  # noqa: ARG002
        return False

    def kill(self, attempt: Attempt) -> bool:  # noqa: ARG002
        return False

    def freeze(self, attempt: Attempt, *, reclaim: bool) -> bool:  # noqa: ARG002
        return False

    def thaw(self, attempt: Attempt) -> bool:  # noqa: ARG002
        return False

    def toll(self, attempt: Attempt, *, failed: bool) -> Toll:  # noqa: ARG002
        return Toll()

    def remove(self, attempt: Attempt) -> None:
        pass

    def set_wall(self, limit_bytes: int) -> None:
        pass

    def close(self) -> None:
        pass
