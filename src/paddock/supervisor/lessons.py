"""How soon what was learned of a group goes to the store: what protects at once, the rest soon.

A group's row is long, half of what an end and a start write, and changes with every end. What a
crash may cost is a second of sizes and durations; never a breaker, nor the room an OOM asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from paddock.core.breaker import Breaker
from paddock.core.fleet import Fleet

LEARNED_S: Final = 1.0


class Lessons:
    """`later` is called when those that were left have waited for long enough."""

    def __init__(self, fleet: Fleet, later: Callable[[], None]) -> None:
        self._fleet = fleet
        self._later = later
        self._told: dict[str, tuple[Breaker, float]] = {}  # as the store has it
        self._told_at = -LEARNED_S
        self._timer: asyncio.TimerHandle | None = None

    def take(self) -> set[str]:
        """The groups whose turn it is; the others stay with the fleet."""
        fleet, loop = self._fleet, asyncio.get_running_loop()
        changed = fleet.changed_groups
        if loop.time() >= self._told_at + LEARNED_S:
            fleet.changed_groups = set()
            self._told_at = loop.time()
        else:
            changed = {name for name in changed if self._protects(name)}
            fleet.changed_groups -= changed
            if fleet.changed_groups and self._timer is None:
                self._timer = loop.call_later(LEARNED_S, self._ring)
        self._tell(changed)
        return changed

    def hurry(self) -> None:
        """All that are left go with the next batch, and there is one."""
        self._told_at = -LEARNED_S
        self._ring()

    def untold(self, names: Iterable[str]) -> None:
        """They could not be kept."""
        self._fleet.changed_groups |= set(names)
        for name in names:
            self._told.pop(name, None)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _protects(self, name: str) -> bool:
        return self._told.get(name) != self._protection(name)

    def _protection(self, name: str) -> tuple[Breaker, float] | None:
        group = self._fleet.groups.get(name)
        return None if group is None else (group.breaker, group.size.extra_bytes)

    def _tell(self, names: Iterable[str]) -> None:
        groups = self._fleet.groups
        if len(self._told) > 2 * len(groups) + 100:  # of groups that nobody remembers
            self._told = {name: told for name, told in self._told.items() if name in groups}
        for name in names:
            if (protection := self._protection(name)) is not None:
                self._told[name] = protection

    def _ring(self) -> None:
        self.close()
        self._timer = None
        if self._fleet.changed_groups:
            self._later()
