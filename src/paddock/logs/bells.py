"""Telling those who follow a run that it has written something."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Bell:
    """One follower's, in its own loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._rung = asyncio.Event()

    async def heard(self, within_s: float) -> bool:
        """Whether it was rung since it was last heard."""
        try:
            async with asyncio.timeout(within_s):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True

    def ring(self) -> None:
        """From any thread. A loop that has ended has nobody to tell."""
        try:
            here = asyncio.get_running_loop()
        except RuntimeError:
            here = None
        if here is self._loop:
            self._rung.set()
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._rung.set)


class Bells:
    def __init__(self) -> None:
        self._of: dict[str, frozenset[Bell]] = {}

    def __len__(self) -> int:
        """How many listen."""
        return sum(map(len, self._of.values()))

    def ring(self, run: str) -> None:
        """Costs nothing where nobody follows."""
        for bell in self._of.get(run, ()):
            bell.ring()

    @contextmanager
    def listening(self, run: str) -> Iterator[Bell]:
        bell = Bell()
        self._of[run] = self._of.get(run, frozenset()) | {bell}
        try:
            yield bell
        finally:
            left = self._of[run] - {bell}
            if left:
                self._of[run] = left
            else:
                del self._of[run]
