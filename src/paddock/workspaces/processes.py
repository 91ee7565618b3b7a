"""One child process with a deadline and bounded output. At its end its whole group is gone."""

from __future__ import annotations

import os
import resource
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

from .errands import Errand, current

PIECE_BYTES: Final = 1 << 16
MOST_ERRORS_BYTES: Final = 1 << 15
QUIET_S: Final = 0.5
GRACE_S: Final = 1.0  # from being asked to end to being killed


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
    heap_bytes: int | None = None  # also of each process that it starts


def run(order: Order) -> Ended:
    """To its end, to the deadline, or to the last byte that is wanted; BrokenOff."""
    errand = current()
    errand.check()
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
    try:
        _bound(process.pid, order.heap_bytes)
        with errand.with_group(process.pid):
            talk = _Talk(process, order, errand)
            how = talk.until_over()
    finally:
        # Also after a good end: a helper that it left would hold the pipes, or a lock.
        _send(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
    errand.check()
    return Ended(process.returncode, talk.out, talk.err, how)


def _bound(pid: int, heap_bytes: int | None) -> None:
    """From outside: code between fork and exec would be run in a copy of a process with threads."""
    if heap_bytes is not None and hasattr(resource, "prlimit"):
        with suppress(ProcessLookupError, PermissionError):
            resource.prlimit(pid, resource.RLIMIT_DATA, (heap_bytes, heap_bytes))


def _send(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class _Talk:
    """Feeds and reads a child without ever waiting for one of its pipes alone."""

    def __init__(self, process: subprocess.Popen[bytes], order: Order, errand: Errand) -> None:
        self._process = process
        self._order = order
        self._errand = errand
        self._deadline = time.monotonic() + order.timeout_s
        self._pieces: list[bytes] = []
        self._room = order.most_bytes
        self.err = b""
        self._left = memoryview(order.given)

    @property
    def out(self) -> bytes:
        return b"".join(self._pieces)

    def until_over(self) -> How:
        how = self._talked()
        if how is How.TIMED_OUT and not self._errand.is_over:
            self._let_tidy_up()
        return how

    def _talked(self) -> How:
        with selectors.DefaultSelector() as selector:
            self._register(selector)
            while selector.get_map():
                wait_s = self._left_s()
                if wait_s <= 0:
                    return How.TIMED_OUT
                ready = selector.select(min(wait_s, QUIET_S))
                if not ready and self._is_over():
                    ready = selector.select(0)  # what it wrote just before its end
                    if not ready:
                        break  # something that it left behind holds the pipes, and says nothing
                for key, _ in ready:
                    if not self._serve(key.data, key.fd):
                        selector.unregister(key.fileobj)
                if self._room < 0:
                    return How.CUT
        while not self._is_over():
            if self._left_s() <= 0:
                return How.TIMED_OUT
            time.sleep(0.001)  # it has closed its pipes: it is about to end
        return How.BY_ITSELF

    def _left_s(self) -> float:
        """One whose errand is over was asked to end, and has a moment for it."""
        now = time.monotonic()
        if self._errand.is_over:
            self._deadline = min(self._deadline, now + GRACE_S)
        return self._deadline - now

    def _let_tidy_up(self) -> None:
        """Killed at once, git would leave its lock files in the repository, for people to find."""
        _send(self._process.pid, signal.SIGTERM)
        give_up_at = time.monotonic() + GRACE_S
        while not self._is_over() and time.monotonic() < give_up_at:
            time.sleep(0.005)

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
