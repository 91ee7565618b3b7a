"""An attempt's output on the daemon's side: from its FIFO to its file by `splice`, as it comes."""

from __future__ import annotations

import array
import asyncio
import contextlib
import errno
import fcntl
import os
import resource
import termios
from collections.abc import Callable
from typing import Final

from paddock.drivers.local.keeper.output import move, open_fifo, open_segment

# So that one chatterer does not keep the loop from the others; a pipe seldom holds more.
MOST_A_TURN_BYTES: Final = 1 << 20
MOST_AT_THE_END: Final = 64  # turns: only a process that still writes could need more
RETRY_S: Final = 1.0

# The name stands for something else now, or for nothing.
NOT_THERE: Final = (errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.ELOOP, errno.EISDIR)

Trouble = Callable[[str | None], None]


class Drain:
    """Held read-write, so that there is never an end of file to spin on."""

    __slots__ = ("_fifo_fd", "_fifos", "_gone", "_loop", "_retry", "_segment", "_trouble")

    def __init__(self, fifos: tuple[str, str], segment: str, trouble: Trouble) -> None:
        """`fifos`: its name, and where it is found without one ("": nowhere)."""
        self._fifos, self._segment, self._trouble = fifos, segment, trouble
        self._loop = asyncio.get_running_loop()
        self._fifo_fd = -1
        self._gone = False
        self._retry: asyncio.TimerHandle | None = None
        self._watch()

    def empty(self) -> bool:
        """Move all that is there now; False if it could not be moved."""
        for _ in range(MOST_AT_THE_END):
            if self._gone or (self._fifo_fd >= 0 and waiting_bytes(self._fifo_fd) == 0):
                return True
            if not self._move():
                return False
        return True

    def close(self) -> None:
        self._gone = True
        if self._retry is not None:
            self._retry.cancel()
        if self._fifo_fd >= 0:
            self._loop.remove_reader(self._fifo_fd)
            os.close(self._fifo_fd)
            self._fifo_fd = -1

    def _watch(self) -> None:
        """Again after trouble: not spun on, and an agent with a full pipe waits meanwhile."""
        self._retry = None
        try:
            if self._fifo_fd < 0:
                self._fifo_fd = self._open()
        except OSError as error:
            self._gone = error.errno == errno.ENOENT
            if not self._gone:
                self._later(error)
            return
        self._loop.add_reader(self._fifo_fd, self._move)

    def _open(self) -> int:
        name, spare = self._fifos
        try:
            return open_fifo(name)
        except OSError as error:
            if not spare or error.errno not in NOT_THERE:
                raise
        return open_fifo(spare, through_a_link=True)

    def _move(self) -> bool:
        if self._fifo_fd < 0:
            return False
        try:
            # Opened for each move: a descriptor less for each agent.
            segment_fd = open_segment(self._segment)
            try:
                move(self._fifo_fd, segment_fd, MOST_A_TURN_BYTES)
            finally:
                os.close(segment_fd)
        except OSError as error:
            self._loop.remove_reader(self._fifo_fd)
            self._later(error)
            return False
        self._trouble(None)
        return True

    def _later(self, error: OSError) -> None:
        self._trouble(f"output cannot be kept: {error.strerror} ({self._segment})")
        if self._retry is None:
            self._retry = self._loop.call_later(RETRY_S, self._watch)


def waiting_bytes(fifo_fd: int) -> int:
    """A look of 2 µs, where an attempt at moving costs opening a file."""
    count = array.array("i", [0])
    fcntl.ioctl(fifo_fd, termios.FIONREAD, count)
    return count[0]


def raise_descriptors() -> None:
    """One an agent: the usual 1,024 are too few."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
