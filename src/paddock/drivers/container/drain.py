"""An attempt's output on the daemon's side: from its FIFO to its file, as it comes."""

from __future__ import annotations

import array
import asyncio
import fcntl
import os
import termios
from collections.abc import Callable
from typing import Final

from paddock.drivers.container.moving import move, open_fifo, widen

MOST_AT_THE_END: Final = 64  # turns: only a process that still writes could need more
RETRY_S: Final = 1.0


class Drain:
    """Held read-write, so that there is never an end of file to spin on."""

    def __init__(self, fifo: str, segment: str, trouble: Callable[[str | None], None]) -> None:
        self._segment, self._trouble = segment, trouble
        self._loop = asyncio.get_running_loop()
        self._retry: asyncio.TimerHandle | None = None
        self._fd = open_fifo(fifo)
        widen(self._fd)
        self._loop.add_reader(self._fd, self._move)

    def empty(self) -> bool:
        """Move all that is there now; False if it could not be moved."""
        for _ in range(MOST_AT_THE_END):
            if self._fd < 0 or waiting_bytes(self._fd) == 0:
                return True
            if not self._move():
                return False
        return True

    def close(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _move(self) -> bool:
        try:
            move(self._fd, self._segment)
        except OSError as error:
            # Not spun on; an agent with a full pipe waits meanwhile.
            self._loop.remove_reader(self._fd)
            self._trouble(f"output cannot be kept: {error.strerror} ({self._segment})")
            if self._retry is None:
                self._retry = self._loop.call_later(RETRY_S, self._again)
            return False
        self._trouble(None)
        return True

    def _again(self) -> None:
        self._retry = None
        self._loop.add_reader(self._fd, self._move)


def waiting_bytes(fifo_fd: int) -> int:
    count = array.array("i", [0])
    fcntl.ioctl(fifo_fd, termios.FIONREAD, count)
    return count[0]
