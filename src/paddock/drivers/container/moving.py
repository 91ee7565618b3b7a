"""Output on its way: from an attempt's FIFO to the end of its segment file, by `splice`.

Used by the daemon's driver and, while there is none, by the holder: never by both at once, as the
mover's lock sees to. A process killed between `read` and `write` loses bytes; `splice` has no
between (measured for the local driver: 5 rounds of 25 against none).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat
from contextlib import suppress
from typing import Final, NamedTuple

FLAGS: Final = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK
# So that one chatterer does not keep the others waiting; a pipe holds no more.
MOST_A_TURN_BYTES: Final = 1 << 20
MOST_A_LOOK_BYTES: Final = 1 << 16  # what a pipe holds: more could not be looked at
PIPE_BYTES: Final = 128 << 10


class Moved(NamedTuple):
    moved_bytes: int
    size_bytes: int  # of the file, after it


def move(fifo_fd: int, segment: str, most_bytes: int = MOST_A_TURN_BYTES) -> Moved:
    """What lies in the FIFO now, to the end of the file. Never waits for more. On a disk that fills
    up in the middle what was moved counts: the error comes the next time."""
    segment_fd = open_segment(segment)
    try:
        return move_into(fifo_fd, segment_fd, most_bytes)
    finally:
        os.close(segment_fd)


def move_into(fifo_fd: int, segment_fd: int, most_bytes: int) -> Moved:
    end, moved = os.fstat(segment_fd).st_size, 0
    while moved < most_bytes:
        try:
            count = _some(fifo_fd, segment_fd, end + moved, most_bytes - moved)
        except OSError:
            if not moved:
                raise
            break
        if count == 0:
            break
        moved += count
    return Moved(moved, end + moved)


def _some(fifo_fd: int, segment_fd: int, at: int, most_bytes: int) -> int:
    try:
        return os.splice(fifo_fd, segment_fd, most_bytes, offset_dst=at, flags=FLAGS)
    except BlockingIOError:
        return 0
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    return _copy(fifo_fd, segment_fd, at, most_bytes)


def _copy(fifo_fd: int, segment_fd: int, at: int, most_bytes: int) -> int:
    """For file systems that cannot splice: written first, and only then taken out of the FIFO.

    What a full disk refuses stays in there. A kill in between writes up to 64 KiB twice.
    """
    data = _peek(fifo_fd, min(most_bytes, MOST_A_LOOK_BYTES))
    written = 0
    try:
        while written < len(data):
            written += os.pwrite(segment_fd, data[written:], at + written)
    except OSError:
        if not written:
            raise
    if written:
        with suppress(BlockingIOError):  # its agent has read it meanwhile
            os.read(fifo_fd, written)
    return written


def _peek(fifo_fd: int, most_bytes: int) -> bytes:
    """What lies in the FIFO, and stays there. Python has no `tee`."""
    libc = ctypes.CDLL(None, use_errno=True)
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        size = ctypes.c_size_t(most_bytes)
        count: int = libc.tee(fifo_fd, writer, size, os.SPLICE_F_NONBLOCK)
        if count < 0 and ctypes.get_errno() != errno.EAGAIN:
            raise OSError(ctypes.get_errno(), "the output cannot be looked at")
        return os.read(reader, count) if count > 0 else b""
    finally:
        os.close(reader)
        os.close(writer)


def open_fifo(path: str) -> int:
    """Read-write: opening waits for nobody, there is never an end, and what is in it stays."""
    flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags)
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):  # an agent may write to its directory
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a FIFO", path)
    return descriptor


def widen(fifo_fd: int) -> None:
    """Refused where a user has too many pipes already: then it stays at 64 KiB."""
    try:
        fcntl.fcntl(fifo_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except OSError:
        return


def open_segment(path: str) -> int:
    """Not with O_APPEND: the kernel refuses to splice into such a file."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # noqa: PTH103, PTH120
        descriptor = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


class Lock:
    """Held by one process at a time; ends with its holder, even by `kill -9`."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> bool:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def leave(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        os.close(self._descriptor)
