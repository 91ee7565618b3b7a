"""What an attempt leaves that belongs to its end.

Of a step that is a digest of what it wrote, and the commit where its workspace stands; of one that
asked to be tried later, when.

Looked at after its exit and before that is told, in a thread. A daemon that dies meanwhile hears
of the exit again, from the keeper's journal, and the next one looks once more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple, Protocol

from msgspec.structs import replace

from paddock.core.events import Event, Exited, Noticed
from paddock.core.fleet import Fleet
from paddock.core.retry import TRY_LATER
from paddock.core.run import Attempt, Exit, Run
from paddock.supervisor.held_ends import HeldEnds
from paddock.supervisor.later import Stated
from paddock.supervisor.looks import Looks
from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.room import Room

PATIENCE_S: Final = 600.0  # twice git's own deadline; a disk that hangs has none

log = logging.getLogger("paddock.witness")


class Kept(Protocol):
    """What lies between two attempts of a run."""

    def drop_stream(self, run: str, step: int) -> None:
        """Nobody needs it any more."""

    def stated(self, attempt: Attempt) -> Stated: ...


class Seen(NamedTuple):
    """The end with what was found, and what people should read of it."""

    exit: Exit
    note: str | None = None


class Witness:
    patience_s = PATIENCE_S

    def __init__(
        self,
        fleet: Fleet,
        tell: Callable[[Event], None],
        *,
        digest: Callable[[Attempt], str],
        room: Room,
        kept: Kept,
    ) -> None:
        self._tell = tell
        self._digest = digest
        self._room = room
        self._kept = kept
        self._held = HeldEnds(fleet)
        self._tasks: set[asyncio.Task[None]] = set()
        self.looks = Looks("witness")

    def takes(self, event: Event) -> bool:
        """Whether it is told later, with what was seen."""
        if self._held.waits_behind(event):
            return True
        if not isinstance(event, Exited) or (run := self._held.run_of(event)) is None:
            return False
        event = self._held.heard(event)
        see = self._look_of(event, run)
        if see is None:
            return False
        self._held.hold(event)
        task = asyncio.get_running_loop().create_task(self._look(event, see))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    def _look_of(self, event: Exited, run: Run) -> Callable[[], Seen] | None:
        """What is worth a look, if anything."""
        if event.exit.code == 0 and run.spec.steps:
            return partial(self._see_step, event, run.steps_done)
        if event.exit.code == TRY_LATER and event.exit.retry_after_s is None:
            return partial(self._see_later, event)
        return None

    async def _look(self, event: Exited, see: Callable[[], Seen]) -> None:
        """An end that is not told is a run that never ends: whatever comes of the look."""
        seen = Seen(event.exit)
        try:
            seen = await self.looks.seen(see, patience_s=self.patience_s)
        except TimeoutError:
            seen = Seen(event.exit, f"what it left could not be seen in {self.patience_s:g} s")
        except Exception:
            log.exception("what %s left is not known", event.attempt)
        # Not when cancelled: the daemon ends, and the next one hears of it again and looks itself.
        self._pass_on(event, seen)

    def _pass_on(self, event: Exited, seen: Seen) -> None:
        _, *behind = self._held.let_go(event.attempt)
        if seen.note is not None:
            self._tell(Noticed(event.at, event.attempt, seen.note))
        for each in (replace(event, exit=seen.exit), *behind):
            self._tell(each)

    def _see_later(self, event: Exited) -> Seen:
        """In a thread."""
        stated = self._kept.stated(event.attempt)
        return Seen(replace(event.exit, retry_after_s=stated.after_s), stated.problem)

    def _see_step(self, event: Exited, step: int) -> Seen:
        """In a thread. What cannot be seen is not there: the step is done all the same."""
        attempt, digest, commit = event.attempt, None, None
        try:
            digest = self._digest(attempt)
            commit = self._commit(attempt)
            self._kept.drop_stream(attempt.run, step)
        except (OSError, WorkspaceError) as error:
            log.warning("what step of %s left is not all known: %s", attempt.run, error)
        return Seen(replace(event.exit, output_digest=digest, commit=commit))

    def _commit(self, attempt: Attempt) -> str | None:
        """With what it had not committed, so that nothing done is in the files only."""
        run = attempt.run
        record = self._room.record(run)
        if record is None:
            return None
        saved = self._room.save(run, because=f"a step of run {run} is done", of=attempt.number)
        if saved is not None:
            return saved.commit
        made = self._room.commits(run)
        return made[0].id if made else record.start

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self.looks.close()
