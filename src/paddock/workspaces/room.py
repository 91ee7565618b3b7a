"""All workspaces of one paddock, and whatever is asked of them.

Knows nothing of a daemon: who calls may be a thread, another process, or the same again after a
crash. Slow things (clones, files) happen in the calling thread.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from paddock.core.units import DAY_S

from . import changes, clearing, collecting, merged, pool, saving
from .clearing import Judged, Spot
from .collecting import Times
from .commits import Commit
from .crowding import Crowd
from .errands import Errand
from .errors import Busy, NoRoom, TakenAgain, WorkspaceError
from .holding import Holding, held_by
from .keeping import Keep, Removable
from .locks import hold
from .making import Maker
from .records import Home, Record, SavedWork, State, check_run, homes
from .sources import USUAL, Asked, Manner, home_of, located, source_of
from .worktrees import look_at, resolve

_WAIT_S: Final = 60.0
_LOOKING: Final = 4  # at once: most of it is waiting for git


def _nobody() -> None:
    """Nobody waits for room."""


class Room:
    """At most so many workspaces under one directory, which nobody else writes to."""

    def __init__(
        self,
        top: Path,
        *,
        most: int = 10,
        idle_days: float = 7,
        now: Callable[[], float] = time.time,
    ) -> None:
        top.mkdir(mode=0o700, parents=True, exist_ok=True)
        # git and /proc name real paths: by any other nobody would be found in a workspace.
        top = top.resolve()
        self._top, self._idle_s, self._now = top, idle_days * DAY_S, now
        writing = threading.BoundedSemaphore(max(2, os.cpu_count() or 1))
        self._crowd = Crowd(top, most)
        self._maker = Maker(top, self._crowd, writing, now)
        self._life = Errand()
        self.freed: Callable[[], None] = _nobody  # told, in any thread, when there may be room

    @property
    def top(self) -> Path:
        return self._top

    @property
    def most(self) -> int:
        return self._crowd.most

    def resize(self, *, most: int, idle_days: float) -> None:
        """Counts from now on, also for who waits for room. Fewer take nothing from anybody."""
        self._crowd.most, self._idle_s = most, idle_days * DAY_S
        self.freed()

    def end(self) -> None:
        """Whoever works here, in whatever thread, stops; what is half done the next one finds."""
        self._life.end()

    def errand(self) -> Errand:
        """For work that may be broken off by itself."""
        return Errand(self._life)

    # -- for an attempt ---------------------------------------------------------------------

    def prepare(
        self,
        run: str,
        *,
        repository: Path | str,
        branch: str | None = None,
        manner: Manner = USUAL,
    ) -> Path:
        """The run's own workspace; the same one again for a later attempt."""
        check_run(run)
        asked = Asked(repository=repository, branch=branch, manner=manner, at=self._now())
        with self._life.under_way():
            asked = located(asked)
            home = home_of(self._top, asked)
            with hold(home.runs.lock(run), who=f"run {run}", wait_s=_WAIT_S):
                record = self._maker.again(home, run) or self._maker.anew(home, run, asked)
                taken = replace(record, holder=manner.holder)
                home.runs.write(taken.to(State.TAKEN, at=self._now()))
        return home.runs.path(run)

    def release(
        self, run: str, *, if_still: Callable[[], bool] = lambda: True, wait_s: float = _WAIT_S
    ) -> None:
        """Give it back. What is in it stays until `gc`, or until another run needs the room.

        `if_still` is asked when nobody else can take it.
        """
        spot = self._find(run)
        if spot is None:
            return
        with (
            self._life.under_way(),
            hold(spot.shelf.lock(run), who=f"run {run}", wait_s=wait_s),
        ):
            record = spot.shelf.read(run)
            if record is not None and record.state is State.TAKEN and if_still():
                spot.shelf.write(record.to(State.IDLE, at=self._now()))
        self.freed()

    def save(self, run: str, *, because: str, of: int = 0) -> saving.Saved | None:
        """Commit what a killed agent left; None if that was nothing. Its processes must be gone.

        `of`: which attempt. TakenAgain if another has it by now, and so it stays as it is.
        """
        lock = self._there(run).shelf.lock(run)
        with self._life.under_way(), hold(lock, who=f"saving {run}", wait_s=_WAIT_S):
            spot = self._there(run)
            holder = spot.record.holder
            if spot.record.state is State.TAKEN and holder not in (0, of):
                raise TakenAgain(f"attempt {holder} of run {run} has it by now")
            mark = saving.index_mark(Path(spot.record.git_dir))
            saved = saving.save(spot.record, spot.path, because=because)
            if saved is not None:
                work = SavedWork(saved.commit, saved.branch, mark)
                spot.shelf.write(replace(spot.record, saved=work))
        return saved

    def let_go(self, run: str) -> Keep | Removable | None:
        """Remove it now, if nothing is lost with it and no run has it."""
        spot = self._find(run)
        if spot is None or spot.record.state is State.TAKEN:
            return None
        with self._life.under_way():
            ruling = collecting.ruled(spot, dry_run=False, wait_s=_WAIT_S)
        if isinstance(ruling, Removable):
            self.freed()
        return ruling

    # -- for people -------------------------------------------------------------------------

    def path(self, run: str) -> Path | None:
        spot = self._find(run)
        return spot.path if spot is not None and spot.path.is_dir() else None

    def commits(self, run: str) -> tuple[Commit, ...]:
        """What it committed since its start, the newest first."""
        spot = self._find(run)
        with self._life.under_way():
            if spot is not None and spot.path.is_dir():
                return changes.commits_of(spot.record)
            return changes.commits_of_gone(self._gone(run))

    def last_commit(self, run: str) -> str:
        """Where it stands, for people."""
        with self._life.under_way():
            return changes.last_commit(look_at(self._there(run).record))

    def diff(self, run: str, *, most_bytes: int = changes.MOST_DIFF_BYTES) -> changes.Diff:
        """What it changed, commits and uncommitted files together."""
        spot = self._find(run)
        with self._life.under_way():
            if spot is not None and spot.path.is_dir():
                return changes.diff_of(spot.record, spot.path, most_bytes=most_bytes)
            return changes.diff_of_gone(self._gone(run), most_bytes=most_bytes)

    def record(self, run: str) -> Record | None:
        spot = self._find(run)
        return spot.record if spot is not None else None

    def branch(self, run: str) -> str | None:
        """Where its work is; of a workspace that is gone, if it is still there."""
        record = self.record(run)
        if record is not None:
            return record.branch
        with self._life.under_way():
            return changes.branch_of_gone(self._gone(run))

    def records(self) -> list[Record]:
        """Of all that can be read, slots too."""
        found = [one for one in clearing.spots(self._top) if isinstance(one, Spot)]
        return [spot.record for spot in found]

    def occupied(self) -> dict[Path, bool]:
        """Where each workspace is, and whether a run has it."""
        found = [one for one in clearing.spots(self._top) if isinstance(one, Spot)]
        return {spot.path: spot.record.state is State.TAKEN for spot in found}

    # -- clearing up ------------------------------------------------------------------------

    def gc(self, *, dry_run: bool = False, thorough: bool = False) -> list[Judged]:
        """`thorough` also looks into those whose time has not come."""
        with self._life.under_way():
            found = collecting.gc(self._top, self._times, dry_run=dry_run, thorough=thorough)
        if any(judged.removed for judged in found):
            self.freed()
        return found

    def clear_merged(self, *, dry_run: bool = False) -> list[Judged]:
        """Those whose commits their base has go now, with their branches."""
        with self._life.under_way():
            found = list(merged.clear_merged(self._top, dry_run=dry_run))
        self.freed()
        return found

    def held(self) -> list[tuple[Record, Path | None, Holding]]:
        """All of them, with those of which only a branch is left, and what each holds."""
        there = [one for one in clearing.spots(self._top) if isinstance(one, Spot)]
        gone = [record for _, record in merged.gone_with_branch(self._top)]
        every: list[tuple[Record, Path | None]] = [
            (spot.record, spot.path if spot.path.is_dir() else None) for spot in there
        ]
        every += [(record, None) for record in gone]
        with ThreadPoolExecutor(_LOOKING) as hands:
            looks = hands.map(lambda one: self._held_by(*one), every)
            return [(*one, held) for one, held in zip(every, looks, strict=True)]

    def _held_by(self, record: Record, path: Path | None) -> Holding:
        with self._life.under_way():
            return Holding() if record.state is State.SLOT else held_by(record, path)

    def vacancy(self) -> int:
        """How many more there is room for, perhaps after one that may go has gone."""
        with self._life.under_way():
            return self._crowd.vacancy()

    def check(self) -> list[Judged]:
        """What keeps each of them; none is removed."""
        with self._life.under_way():
            return collecting.gc(self._top, self._times, dry_run=True, thorough=True)

    def remove(self, run: str) -> tuple[saving.Saved | None, Keep | Removable]:
        """Now, whatever its age: what is not committed is committed on its branch first."""
        spot = self._there(run)
        if spot.record.state is State.TAKEN:
            return None, Keep(f"run {run} has it; `paddock kill {run}` ends it")
        saved = None
        if spot.path.is_dir():
            saved = self.save(run, because=f"the workspace of run {run} was removed by hand")
        return saved, self.let_go(run) or Keep("somebody has taken it meanwhile")

    def finish(self) -> None:
        """What the last one to work here had begun to make or to remove."""
        with self._life.under_way():
            collecting.finish(self._top, now_at=self._now())

    @property
    def _times(self) -> Times:
        return Times(self._idle_s, self._now())

    # -- prepared slots ---------------------------------------------------------------------

    def refill(
        self,
        repository: Path | str,
        *,
        branch: str | None = None,
        want: int,
        manner: Manner = USUAL,
    ) -> int:
        """So many slots ready at the branch's tip, as far as there is room; how many are."""
        asked = Asked(repository=repository, branch=branch, manner=manner, at=self._now())
        with self._life.under_way():
            return self._refill(located(asked), want)

    def _refill(self, asked: Asked, want: int) -> int:
        home = home_of(self._top, asked)
        source = source_of(self._top, home, asked)
        commit = resolve(source, asked.branch)
        self._bring_up_to_date(home, commit)
        while (ready := self._ready(home, commit)) < want:
            plan = self._maker.plan(pool.fresh_name(), source, asked, commit=commit)
            plan = replace(plan, branch="", fleeting=False)
            try:
                self._crowd.reserve(home.slots, plan, reclaim=False)
            except NoRoom:
                break
            pool.prepare_slot(self._top, home, source, plan=plan)
        return ready

    def _bring_up_to_date(self, home: Home, commit: str) -> None:
        for slot in pool.slots_of(home):
            if slot.state is State.SLOT and slot.start != commit:
                with suppress(Busy):
                    pool.bring_up_to_date(home, slot, commit=commit, at=self._now())

    @staticmethod
    def _ready(home: Home, commit: str) -> int:
        slots = pool.slots_of(home)
        return sum(slot.state is State.SLOT and slot.start == commit for slot in slots)

    # -- finding one ------------------------------------------------------------------------

    def _find(self, run: str) -> Spot | None:
        check_run(run)
        for home in homes(self._top):
            record = home.runs.read(run)
            if record is not None:
                return Spot(self._top, home, home.runs, record)
        return None

    def _there(self, run: str) -> Spot:
        spot = self._find(run)
        if spot is None:
            raise WorkspaceError(f"run {run} has no workspace")
        return spot

    def _gone(self, run: str) -> Record:
        for home in homes(self._top):
            record = home.gone(run)
            if record is not None:
                return record
        raise WorkspaceError(f"run {run} has no workspace, and left no branch in the last 30 days")
