"""Output for which there is no room: out of its pipe, counted, and gone.

A daemon may be killed when it has taken bytes and not yet told them in a name. So they are moved
over a filler, in a file whose blocks were allocated while there was room: how far the filler is
gone tells the next daemon how many they were. For 64 KiB 15 to 40 µs more than reading them.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from paddock.core.run import Attempt

from .shelf import NONE, Missing
from .steps import Step

FILE: Final = ".taking"
MOST_BYTES: Final = 1 << 16
_AT: Final = 4096  # where they go; before it stands whose they are
_OPEN: Final = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
# None of these is in a text. Of other bytes the last few may be the filler's own by chance: where
# all others are gone, they are too. Only a byte or two that are alone remain uncertain.
_BY_CHANCE: Final = 4
_IN_NO_UTF8: Final = bytes([0xC0, 0xC1, *range(0xF5, 0x100)])


class Whose(NamedTuple):
    """Bytes of an attempt: the first of them is its byte `at`. `untold`: those just before it that
    are in no name either."""

    attempt: Attempt
    at: int
    untold: Missing = NONE


class Left(NamedTuple):
    """What a daemon before this one had taken, and may not have told."""

    attempt: Attempt
    end: int
    lines: int  # in all that it had not told


class Taking:
    """Without its file, as on a disk that was full before, bytes are taken all the same."""

    def __init__(self, directory: Path, step: Step) -> None:
        self._path = directory / FILE
        self._step = step
        self._file = -1
        self._overwritten = MOST_BYTES  # so much of the filler may be gone
        self._run = ""  # whose output stands there
        # Runs are forgotten in a thread, while the loop takes what others write.
        self._lock = threading.Lock()

    def prepare(self) -> Left | None:
        """Before anything is taken. OSError: there is no room for the file, or no right to it."""
        if self._file >= 0:
            return None
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(self._path, _OPEN | os.O_CREAT, 0o600)
        try:
            left = self._left()
            self._run = "" if left is None else left.attempt.run
            os.posix_fallocate(self._file, 0, _AT + MOST_BYTES)
        except OSError:
            self.close()
            raise
        return left

    def take(self, fifo_fd: int, count: int, whose: Whose) -> Missing:
        """So many bytes lie there. Of them up to a limit."""
        most = min(count, MOST_BYTES)
        try:
            if self._file >= 0 and most:
                # OSError: a file system that cannot, or has no room even so
                with self._lock, suppress(OSError):
                    self._make_ready(whose, most)
                    return self._moved(fifo_fd, most)
            return _told(os.read(fifo_fd, most))
        except BlockingIOError:  # its agent reads its own output
            return NONE

    def forget(self, run: str) -> None:
        """What was taken last is output too, and goes with the rest of it."""
        with self._lock, suppress(OSError):
            if self._file >= 0 and run == self._run:
                self._make_ready(Whose(Attempt("", 0), 0), 0)

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _make_ready(self, whose: Whose, most: int) -> None:
        """In this order: at each moment head and body together tell the truth."""
        self._write_head(whose, 0)
        self._run = whose.attempt.run
        self._put(_filler()[: self._overwritten], _AT)
        self._overwritten = 0
        self._write_head(whose, most)

    def _moved(self, fifo_fd: int, most: int) -> Missing:
        self._step("splice")
        self._overwritten = os.splice(
            fifo_fd, self._file, most, offset_dst=_AT, flags=os.SPLICE_F_NONBLOCK
        )
        return _told(os.pread(self._file, self._overwritten, _AT))

    def _write_head(self, whose: Whose, most: int) -> None:
        (run, number), at, untold = whose
        head = json.dumps([run, number, at, untold.lines, most]).encode()
        self._put(head.ljust(_AT, b"\n"), 0)

    def _put(self, data: bytes, at: int) -> None:
        self._step("write over")
        if os.pwrite(self._file, data, at) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _left(self) -> Left | None:
        try:
            run, number, at, lines, most = json.loads(os.pread(self._file, _AT, 0))
            body = os.pread(self._file, min(int(most), MOST_BYTES), _AT)
            taken = _told(body[: _overwritten(body)])
            return Left(Attempt(str(run), int(number)), int(at) + taken.bytes, lines + taken.lines)
        except (ValueError, TypeError):  # new, or not ours
            return None


def _told(data: bytes) -> Missing:
    return Missing(len(data), data.count(b"\n"))


def _overwritten(body: bytes) -> int:
    """How far something else stands there than the filler."""
    differs = int.from_bytes(body, "little") ^ int.from_bytes(_filler()[: len(body)], "little")
    until = (differs.bit_length() + 7) // 8
    return len(body) if until and len(body) - until < _BY_CHANCE else until


@cache
def _filler() -> bytes:
    """The same for all daemons, and in no order that output could have by chance."""
    some = hashlib.shake_128(b"paddock").digest(MOST_BYTES)
    return some.translate(bytes(_IN_NO_UTF8[n % len(_IN_NO_UTF8)] for n in range(256)))
