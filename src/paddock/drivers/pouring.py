"""Output that has nowhere to go, and a `ports.Capture` for drivers that stand alone."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Final

from paddock.core.run import Attempt
from paddock.ports import Capture, Fate, Launch

MOST_A_TURN_BYTES: Final = 1 << 18
BLOCK_BYTES: Final = 1 << 16
NO_CAP_BYTES: Final = 1 << 50
NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)


def discard(fifo_fd: int, capture: Capture, attempt: Attempt) -> None:
    """Read, and not spliced to /dev/null: so its lines can be counted."""
    count = lines = 0
    while count < MOST_A_TURN_BYTES:
        try:
            data = os.read(fifo_fd, BLOCK_BYTES)
        except BlockingIOError:
            break
        count += len(data)
        lines += data.count(b"\n")
    if count:
        capture.discarded(attempt, count, lines=lines)


class KeepAll:
    """One file an attempt, however large; on a full disk the agent waits."""

    def expect(self, launch: Launch) -> int:  # noqa: ARG002
        return NO_CAP_BYTES

    def fate(self, attempt: Attempt) -> Fate:  # noqa: ARG002
        return Fate.KEEP

    def when_free(self, attempt: Attempt, then: Callable[[], None]) -> None: ...

    def moved(self, attempt: Attempt, size_bytes: int) -> None: ...

    def discarded(self, attempt: Attempt, count: int, *, lines: int) -> None: ...

    def refused(self, attempt: Attempt) -> None: ...

    def closed(self, attempt: Attempt) -> None: ...


KEEP_ALL: Final = KeepAll()
