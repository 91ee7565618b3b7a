"""Work that can be broken off from another thread: its git ends, and nothing more begins for it.

A thread is on an errand while it is `under_way`. Whatever starts a process there, or waits, asks
for the `current` one. To put things right again is no part of it: that is done `in_peace`.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Final

from .errors import BrokenOff

LOOK_S: Final = 0.05  # how often one that waits looks whether it still has to


class Errand:
    """A part of a larger one (`within`) ends with it."""

    def __init__(self, within: Errand | None = None) -> None:
        self.line: tuple[Errand, ...] = (self, *(() if within is None else within.line))
        self._is_over = False
        self._guard = threading.Lock()
        self._groups: set[int] = set()

    def end(self) -> None:
        """From any thread, and for good. Asked to end, git takes its lock files along."""
        with self._guard:
            self._is_over = True
            self._ask_to_end()

    def interrupt(self) -> None:
        """What runs at this moment ends; what comes after it does not."""
        with self._guard:
            self._ask_to_end()

    @property
    def is_over(self) -> bool:
        return any(one._is_over for one in self.line)  # noqa: SLF001 - its own kind

    def check(self) -> None:
        if self.is_over:
            raise BrokenOff("it was broken off: nobody waits for it any more")

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Unless the thread is on a part of it already."""
        mine = current()
        token = _current.set(mine if self in mine.line else self)
        try:
            yield
        finally:
            _current.reset(token)

    @contextmanager
    def with_group(self, group: int) -> Iterator[None]:
        """Of processes. Leave it before they are reaped: the number may be another's then."""
        for one in self.line:
            one.add(group)
        try:
            yield
        finally:
            for one in self.line:
                one.drop(group)

    def add(self, group: int) -> None:
        with self._guard:
            self._groups.add(group)
            if self._is_over:
                _terminate(group)

    def drop(self, group: int) -> None:
        with self._guard:
            self._groups.discard(group)

    def _ask_to_end(self) -> None:
        for group in self._groups:
            _terminate(group)


EVERYTHING: Final = Errand()  # whatever is on no errand of its own
_current: Final[ContextVar[Errand]] = ContextVar("errand", default=EVERYTHING)


def current() -> Errand:
    return _current.get()


@contextmanager
def in_peace() -> Iterator[None]:
    """As a part of the larger errand: to take back what this one had begun."""
    mine = current()
    token = _current.set(mine.line[min(1, len(mine.line) - 1)])
    try:
        yield
    finally:
        _current.reset(token)


@contextmanager
def having(turn: threading.Semaphore) -> Iterator[None]:
    while not turn.acquire(timeout=LOOK_S):
        current().check()
    try:
        yield
    finally:
        turn.release()


def _terminate(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGTERM)
