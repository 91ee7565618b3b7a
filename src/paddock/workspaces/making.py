"""How a run comes to its workspace: the one it had, a prepared slot, or a new worktree."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from . import clearing, pool, saving, submodules
from .commits import pin
from .crowding import Crowd
from .errands import having, in_peace
from .errors import NoRoom, UnsafePlace, WorkspaceError
from .facts import gather_of_gone
from .git import Git
from .locks import hold
from .looking import alternates_mark, check_repository
from .records import BRANCHES, Home, Record, State
from .secrets import without_secrets
from .size_rules import admitted
from .sizes import measure, of_stored
from .sources import Asked, Manner, source_of
from .stale_locks import await_gits, break_index_lock
from .worktrees import (
    Source,
    add,
    check_directories,
    drop_unused_branch,
    fill,
    git_of,
    has_branch,
    mend,
    narrow,
    registered,
    resolve,
    unregister,
)


@dataclass(frozen=True, slots=True)
class Maker:
    """`writing` bounds how many write files at once: it is the disk that is slow."""

    top: Path
    crowd: Crowd
    writing: threading.BoundedSemaphore
    now: Callable[[], float]

    def again(self, home: Home, run: str) -> Record | None:
        """The one it had, whole; None if there is none, or it was never handed out."""
        record, path = home.runs.read(run), home.runs.path(run)
        if record is None:
            if path.is_symlink() or path.exists():
                raise UnsafePlace(f"{path} is there, and paddock did not make it; move it away")
            return None
        spot = clearing.Spot(self.top, home, home.runs, record)
        if spot.going.is_dir():  # a clearing was killed in the middle
            clearing.put_back_or_delete(self.top, home.runs, spot.going, run)
        if path.is_symlink() or (path.exists() and not path.is_dir()):
            raise UnsafePlace(f"{path} is no directory any more; look at it, and move it away")
        if record.state is State.MAKING or not path.exists():
            self._start_over(home, record)
            return None
        mend(record, path)
        check_repository(record)
        return _settled(record, path)

    def _start_over(self, home: Home, record: Record) -> None:
        """It was never handed out, or somebody deleted it: its branch is gone on with."""
        if record.state not in (State.MAKING, State.GOING):
            facts = gather_of_gone(record)
            if facts.unknown:
                raise WorkspaceError(f"run {record.name} lost its directory: {facts.unknown}")
            common = Path(record.common)
            pin(Git(directory=common, git_dir=common), record.name, facts.left_behind)
            home.remember_gone(record.to(State.GONE, at=self.now()))
        if record.state is State.MAKING:
            await_gits(home.runs.path(record.name))
        pool.discard(self.top, home, record, home.runs.path(record.name))
        home.runs.remove(record.name)

    def anew(self, home: Home, run: str, asked: Asked) -> Record:
        source, before = source_of(self.top, home, asked), home.gone(run)
        left = self._left_by(home, source, asked.manner.after) if before is None else None
        commit = left or (resolve(source, asked.branch) if before is None else before.start)
        self._weigh(source, asked, commit=commit)
        check_directories(source, commit, asked.strategy.sparse)
        plan = self.plan(run, source, asked, commit=commit)
        whole = before is None and left is None and not asked.strategy.sparse
        try:
            made = pool.take_slot(home, plan) if whole else None
            if made is None:
                self.crowd.reserve(home.runs, plan, reclaim=True)
                made = self._written(home, source, plan, sparse=asked.strategy.sparse)
                _weigh_files(home.runs.path(run), asked.manner)
            if asked.manner.submodules:
                path = home.runs.path(run)
                submodules.fill(git_of(made, path), path)
        except NoRoom:
            raise  # nothing was begun
        except BaseException:
            with in_peace():
                self._take_back(home, plan)
            raise
        return made

    @staticmethod
    def _left_by(home: Home, source: Source, run: str | None) -> str | None:
        """The newest commit of the run that this one goes on with, with what was saved for it."""
        record = None if run is None else home.runs.read(run) or home.gone(run)
        if record is None:
            return None
        if record.saved is not None:
            return record.saved.commit
        return resolve(source, record.branch) if has_branch(source.git, record.branch) else None

    @staticmethod
    def _weigh(source: Source, asked: Asked, *, commit: str) -> None:
        """Before a file is written. What is sparse has fewer of them, and is weighed afterwards."""
        bounds, strategy = asked.manner.bounds, asked.strategy
        if bounds is not None:
            whole = not (strategy.blobless or strategy.sparse)
            admitted(of_stored(source.git, commit, all_there=whole), bounds)

    def _take_back(self, home: Home, plan: Record) -> None:
        """Nothing of it stays. What a killed daemon leaves of it, the next finds by its record."""
        record = home.runs.read(plan.name)
        if record is not None:
            pool.discard(self.top, home, record, home.runs.path(plan.name))
        drop_unused_branch(plan)
        home.runs.remove(plan.name)

    def plan(self, name: str, source: Source, asked: Asked, *, commit: str) -> Record:
        return Record(
            name=name,
            state=State.MAKING,
            repository=without_secrets(os.fspath(asked.repository)),
            common=str(source.common),
            git_dir="",
            branch=f"{BRANCHES}{name}",
            base=asked.branch or "",
            start=commit,
            made_at=asked.at,
            used_at=asked.at,
            fleeting=asked.manner.fleeting,
            alternates=alternates_mark(source.common),
        )

    def _written(
        self, home: Home, source: Source, plan: Record, *, sparse: tuple[str, ...]
    ) -> Record:
        path = home.runs.path(plan.name)
        left = registered(source.common, path) is not None
        if left:
            await_gits(path)
        with hold(home.lock, who=f"run {plan.name}", wait_s=pool.LOCK_WAIT_S):
            if left and not path.exists():
                unregister(source.common, path)
            git_dir = add(source, path, branch=plan.branch, commit=plan.start)
            made = replace(plan, git_dir=str(git_dir))
            home.runs.write(made)
        if sparse:
            narrow(made, path, to=sparse)
        with having(self.writing):
            fill(made, path)
        return made


def _weigh_files(path: Path, manner: Manner) -> None:
    """Of an address nobody knew before how large it is."""
    if manner.bounds is None:
        return
    size = measure(path)
    note = admitted(size, manner.bounds)
    if manner.weighed is not None:
        manner.weighed(size)
    if note and manner.note is not None:
        manner.note(note)


def _settled(record: Record, path: Path) -> Record:
    """What was saved beside the index is now what the index says: nothing is left to commit."""
    break_index_lock(record)
    saved = record.saved
    if saved is None:
        return record
    git = git_of(record, path)
    same = saved.index == saving.index_mark(Path(record.git_dir))
    if not same or git.line("rev-parse", "--verify", "HEAD") != saved.commit:
        return record
    git.out("read-tree", "HEAD")
    git.ask("update-index", "-q", "--refresh")  # says 1 where something differs
    return replace(record, saved=None)
