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
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from paddock.core.events import OF_AN_END, Event, Exited, Noticed
from paddock.core.fleet import Fleet
from paddock.core.retry import TRY_LATER
from paddock.core.run import Attempt, Exit, Run
from paddock.supervisor.later import Stated
from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.room import Room

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
    def __init__(
        self,
        fleet: Fleet,
        tell: Callable[[Event], None],
        *,
        digest: Callable[[Attempt], str],
        room: Room,
        kept: Kept,
    ) -> None:
        self._fleet = fleet
        self._tell = tell
        self._digest = digest
        self._room = room
        self._kept = kept
        self._held: dict[Attempt, list[Event]] = {}  # its end, and what came after
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="witness")

    def takes(self, event: Event) -> bool:
        """Whether it is told later, with what was seen. What comes after an end is about that end:
        it waits behind it."""
        if not isinstance(event, OF_AN_END):
            return False
        if event.attempt in self._held:
            self._held[event.attempt].append(event)
            return True
        run = self._fleet.runs.get(event.attempt.run)
        if run is None or run.attempt != event.attempt or not isinstance(event, Exited):
            return False
        see = self._look_of(event, run)
        if see is None:
            return False
        self._held[event.attempt] = []
        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._threads, see).add_done_callback(partial(self._saw, event))
        return True

    def _look_of(self, event: Exited, run: Run) -> Callable[[], Seen] | None:
        """What is worth a look, if anything."""
        if event.exit.code == 0 and run.spec.steps:
            return partial(self._see_step, event, run.steps_done)
        if event.exit.code == TRY_LATER and event.exit.retry_after_s is None:
            return partial(self._see_later, event)
        return None

    def _saw(self, event: Exited, seeing: asyncio.Future[Seen]) -> None:
        held = self._held.pop(event.attempt)
        if seeing.cancelled():
            return
        error = seeing.exception()
        if error is not None:  # a bug; an end that is not told is a run that never ends
            log.error("what %s left is not known", event.attempt, exc_info=error)
        seen = Seen(event.exit) if error is not None else seeing.result()
        if seen.note is not None:
            self._tell(Noticed(event.at, event.attempt, seen.note))
        for each in (replace(event, exit=seen.exit), *held):
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
        self._threads.shutdown(wait=False, cancel_futures=True)
