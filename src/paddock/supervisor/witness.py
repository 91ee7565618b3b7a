"""What a step leaves: a digest of what it wrote, and the commit where its workspace stands.

Looked at after its exit and before that is told, in a thread. A daemon that dies meanwhile hears
of the exit again, from the keeper's journal, and the next one looks once more.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from msgspec.structs import replace

from paddock.core.events import OF_AN_END, Event, Exited
from paddock.core.fleet import Fleet
from paddock.core.run import Attempt
from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.room import Room

log = logging.getLogger("paddock.witness")


class Witness:
    def __init__(
        self,
        fleet: Fleet,
        tell: Callable[[Event], None],
        *,
        digest: Callable[[Attempt], str],
        room: Room,
        spent: Callable[[str, int], None],
    ) -> None:
        """`spent` is told of a run and a step whose stream nobody needs any more."""
        self._fleet = fleet
        self._tell = tell
        self._digest = digest
        self._room = room
        self._spent = spent
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
        if run is None or not run.spec.steps or run.attempt != event.attempt:
            return False
        if not isinstance(event, Exited) or event.exit.code != 0:
            return False
        self._held[event.attempt] = []
        loop = asyncio.get_running_loop()
        see = partial(self._see, event.attempt, run.steps_done)
        loop.run_in_executor(self._threads, see).add_done_callback(partial(self._saw, event))
        return True

    def _saw(self, event: Exited, seeing: asyncio.Future[tuple[str | None, str | None]]) -> None:
        held = self._held.pop(event.attempt)
        if seeing.cancelled():
            return
        digest, commit = seeing.result()
        known = replace(event.exit, output_digest=digest, commit=commit)
        for each in (replace(event, exit=known), *held):
            self._tell(each)

    def _see(self, attempt: Attempt, step: int) -> tuple[str | None, str | None]:
        """In a thread. What cannot be seen is not there: the step is done all the same."""
        digest = commit = None
        try:
            digest = self._digest(attempt)
            commit = self._commit(attempt.run)
            self._spent(attempt.run, step)
        except (OSError, WorkspaceError) as error:
            log.warning("what step of %s left is not all known: %s", attempt.run, error)
        return digest, commit

    def _commit(self, run: str) -> str | None:
        """With what it had not committed, so that nothing done is in the files only."""
        record = self._room.record(run)
        if record is None:
            return None
        saved = self._room.save(run, because=f"a step of run {run} is done")
        if saved is not None:
            return saved.commit
        made = self._room.commits(run)
        return made[0].id if made else record.start

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
