"""A directory that changes while it is read: readers notice, and look again. Nobody waits.

A listing that was begun before a rename and ended after it may show a file under both names or
under none, and where the live file begins is known only from the others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

T = TypeVar("T")

PAUSE_S: Final = 0.0005


def _keep(_: object) -> None:
    """Nothing needs to be given back."""


@dataclass(frozen=True, slots=True)
class Seen:
    begun: int
    is_quiet: bool


class Turns:
    """Counted for each run apart: of those that change, which are few."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: dict[str, int] = {}
        self._under_way: dict[str, int] = {}

    @contextmanager
    def turning(self, run: str) -> Iterator[None]:
        """Around each change of a name. Changes do not wait for each other."""
        with self._lock:
            self._begun[run] = self._begun.get(run, 0) + 1
            self._under_way[run] = self._under_way.get(run, 0) + 1
        try:
            yield
        finally:
            with self._lock:
                self._under_way[run] = self._under_way.get(run, 1) - 1

    def seen(self, run: str) -> Seen:
        with self._lock:
            return Seen(self._begun.get(run, 0), not self._under_way.get(run, 0))

    def steadily(self, run: str, look: Callable[[], T], drop: Callable[[T], None] = _keep) -> T:
        """What `look` saw while nothing changed. `drop` gives back what it saw in vain."""
        while True:
            before = self.seen(run)
            if before.is_quiet:
                found = look()
                if self.seen(run) == before:
                    return found
                drop(found)
            time.sleep(PAUSE_S)

    def forget(self, run: str) -> None:
        """It was removed: a reader that still looks at it finds nothing, which is true."""
        with self._lock:
            if not self._under_way.pop(run, 0):
                self._begun.pop(run, None)
