"""Who has which workspace, and how it is given back: in a thread, and again until it is.

Somebody may just be saving what is in it, which takes as long as reading all its files; or the disk
is full. The loop waits for neither.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from paddock.core.run import Attempt
from paddock.workspaces.errors import BrokenOff, WorkspaceError
from paddock.workspaces.records import Record
from paddock.workspaces.room import Room

WAIT_S: Final = 5.0  # for who is at work in one, before others have their turn
AGAIN_S: Final = 5.0
LONGEST_S: Final = 600.0

log = logging.getLogger("paddock.grounds")


class Leaving:
    def __init__(self, room: Room, left: Callable[[Record], object]) -> None:
        """`left` is told, in a thread, of each that was given back."""
        self.holders: dict[str, Attempt] = {}  # of a workspace: the last that asked for it
        self._room, self._left = room, left
        self._handing = threading.Lock()  # for the table alone: the loop takes it, too
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="leaving")
        self._is_closed = False

    def takes(self, attempt: Attempt) -> None:
        with self._handing:
            self.holders[attempt.run] = attempt

    def leave(self, run: str, attempt: Attempt | None, *, again_s: float | None = None) -> None:
        """In the loop. None: of a run of which no attempt is left."""
        if self._is_closed:
            return
        loop, pause_s = asyncio.get_running_loop(), AGAIN_S if again_s is None else again_s

        def done(future: asyncio.Future[None]) -> None:
            error = None if future.cancelled() else future.exception()
            if error is None or self._is_closed or isinstance(error, BrokenOff):
                return
            level = logging.WARNING if again_s is None else logging.DEBUG
            log.log(level, "the workspace of %s is not given back yet: %s", run, error)
            if isinstance(error, WorkspaceError | OSError):
                again = partial(self.leave, run, attempt, again_s=min(2 * pause_s, LONGEST_S))
                loop.call_later(pause_s, again)

        work = partial(self.give_back, run, attempt)
        loop.run_in_executor(self._thread, work).add_done_callback(done)

    def give_back(self, run: str, attempt: Attempt | None) -> None:
        """In a thread, so perhaps late: by then a later attempt may have it."""
        if not self._is_last(run, attempt):
            return
        record = self._room.record(run)
        if record is not None:
            is_last = partial(self._is_last, run, attempt)
            self._room.release(run, if_still=is_last, wait_s=WAIT_S)
        with self._handing:
            if self.holders.get(run) != attempt:
                return
            self.holders.pop(run, None)
        if record is not None:
            self._left(record)

    def _is_last(self, run: str, attempt: Attempt | None) -> bool:
        return self.holders.get(run) == attempt

    def close(self) -> None:
        """The next daemon gives back what is left."""
        self._is_closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)
