"""One child process with a deadline and bounded output. At its end its whole group is gone."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import IO, Final

PIECE_BYTES: Final = 1 << 16
MOST_ERRORS_BYTES: Final = 1 << 15
QUIET_S: Final = 0.5


class How(Enum):
    """What ended a child: itself, the deadline, or that it had written all that was wanted."""

    BY_ITSELF = "by itself"
    TIMED_OUT = "timed out"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Ended:
    """What a child left."""

    code: int
    out: bytes
    err: bytes
    how: How = How.BY_ITSELF


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What to run, and for how long."""

    words: Sequence[str | bytes]
    directory: Path
    environment: Mapping[str, str]
    timeout_s: float
    most_bytes: int
    given: bytes = b""
    hear: Callable[[bytes], object] | None = None  # what it writes to stderr, as it comes


_running: Final[set[int]] = set()


def end_all() -> None:
    """Whatever threads of this process wait for: nobody waits for a clone to stop a daemon."""
    for group in list(_running):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def run(order: Order) -> Ended:
    """To its end, to the deadline, or to the last byte that is wanted."""
    process = subprocess.Popen(
        order.words,
        cwd=order.directory,
        env=dict(order.environment),
        stdin=subprocess.PIPE if order.given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A group to kill, and no terminal on which something could ask for a password.
        start_new_session=True,
    )
    _running.add(process.pid)
    try:
        talk = _Talk(process, order)
        how = talk.until_over()
    finally:
        _running.discard(process.pid)  # before it is reaped: the number may be another's then
        # Also after a good end: a helper that it left would hold the pipes, or a lock.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
    return Ended(process.returncode, talk.out, talk.err, how)


class _Talk:
    """Feeds and reads a child without ever waiting for one of its pipes alone."""

    def __init__(self, process: subprocess.Popen[bytes], order: Order) -> None:
        self._process = process
        self._order = order
        self._deadline = time.monotonic() + order.timeout_s
        self._pieces: list[bytes] = []
        self._room = order.most_bytes
        self.err = b""
        self._left = memoryview(order.given)

    @property
    def out(self) -> bytes:
        return b"".join(self._pieces)

    def until_over(self) -> How:
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while selector.get_map():
                wait_s = self._deadline - time.monotonic()
                if wait_s <= 0:
                    return How.TIMED_OUT
                ready = selector.select(min(wait_s, QUIET_S))
                if not ready and self._is_over():
                    break  # something that it left behind holds the pipes, and says nothing
                for key, _ in ready:
                    if not self._serve(key.data, key.fd):
                        selector.unregister(key.fileobj)
                if self._room < 0:
                    return How.CUT
        while not self._is_over():
            if time.monotonic() > self._deadline:
                return How.TIMED_OUT
            time.sleep(0.001)  # it has closed its pipes: it is about to end
        return How.BY_ITSELF

    def _is_over(self) -> bool:
        """Without reaping it: until then nobody else can get its number, nor that of its group."""
        try:
            found = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return found is not None

    def _register(self, selector: selectors.BaseSelector) -> None:
        pipes: list[tuple[IO[bytes] | None, int, str]] = [
            (self._process.stdin, selectors.EVENT_WRITE, "in"),
            (self._process.stdout, selectors.EVENT_READ, "out"),
            (self._process.stderr, selectors.EVENT_READ, "err"),
        ]
        for pipe, event, name in pipes:
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, event, name)

    def _serve(self, name: str, descriptor: int) -> bool:
        """Whether there may be more."""
        if name == "in":
            return self._feed(descriptor)
        data = os.read(descriptor, PIECE_BYTES)
        if name == "out":
            self._pieces.append(data[: max(self._room, 0)])
            self._room -= len(data)
        else:
            self.err = (self.err + data)[-MOST_ERRORS_BYTES:]
            if data and self._order.hear is not None:
                self._order.hear(data)
        return bool(data)

    def _feed(self, descriptor: int) -> bool:
        try:
            self._left = self._left[os.write(descriptor, self._left[:PIECE_BYTES]) :]
        except BrokenPipeError:
            self._left = self._left[:0]
        if self._left:
            return True
        assert self._process.stdin is not None
        self._process.stdin.close()
        return False
