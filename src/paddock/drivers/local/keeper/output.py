"""Output: a FIFO an attempt, moved into its segment file by `splice`, by one side at a time.

A daemon killed between `read` and `write` lost bytes in 5 rounds of 25; with `splice` in none. Used
by the keeper while no daemon is there, and by the daemon.
"""

# pathlib would cost 1.4 MB and contextlib 0.6 MB of memory.
# ruff: noqa: PTH102, PTH108, PTH116, SIM105
from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .protocol import Order

# So that one chatterer does not keep the keeper from the others.
MOST_A_TURN_BYTES = 1 << 20
MOST_A_LOOK_BYTES = 1 << 16  # what a pipe holds: more could not be looked at
# os.SPLICE_F_NONBLOCK, besides O_NONBLOCK: an agent that reads its own stdout (`more` reads
# commands from stderr) may empty the pipe after it was seen to be full, and a keeper must not wait.
FLAGS = os.SPLICE_F_MOVE | os.SPLICE_F_NONBLOCK


def move(fifo_fd: int, segment_fd: int, most_bytes: int) -> int:
    """What lies in the FIFO, to the end of the file; how many bytes that were. Never waits.

    On a disk that fills up in the middle what was moved counts: the error comes the next time. The
    file must not be open with O_APPEND: the kernel refuses to splice into it.
    """
    end = os.fstat(segment_fd).st_size
    moved = 0
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
    return moved


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
        try:
            os.read(fifo_fd, written)
        except BlockingIOError:  # its agent has read it meanwhile
            pass
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


def open_fifo(path: str, *, through_a_link: bool = False) -> int:
    """Read-write, so that opening waits for nobody and the reader never sees an end.

    `through_a_link` for one that is found as another process's descriptor, in /proc.
    """
    flags = os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags if through_a_link else flags | os.O_NOFOLLOW)
    if not stat.S_ISFIFO(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a FIFO", path)
    return descriptor


def open_segment(path: str) -> int:
    """Its directory is made with the first byte: most attempts of a test run never say a word."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        make_directories(path.rpartition("/")[0], 2)  # the run's, and that of all output
        descriptor = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


def make_directories(path: str, levels: int) -> None:
    """The last few of a path, which are our own: closed to others, whatever the umask is."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        if levels < 2:
            raise
        make_directories(path.rpartition("/")[0], levels - 1)
        os.mkdir(path, 0o700)


class MoverLock:
    """The right to move output; it ends with its holder, even by `kill -9`."""

    __slots__ = ("_descriptor",)

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


class Outlet:
    """The keeper's end of one attempt's output: held until the daemon has said it is drained."""

    __slots__ = ("cap_bytes", "fifo", "fifo_fd", "pipe_bytes", "segment")

    def __init__(self, order: Order) -> None:
        self.fifo, self.segment, self.cap_bytes = order.fifo, order.segment, order.cap_bytes
        try:
            os.mkfifo(self.fifo, 0o600)
        except FileExistsError:
            pass
        except FileNotFoundError:
            make_directories(self.fifo.rpartition("/")[0], 2)  # also the keeper's own
            os.mkfifo(self.fifo, 0o600)
        self.fifo_fd = open_fifo(self.fifo)
        self.pipe_bytes = _resize(self.fifo_fd, order.pipe_bytes)

    def has_room(self) -> bool:
        try:
            return os.stat(self.segment).st_size < self.cap_bytes
        except OSError:
            return self.cap_bytes > 0

    def move(self) -> bool:
        """One turn; False once the cap is reached: the rest stays in the pipe, the agent waits."""
        segment_fd = open_segment(self.segment)
        try:
            room = self.cap_bytes - os.fstat(segment_fd).st_size
            moved = move(self.fifo_fd, segment_fd, min(room, MOST_A_TURN_BYTES))
            return room > moved
        finally:
            os.close(segment_fd)

    def close(self) -> None:
        os.close(self.fifo_fd)
        try:
            os.unlink(self.fifo)
        except OSError:
            pass


def _resize(fifo_fd: int, wanted_bytes: int) -> int:
    """Without rights there is a limit on all pipes together: what is refused stays small."""
    try:
        if wanted_bytes:
            fcntl.fcntl(fifo_fd, fcntl.F_SETPIPE_SZ, wanted_bytes)
    except OSError:
        pass
    return fcntl.fcntl(fifo_fd, fcntl.F_GETPIPE_SZ)
