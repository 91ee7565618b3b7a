"""At most so many workspaces: a place is reserved by a record, or made by reclaiming one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .clearing import Judged, Spot, clear, spots
from .errors import BrokenOff, Busy, NoRoom, WorkspaceError
from .keeping import Keep
from .locks import hold
from .records import Record, Shelf, State, homes

_WAIT_S: Final = 120.0
_NAMED: Final = 3


class Crowd:
    def __init__(self, top: Path, most: int) -> None:
        self._top, self.most = top, most

    def reserve(self, shelf: Shelf, plan: Record, *, reclaim: bool) -> None:
        """NoRoom says what stands in the way. One at a time, over all processes."""
        with hold(self._top / ".lock", who=plan.name, wait_s=_WAIT_S):
            kept: list[tuple[str, str]] = []
            while self._count() >= self.most:
                if not reclaim or not self._reclaim_one(kept):
                    raise NoRoom(self._sentence(kept))
            shelf.write(plan)

    def vacancy(self) -> int:
        """How many have room now; if nobody has, what may go is cleared away for one. Busy."""
        with hold(self._top / ".lock", who="a look for room", wait_s=_WAIT_S):
            free = self.most - self._count()
            return free if free > 0 else int(self._reclaim_one([]))

    def _count(self) -> int:
        """Records, none of them read: a thousand take a few milliseconds."""
        return sum(len(s.names()) for home in homes(self._top) for s in (home.runs, home.slots))

    def _reclaim_one(self, kept: list[tuple[str, str]]) -> bool:
        for spot in self._candidates():
            try:
                ruling = clear(spot)
            except BrokenOff:
                raise
            except (Busy, WorkspaceError, OSError) as error:
                ruling = Keep(str(error))
            if not isinstance(ruling, Keep):
                return True
            kept.append((spot.record.name, ruling.because))
        return False

    def _candidates(self) -> Iterator[Spot]:
        """What was never handed out first, then the longest idle."""
        found = [one for one in spots(self._top) if isinstance(one, Spot)]
        idle = [spot for spot in found if spot.record.state is not State.TAKEN]
        yield from sorted(idle, key=lambda s: (s.record.state is State.IDLE, s.record.used_at))

    def _sentence(self, kept: list[tuple[str, str]]) -> str:
        """By one look at all that are counted: each is named once, and the numbers add up."""
        every, seen = self._counted(), dict(kept)
        runs = [one.record.name for one in every if isinstance(one, Spot) and _has_run(one)]
        reasons = [
            f"{one.name}: {one.because}"
            if isinstance(one, Judged)
            else f"{one.record.name}: {seen.get(one.record.name, 'given back just now')}"
            for one in every
            if isinstance(one, Judged) or not _has_run(one)
        ]
        parts = [f"all {self.most} workspaces are in use"]
        if len(every) != self.most:  # it was lowered, or one went meanwhile
            parts = [f"{len(every)} workspaces are in use, and {self.most} may be"]
        if runs:
            parts.append(f"{len(runs)} by runs ({_listed(runs)})")
        if reasons:
            parts.append(f"{len(reasons)} idle but kept ({_listed(reasons)})")
        return (
            f"{'; '.join(parts)}. Wait for a run to end, `paddock workspace rm` what is kept, "
            "or raise performance.max_worktrees"
        )

    def _counted(self) -> list[Spot | Judged]:
        """Without directories that have no record: they take nobody's place."""
        every = spots(self._top)
        return [s for s in every if isinstance(s, Spot) or s.name in Shelf(s.path.parent).names()]


def _has_run(spot: Spot) -> bool:
    """Also one that is being made for a run: nobody could remove it."""
    making = spot.record.state is State.MAKING and spot.shelf == spot.home.runs
    return making or spot.record.state is State.TAKEN


def _listed(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
