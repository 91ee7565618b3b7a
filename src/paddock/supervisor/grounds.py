"""Where an attempt stands: its workspace, scratch and ports. Laid before it begins, cleared after.

A workspace may take as long as a clone takes: it is made in a thread, and the loop is told when it
is there. All else is a directory and a number, and is there at once. What is laid is found again
by the next daemon: the name of the scratch directory says whose it is and which ports it has.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from msgspec import structs

from paddock.core.events import (
    Emptied,
    Event,
    Noticed,
    RepositoryWeighed,
    SpawnFailed,
    StartPutOff,
    StartTakesLonger,
)
from paddock.core.run import Attempt
from paddock.ports import Launch
from paddock.supervisor.leaving import Leaving
from paddock.supervisor.places import GIVE_UP_S, Places
from paddock.supervisor.sweeping import Sweeper
from paddock.supervisor.wanted import MARKER_LABEL, READY, REPOSITORY_LABEL, Wanted, wanted_by
from paddock.workspaces.errands import EVERYTHING, Errand
from paddock.workspaces.errors import (
    BrokenOff,
    Busy,
    NoRoom,
    WorkspaceError,
    is_passing,
)
from paddock.workspaces.keeping import Keep
from paddock.workspaces.port_blocks import Block, PortBlocks
from paddock.workspaces.progress import Progress
from paddock.workspaces.records import Record
from paddock.workspaces.room import Room
from paddock.workspaces.scratch import VARIABLE as SCRATCH
from paddock.workspaces.scratch import Scratch
from paddock.workspaces.size_rules import timeout_factor
from paddock.workspaces.sizes import Size

GC_S: Final = 3600.0
AT_ONCE: Final = 4
STILL_S: Final = 15.0  # well within the patience for a start
RETRY_S: Final = 2.0
SPARE_BLOCKS: Final = 64
LITTLE_S: Final = 1.0  # who lived for less has left no server behind
_NAME: Final = re.compile(r"(.+)\.([0-9]+)\.p([0-9]{5})")

Begin = Callable[[Launch], None]
T = TypeVar("T")
Made = tuple[Path, Path]  # the workspace, and what must be reached for git to work in it

log = logging.getLogger("paddock.grounds")


@dataclass(slots=True)
class _Laid:
    scratch: str
    block: Block
    has_workspace: bool = True
    since_at: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class _Coming:
    """A workspace that is being made."""

    begin: Begin
    errand: Errand
    said: str = "its workspace is being made"
    notes: list[str] = field(default_factory=list)  # on its size
    sizes: list[Size] = field(default_factory=list)  # of an address: one, if it is fetched now
    fetched: bool = False
    since_at: float = field(default_factory=time.monotonic)
    still: asyncio.TimerHandle | None = None
    work: asyncio.Future[Made | Exception] | None = None


class Grounds:
    def __init__(self, room: Room, scratch: Scratch, blocks: PortBlocks, *, spare: int = 0) -> None:
        """`spare`: workspaces that are made in advance, of repositories in use."""
        self.room = room
        self._slots = spare
        self.places = Places(room)
        self.on_marked: Callable[[Attempt, str], None] | None = None  # one with a ready marker
        self.on_made: Callable[[float, bool], None] = lambda *_: None
        self._scratch = scratch
        self._blocks = blocks
        self._laid: dict[Attempt, _Laid] = {}
        self._coming: dict[Attempt, _Coming] = {}
        self._spare: list[Block] = []
        self._scratches = Sweeper(self._remove_scratch, self._scratch.path)
        self.leaving = Leaving(room, self._left)
        self._makers = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="workspaces")
        self._sweepers = ThreadPoolExecutor(1, thread_name_prefix="sweeping")
        # Reads every file of a workspace: those who give back ports do not wait behind it.
        self._collectors = ThreadPoolExecutor(1, thread_name_prefix="collecting")
        self._is_closed = False

    @property
    def tell(self) -> Callable[[Event], None]:
        return self.places.tell

    def serve(self, tell: Callable[[Event], None], *, placeless: Callable[[], int]) -> None:
        """To whom it tells what came of it, and who says how many runs wait for a workspace."""
        self.places.tell, self.places.waiting = tell, placeless

    # -- before ---------------------------------------------------------------------------

    def lay(self, launch: Launch, begin: Begin) -> None:
        """`begin` is called with where it stands: at once, or when its workspace is there."""
        wanted = launch.labels.get(REPOSITORY_LABEL)
        if wanted is None:
            self._begin(launch, begin)
        elif launch.attempt not in self._coming:
            self._make(launch, wanted_by(launch), begin)

    def _begin(self, launch: Launch, begin: Begin) -> None:
        try:
            laid = self._laid.get(launch.attempt) or self._own(launch.attempt)
        except (OSError, WorkspaceError) as error:
            self._fail(launch.attempt, f"no scratch or ports for it: {error}", passing=True)
            return
        self._laid[launch.attempt] = laid
        laid.has_workspace = REPOSITORY_LABEL in launch.labels
        path = self._scratch.path(laid.scratch)
        ours = {**launch.ours, **laid.block.environment(), SCRATCH: str(path)}
        if MARKER_LABEL in launch.labels:
            ours[READY] = f"{launch.directory}/{launch.labels[MARKER_LABEL]}"
        begin(structs.replace(launch, ours=ours, reach=(*launch.reach, path)))
        if self.on_marked is not None and MARKER_LABEL in launch.labels:
            self.on_marked(launch.attempt, launch.labels[MARKER_LABEL])

    def _own(self, attempt: Attempt) -> _Laid:
        who = f"{attempt.run}.{attempt.number}"
        block = self._spare.pop() if self._spare else self._blocks.take(who)
        try:
            name = f"{who}.p{block.base}"
            self._scratch.make(name)
        except BaseException:
            self._spare.append(block)
            raise
        return _Laid(name, block, has_workspace=False)

    def _make(self, launch: Launch, wanted: Wanted, begin: Begin) -> None:
        attempt, loop = launch.attempt, asyncio.get_running_loop()
        self._coming[attempt] = coming = _Coming(begin, self.room.errand())
        self.leaving.takes(attempt)
        coming.still = loop.call_later(STILL_S, self._still, attempt)
        work = partial(self._tried, attempt, wanted, coming)
        coming.work = loop.run_in_executor(self._makers, work)
        coming.work.add_done_callback(lambda done: self._came(launch, coming, done))

    def _tried(self, attempt: Attempt, wanted: Wanted, coming: _Coming) -> Made | Exception:
        """In a thread. An error is what came of it: a daemon that has stopped reads no futures."""
        try:
            with coming.errand.under_way():
                return self._made(attempt, wanted, coming)
        except Exception as error:  # noqa: BLE001 - told to whoever asked
            return error

    def _made(self, attempt: Attempt, wanted: Wanted, coming: _Coming) -> Made:
        run = attempt.run
        manner = replace(
            wanted.manner,
            tell=partial(self._progress, coming),
            note=coming.notes.append,
            weighed=coming.sizes.append,
            holder=attempt.number,
        )
        path = self.room.prepare(run, repository=wanted.place, branch=wanted.branch, manner=manner)
        if self._slots:
            self._makers.submit(self._refill, wanted)
        record = self.room.record(run)
        return path, Path(record.common) if record is not None else path

    def _refill(self, wanted: Wanted) -> None:
        try:
            self.room.refill(
                wanted.place, branch=wanted.branch, want=self._slots, manner=wanted.manner
            )
        except (OSError, WorkspaceError) as error:
            log.info("no workspace in advance: %s", error)

    @staticmethod
    def _progress(coming: _Coming, progress: Progress) -> None:
        """From the thread: only a word is replaced. Only a clone or a fetch says anything."""
        coming.fetched = True
        coming.said = f"its workspace is being made: {progress.phase} {progress.percent} %"

    def _still(self, attempt: Attempt) -> None:
        coming = self._coming.get(attempt)
        if coming is None:
            return
        coming.still = asyncio.get_running_loop().call_later(STILL_S, self._still, attempt)
        self.tell(StartTakesLonger(0.0, attempt, coming.said))

    def _came(
        self, launch: Launch, coming: _Coming, done: asyncio.Future[Made | Exception]
    ) -> None:
        attempt = launch.attempt
        if coming.still is not None:
            coming.still.cancel()
        if self._is_closed:
            return
        if self._coming.get(attempt) is not coming:
            self.leaving.leave(attempt.run, attempt)  # it was stopped meanwhile
            return
        del self._coming[attempt]
        came = done.result()
        if isinstance(came, tuple):
            path, objects = came
            self.on_made(time.monotonic() - coming.since_at, coming.fetched)
            for size in coming.sizes:
                self.tell(RepositoryWeighed(0.0, attempt, timeout_factor(size)))
            there = structs.replace(launch, directory=path, reach=(*launch.reach, objects))
            self._begin(there, coming.begin)
            for note in coming.notes:
                self.tell(Noticed(0.0, attempt, note))
        else:
            self._not_made(attempt, came)

    def _not_made(self, attempt: Attempt, error: Exception) -> None:
        if isinstance(error, NoRoom):
            self.tell(StartPutOff(0.0, attempt, str(error), GIVE_UP_S, awaits_place=True))
            self.places.want()
        elif isinstance(error, Busy):
            self.tell(StartPutOff(0.0, attempt, str(error), RETRY_S))
        elif isinstance(error, WorkspaceError | OSError):
            self._fail(attempt, f"no workspace: {error}", passing=is_passing(error))
        else:
            log.error("a workspace failed", exc_info=error)
            self._fail(attempt, "no workspace: paddock met a bug, see its log", passing=False)

    def _fail(self, attempt: Attempt, reason: str, *, passing: bool) -> None:
        self.tell(SpawnFailed(0.0, attempt, reason, permanent=not passing))

    def is_coming(self, attempt: Attempt) -> bool:
        return attempt in self._coming

    def drop(self, attempt: Attempt) -> None:
        """It is not wanted any more: its git ends, and nobody waits for that."""
        coming = self._coming.pop(attempt, None)
        if coming is not None:
            coming.errand.end()
            if coming.work is not None:
                coming.work.cancel()  # one that waits for its turn never has it
            self.tell(Emptied(0.0, attempt))

    # -- after ----------------------------------------------------------------------------

    def clear(self, attempt: Attempt) -> None:
        """Its processes are gone."""
        laid = self._laid.pop(attempt, None)
        if laid is None:
            return
        if time.monotonic() - laid.since_at < LITTLE_S:
            self._give_back(laid.block)
        else:
            self._aside(self._look_and_give_back, laid.block)
        if laid.has_workspace:
            self.leaving.leave(attempt.run, attempt)
        self._scratches.add(laid.scratch)

    def _left(self, record: Record) -> None:
        if record.fleeting:
            self._collectors.submit(self._let_go, record.name)

    def _let_go(self, run: str) -> None:
        """A heartbeat would have a workspace for each beat: it goes, unless something is in it."""
        try:
            kept = self.room.let_go(run)
        except WorkspaceError as error:
            log.info("the workspace of %s stays: %s", run, error)
        else:
            if isinstance(kept, Keep):
                log.info("the workspace of %s stays: %s", run, kept.because)

    def _remove_scratch(self, name: str) -> None:
        if not self._scratch.is_gone(name):
            for reason in self._scratch.remove(name):
                log.warning("scratch is left: %s", reason)

    def _look_and_give_back(self, block: Block) -> None:
        """What an agent leaves may still listen: a container that it started, perhaps."""
        if block.is_in_use():
            block.close()
        else:
            self._give_back(block)

    def _give_back(self, block: Block) -> None:
        """Kept for the next: finding a free one takes longer."""
        if block.is_held and len(self._spare) < SPARE_BLOCKS:
            self._spare.append(block)
        else:
            block.close()

    def _aside(
        self, work: Callable[..., T], *words: object, then: Callable[[T], object] = lambda _: None
    ) -> None:
        def done(future: asyncio.Future[T]) -> None:
            error = None if future.cancelled() else future.exception()
            if error is not None:
                log.warning("clearing up after %s: %s", words, error)
            elif not future.cancelled():
                then(future.result())

        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._sweepers, partial(work, *words)).add_done_callback(done)

    # -- after a restart ------------------------------------------------------------------

    def adopt(self, attempts: Collection[Attempt]) -> None:
        """Those that live keep their ports and scratch; what nobody has goes, under another name:
        an attempt that had its scratch and was not begun gets one of the same name in a moment."""
        for name in self._scratch.names():
            found = _NAME.fullmatch(name)
            if found is None:
                self._scratches.add(name)
            elif (attempt := Attempt(found[1], int(found[2]))) in attempts:
                self._laid[attempt] = _Laid(name, self._retaken(int(found[3]), attempt.run))
                self.leaving.takes(attempt)
            elif (aside := self._scratch.set_aside(name)) is not None:
                self._scratches.add(aside)
        self._aside(self._tidy, frozenset(attempt.run for attempt in attempts), then=self._leave)
        self._collectors.submit(self._finish)

    def _retaken(self, base: int, run: str) -> Block:
        """Without its lock, where another has it by now: the agent was told of it long ago."""
        try:
            return self._blocks.retake(base, run) or Block(base, 0, ())
        except (OSError, WorkspaceError) as error:
            log.warning("the ports from %d of %s are not held: %s", base, run, error)
            return Block(base, 0, ())

    def _tidy(self, living: frozenset[str]) -> list[str]:
        self._scratch.sweep()
        return [record.name for record in self.room.records() if record.name not in living]

    def _leave(self, runs: list[str]) -> None:
        for run in runs:
            self.leaving.leave(run, None)

    async def tend(self) -> None:
        """What was idle for too long goes, if nothing is lost with it."""
        self.places.want()  # for those that waited for one when the last daemon stopped
        while True:
            await asyncio.sleep(GC_S)
            self._collectors.submit(self._collect)

    def _finish(self) -> None:
        try:
            self.room.finish()
        except (WorkspaceError, OSError) as error:
            log.warning("what was half made or half removed is left: %s", error)

    def _collect(self) -> None:
        try:
            gone = [judged for judged in self.room.gc() if judged.removed]
        except BrokenOff:
            return
        except (WorkspaceError, OSError) as error:
            log.warning("clearing up workspaces: %s", error)
            return
        for judged in gone:
            log.info("workspace %s was removed: %s", judged.path, judged.because)

    def close(self) -> None:
        """Nobody waits for a clone, a gc or a salvage: all of them end, and are gone on with."""
        self._is_closed = True
        self.places.close()
        self.leaving.close()
        for coming in self._coming.values():
            if coming.still is not None:
                coming.still.cancel()
        self._coming.clear()
        for name in self._scratches.close():
            self._scratch.is_gone(name)  # what is not empty, the next daemon removes
        self._scratch.close()
        for block in (*self._spare, *(laid.block for laid in self._laid.values())):
            block.close()
        for threads in (self._makers, self._sweepers, self._collectors):
            threads.shutdown(wait=False, cancel_futures=True)
        self.room.end()
        EVERYTHING.interrupt()
