"""An attempt's output on the daemon's side: from its FIFO to its file, whatever its driver.

A few bytes are moved at once. A pipe full of them is moved in a thread: while the disk is busy the
kernel makes whoever writes much wait, and that must be neither the loop nor another agent.
"""

from __future__ import annotations

import array
import asyncio
import errno
import fcntl
import os
import termios
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Final

from paddock.core.run import Attempt
from paddock.ports import Capture, Fate

MOVERS: Final = 2
# In the loop: so much takes 30 µs, while the disk is not busy.
AT_ONCE_BYTES: Final = 48 << 10
# In a thread, before others have their turn.
MOST_A_TURN_BYTES: Final = 1 << 20
MOST_AT_THE_END: Final = 256  # turns: only a process that still writes could need more
RETRY_S: Final = 1.0
SOON_S: Final = 0.005
# An agent that writes faster than can be packed is told when it may go on. Should nobody tell it:
HELD_AT_MOST_S: Final = 0.5

NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)

Trouble = Callable[[str | None], None]


@dataclass(frozen=True, slots=True)
class Ends:
    """What is drained, and how. `keep` moves at most so many bytes to the end of the file, and says
    how large that is then; it may run in a thread."""

    open: Callable[[], int]
    keep: Callable[[int, int], int]
    file: str


class Drain:
    """Held read-write, so that there is never an end of file to spin on."""

    __slots__ = (
        "_attempt",
        "_away",
        "_capture",
        "_ends",
        "_fd",
        "_gone",
        "_loop",
        "_retry",
        "_trouble",
    )

    def __init__(self, ends: Ends, trouble: Trouble, *, attempt: Attempt, capture: Capture) -> None:
        self._ends, self._trouble = ends, trouble
        self._attempt, self._capture = attempt, capture
        self._loop = asyncio.get_running_loop()
        self._fd = -1
        self._gone = False
        self._away: Future[int] | None = None  # in a mover's hands
        self._retry: asyncio.TimerHandle | None = None
        self._watch()

    def empty(self) -> bool:
        """Move all that is there now; False if it could not be moved yet."""
        for _ in range(MOST_AT_THE_END):
            if self._away is not None:
                return False
            if self._gone or (self._fd >= 0 and waiting_bytes(self._fd) == 0):
                return True
            if not self._move():
                return False
        return True

    def close(self) -> None:
        """After that nobody here moves a byte of it: the next who does may begin."""
        self._gone = True
        if self._retry is not None:
            self._retry.cancel()
        if self._away is not None:
            self._settle(self._away)
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
        self._capture.closed(self._attempt)

    def _watch(self) -> None:
        """Again after trouble: not spun on, and an agent with a full pipe waits meanwhile."""
        self._retry = None
        try:
            if self._fd < 0:
                self._fd = self._ends.open()
        except OSError as error:
            self._gone = error.errno == errno.ENOENT
            if not self._gone:
                self._trouble(f"output cannot be read: {error.strerror} ({self._ends.file})")
                self._pause(RETRY_S)
            return
        if self._away is None:  # else who comes back watches it: until then there is nothing to do
            self._loop.add_reader(self._fd, self._move)

    def _move(self) -> bool:
        """False: something has to be waited for."""
        if self._fd < 0 or self._away is not None:
            return False
        fate = self._capture.fate(self._attempt)
        if fate is Fate.HOLD:
            self._pause(HELD_AT_MOST_S)
            self._capture.when_free(self._attempt, self._tell_loop_to_go_on)
            return False
        if fate is Fate.DISCARD:
            if not self._capture.discard(self._attempt, self._fd, waiting_bytes(self._fd)):
                self._pause(RETRY_S)
                return False
            return True
        if waiting_bytes(self._fd) > AT_ONCE_BYTES:
            self._hand_over()
            return False
        return self._kept(lambda: self._ends.keep(self._fd, AT_ONCE_BYTES))

    def _hand_over(self) -> None:
        self._loop.remove_reader(self._fd)
        self._away = movers().submit(self._ends.keep, self._fd, MOST_A_TURN_BYTES)
        self._away.add_done_callback(self._tell_loop)

    def _tell_loop(self, away: Future[int]) -> None:
        """From the mover's thread. A loop that is closed has settled it already."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._come_back, away)

    def _come_back(self, away: Future[int]) -> None:
        if self._away is not away or not self._settle(away):
            return
        # A pipe that is full again goes back at once: in the movers' row it is behind the others.
        if waiting_bytes(self._fd) <= AT_ONCE_BYTES or self._move():
            self._loop.add_reader(self._fd, self._move)

    def _settle(self, away: Future[int]) -> bool:
        """What a mover did. At the end of it all it is waited for."""
        self._away = None
        return self._kept(away.result)

    def _kept(self, size_of: Callable[[], int]) -> bool:
        try:
            size = size_of()
        except OSError as error:
            if error.errno in NO_ROOM:
                self._capture.refused(self._attempt)
            self._trouble(f"output cannot be kept: {error.strerror} ({self._ends.file})")
            stays = self._capture.fate(self._attempt) is Fate.KEEP
            self._pause(RETRY_S if stays else SOON_S)
            return False
        self._capture.moved(self._attempt, size)
        self._trouble(None)
        return True

    def _tell_loop_to_go_on(self) -> None:
        """From a packer's thread."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._go_on)

    def _go_on(self) -> None:
        if self._retry is not None and not self._gone:
            self._retry.cancel()
            self._watch()

    def _pause(self, seconds: float) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
        if self._retry is None and not self._gone:
            self._retry = self._loop.call_later(seconds, self._watch)


@cache
def movers() -> ThreadPoolExecutor:
    """Made when there is a flood. Two: one may wait for a disk while another moves."""
    return ThreadPoolExecutor(MOVERS, thread_name_prefix="move")


def waiting_bytes(fifo_fd: int) -> int:
    """A look of 2 µs, where an attempt at moving costs opening a file."""
    count = array.array("i", [0])
    fcntl.ioctl(fifo_fd, termios.FIONREAD, count)
    return count[0]
