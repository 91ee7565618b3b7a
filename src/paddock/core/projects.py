"""The bounds that projects set for their own runs: how many at once, and how many may wait.

Built again from the runs, as all indexes are. Of several that were said, as when the file was
changed, the newest run's count for the whole project: else an old one would wait behind newcomers
that are allowed more.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sortedcontainers import SortedDict

from .queue import Queue
from .run import Bounds, Ended, Queued, Run


@dataclass(slots=True)
class _Project:
    said: SortedDict[int, Bounds] = field(default_factory=SortedDict)  # by runs not yet ended
    live: int = 0
    waiting: int = 0


class Projects:
    def __init__(self) -> None:
        self._known: dict[str, _Project] = {}

    def note(self, before: Run | None, after: Run, queue: Queue) -> bool:
        """A run is new, or stands elsewhere than before; whether others of its project may start
        now that could not, or the other way round: while it is full they are passed over."""
        if (bounds := after.spec.bounds) is None:
            return False
        self._count(before, after, bounds)
        project = bounds.project
        if (full := self.is_full(project)) == queue.is_held(project):
            return False
        (queue.hold if full else queue.release)(project)
        return True

    def _count(self, before: Run | None, after: Run, bounds: Bounds) -> None:
        one = self._known.setdefault(bounds.project, _Project())
        one.live += _lives_here(after) - (before is not None and _lives_here(before))
        one.waiting += _waits(after) - (before is not None and _waits(before))
        if not isinstance(after.state, Ended):
            one.said[after.sequence] = bounds
        else:
            one.said.pop(after.sequence, None)
            if not one.said:
                del self._known[bounds.project]

    def agents(self, project: str) -> int | None:
        """How many of its runs may be at work at once."""
        if (one := self._known.get(project)) is None:
            return None
        newest: Bounds = one.said.peekitem(-1)[1]
        return newest.agents

    def is_full(self, project: str) -> bool:
        most = self.agents(project)
        return most is not None and self.live(project) >= most

    def live(self, project: str) -> int:
        """How many of them use the memory of this host."""
        return self._known[project].live if project in self._known else 0

    def waiting(self, project: str) -> int:
        return self._known[project].waiting if project in self._known else 0

    def names(self) -> frozenset[str]:
        return frozenset(self._known)


def _lives_here(run: Run) -> bool:
    return run.live and not run.spec.away


def _waits(run: Run) -> bool:
    return isinstance(run.state, Queued)
