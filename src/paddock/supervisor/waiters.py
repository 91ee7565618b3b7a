"""Who waits for runs to end. An end counts when it is remembered, not when it is thought."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable

from paddock.core.fleet import Change, Fleet
from paddock.core.run import Ended


class Waiters:
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}
        self._unremembered: set[str] = set()

    def thought(self, changes: Iterable[Change]) -> bool:
        """Whether any of these is an end."""
        ends = {change.run.id for change in changes if isinstance(change.run.state, Ended)}
        self._unremembered |= ends
        return bool(ends)

    def remembered(self, run: str) -> None:
        """It has ended, and that is on the disk."""
        self._unremembered.discard(run)
        for waiter in self._waiting.pop(run, ()):
            if not waiter.done():
                waiter.set_result(None)

    @property
    def unremembered(self) -> frozenset[str]:
        """Those that have ended, and the store does not know it yet."""
        return frozenset(self._unremembered)

    async def ended(self, runs: Collection[str], *, within_s: float | None) -> bool:
        """Whether all of them have ended, as soon as they have or the time is over."""
        live = {run: future for run in runs if (future := self._wait_for(run)) is not None}
        if not live:
            return True
        try:
            done, _ = await asyncio.wait(live.values(), timeout=within_s)
        finally:  # also when whoever waits goes away
            for run, future in live.items():
                self._stop_waiting(run, future)
        return len(done) == len(live)

    def _wait_for(self, run: str) -> asyncio.Future[None] | None:
        known = self._fleet.runs.get(run)
        over = known is None or isinstance(known.state, Ended)
        if over and run not in self._unremembered:
            return None
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(run, []).append(waiter)
        return waiter

    def _stop_waiting(self, run: str, future: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(run, [])
        if future in waiting:
            waiting.remove(future)
        if not waiting:
            self._waiting.pop(run, None)
