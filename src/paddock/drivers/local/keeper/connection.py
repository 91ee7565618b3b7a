"""One client of the keeper: lines in, lines out, both bounded; never waits for it."""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import time
from collections import deque

from .members import look_at
from .protocol import LOCK_NAME, SOCKET_NAME, BadMessage, Lines, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .protocol import Message

READ_BYTES = 1 << 16
BACKLOG = 64
# A client that does not read its answers is not read from either; one that also lets events pile
# up to the second bound is dropped: it can come back and ask for the list.
SEND_ABOVE_BYTES = 1 << 16
PAUSE_ABOVE_BYTES = 1 << 20
DROP_ABOVE_BYTES = 8 << 20


class Connection:
    """`epoch` is None before hello and for visitors, who may look and kill but not spawn."""

    __slots__ = (
        *("_deaf", "_lines", "_out", "epoch", "greeted", "heard", "is_open", "peer", "said"),
        *("silent_at_most_s", "socket", "spoke_at", "watched"),
    )

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)  # noqa: FBT003
        self.socket = sock
        self.epoch: int | None = None
        self.greeted = False
        self.peer = peer_of(sock)
        self.said = 0  # times that something came
        self.spoke_at = time.monotonic()
        self.silent_at_most_s = 0.0  # 0: as long as it likes
        self.is_open = True
        self.watched = 0  # events that the loop is told of
        self.heard: deque[bytes] = deque()  # whole lines, not yet answered
        self._lines = Lines()
        self._out = bytearray()
        # It has hung up, and does not hear answers: what it said before that still counts.
        self._deaf = False

    @property
    def wants_to_write(self) -> bool:
        """Also what is not answered yet: a client that then reads all of it at once says nothing
        more, and nobody would come back to its other questions."""
        return bool(self._out or self.heard)

    @property
    def wants_to_read(self) -> bool:
        return len(self._out) <= PAUSE_ABOVE_BYTES

    def receive(self) -> bool:
        """False when there is nothing now. At the end of the stream it is closed."""
        try:
            data = self.socket.recv(READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.close()
            return False
        self.said += 1
        self.spoke_at = time.monotonic()
        try:
            self.heard += self._lines.feed(data)
        except BadMessage as error:
            self.send({"id": None, "ok": False, "error": "bad_message", "message": str(error)})
            self.close()
        return self.is_open

    def send(self, message: Message) -> None:
        if not self.is_open or self._deaf:
            return
        self._out += encode(message)
        # The rest goes at the end of the turn: each write wakes the other side, for 70 µs of ours.
        if len(self._out) > SEND_ABOVE_BYTES:
            self.flush()
        if len(self._out) > DROP_ABOVE_BYTES:
            self.close()

    def flush(self) -> None:
        try:
            while self._out:
                del self._out[: self.socket.send(self._out)]
        except BlockingIOError:
            pass
        except OSError:
            self._deaf = True
            self._out.clear()

    def close(self) -> None:
        if self.is_open:
            self.flush()
            self.is_open = False
            self.socket.close()


def hold(directory: str) -> int:
    """The lock that says which keeper serves a directory; OSError if that is another."""
    lock = os.open(f"{directory}/{LOCK_NAME}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def listen(directory: str) -> socket.socket:
    """Through the directory's descriptor: a socket's path may be no longer than 107 bytes."""
    handle = os.open(directory, os.O_PATH | os.O_CLOEXEC)
    path = f"/proc/self/fd/{handle}/{SOCKET_NAME}"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if os.access(path, os.F_OK):
            os.unlink(path)  # noqa: PTH108  pathlib would cost 1.4 MB of memory
        listener.bind(path)
    finally:
        os.close(handle)
    listener.listen(BACKLOG)
    listener.setblocking(False)  # noqa: FBT003
    return listener


def same_user(sock: socket.socket) -> bool:
    """By the kernel's word, whatever the modes of the directory have become."""
    return _credentials(sock)[1] == os.geteuid()


def peer_of(sock: socket.socket) -> tuple[int, int]:
    """Who called, as pid and start; 0 where it cannot be known (another pid namespace)."""
    pid = _credentials(sock)[0]
    process = look_at(pid) if pid > 0 else None
    return (pid, process.start) if process is not None else (0, 0)


def _credentials(sock: socket.socket) -> tuple[int, int]:
    words = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(words[:4], sys.byteorder), int.from_bytes(words[4:8], sys.byteorder)
