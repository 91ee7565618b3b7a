"""The eyes: one look a tick at the host and at all agents, handed to the loop as one event."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from paddock.core.events import Host, Sampled
from paddock.ports import HostProbe
from paddock.supervisor.loop import Supervisor

TICK_S: Final = 1.0
# With nobody at work and nobody waiting a look only keeps the host's figures from growing stale.
IDLE_TICK_S: Final = 5.0

log = logging.getLogger("paddock.eyes")


class Eyes:
    def __init__(self, supervisor: Supervisor, probe: HostProbe, *, tick_s: float = TICK_S) -> None:
        self._supervisor = supervisor
        self._probe = probe
        self._tick_s = tick_s
        self._blind = False

    def look(self) -> None:
        try:
            used = self._supervisor.hands.used_bytes()
        except OSError as error:  # no descriptor left: agents use what they used
            log.error("the agents' memory cannot be read: %s", error)
            used = {}
        self._supervisor.post(Sampled(0.0, self._host(), used))

    async def watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            self.look()
            fleet = self._supervisor.fleet
            busy = bool(fleet.live or fleet.waiting)
            tick_s = self._tick_s if busy else max(self._tick_s, IDLE_TICK_S)
            # From the beginning of the last look: a slow one must not stretch the tick.
            await self._rest(max(0.05, began + tick_s - loop.time()))

    async def _rest(self, seconds: float) -> None:
        """Cut short when the first run comes to an idle fleet."""
        fleet, ticks = self._supervisor.fleet, int(seconds / self._tick_s)
        was_busy = bool(fleet.live or fleet.waiting)
        for _ in range(ticks):
            await asyncio.sleep(self._tick_s)
            seconds -= self._tick_s
            if not was_busy and (fleet.live or fleet.waiting):
                return
        await asyncio.sleep(max(0.0, seconds))

    def _host(self) -> Host:
        try:
            host = self._probe.sample()
        except (OSError, ValueError) as error:
            if not self._blind:
                log.error("the host's memory cannot be read: %s", error)
            self._blind = True
            total = self._supervisor.fleet.policy.total_bytes
            return Host(available_bytes=None, used_percent=None, total_bytes=total)
        self._blind = False
        return host
