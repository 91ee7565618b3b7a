"""Who waits for a workspace is tried again when there may be one, and not before.

To find out whether one may go, all its files are read: so it is looked for when something has
changed, and else ever more seldom. (When somebody commits in an idle one by hand, nobody tells.)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from paddock.core.events import Event, PlacesFreed
from paddock.workspaces.errors import BrokenOff, WorkspaceError
from paddock.workspaces.room import Room

FIRST_S: Final = 1.0
LONGEST_S: Final = 600.0
# Should all of this fail, a run that waits is tried again all the same.
GIVE_UP_S: Final = 3600.0

log = logging.getLogger("paddock.places")


class Places:
    def __init__(self, room: Room) -> None:
        self.tell: Callable[[Event], None] = lambda _: None
        self.waiting: Callable[[], int] = lambda: 0  # how many runs wait for one
        self._room = room
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="places")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._pause_s = FIRST_S
        self._is_looking = False
        self._again = False  # something changed during the look

    def want(self) -> None:
        """There was none for a run; or a daemon begins, and some may wait."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._room.freed = self.freed
        self._look_in(FIRST_S)

    def freed(self) -> None:
        """From any thread."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._look)

    def _look_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._pause_s = seconds
        assert self._loop is not None
        self._timer = self._loop.call_later(seconds, self._look)

    def _look(self) -> None:
        if self._loop is None or not self.waiting():
            return
        if self._is_looking:
            self._again = True
            return
        self._is_looking, self._again = True, False
        self._loop.run_in_executor(self._thread, self._found).add_done_callback(self._looked)

    def _found(self) -> int:
        """In a thread."""
        try:
            return self._room.vacancy()
        except BrokenOff:
            return 0
        except (WorkspaceError, OSError) as error:
            log.info("no look for room: %s", error)
            return 0

    def _looked(self, done: asyncio.Future[int]) -> None:
        self._is_looking = False
        if self._loop is None or done.cancelled():
            return
        count = done.result()
        if count:
            self.tell(PlacesFreed(0.0, count))
        if self.waiting():
            soon = self._again or count
            self._look_in(FIRST_S if soon else min(2 * self._pause_s, LONGEST_S))

    def close(self) -> None:
        self._loop = None
        if self._timer is not None:
            self._timer.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
