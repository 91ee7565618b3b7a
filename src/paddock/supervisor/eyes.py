"""The eyes: one look at the host and at all agents, handed to the loop as one event.

Once a second while there is room; the closer the host is to its last step, the sooner again; and at
once when the kernel rings.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from paddock.core.events import Host, Sampled
from paddock.core.run import Attempt
from paddock.host.pace import next_look_s
from paddock.ports import HostProbe
from paddock.supervisor.loop import Supervisor

TICK_S: Final = 1.0
# With nobody at work and nobody waiting a look only keeps the host's figures from growing stale.
IDLE_TICK_S: Final = 5.0
SHORTEST_S: Final = 0.05  # also for alarms, which may ring as often as they like

log = logging.getLogger("paddock.eyes")


class Eyes:
    def __init__(
        self,
        supervisor: Supervisor,
        probe: HostProbe,
        *,
        seen: Callable[[Mapping[Attempt, int]], None] = lambda _: None,
        tick_s: float = TICK_S,
    ) -> None:
        """`seen` is told what each agent used, at every look."""
        self._supervisor = supervisor
        self._seen = seen
        self._probe = probe
        self._tick_s = tick_s
        self._blind = False
        self._rung = asyncio.Event()
        self._host: Host | None = None
        self._cost_s = 0.0

    def look(self) -> None:
        began = time.thread_time()
        try:
            used = self._supervisor.hands.used_bytes()
        except OSError as error:  # no descriptor left: agents use what they used
            log.error("the agents' memory cannot be read: %s", error)
            used = {}
        self._seen(used)
        self._host = self._look_at_host()
        self._supervisor.post(Sampled(0.0, self._host, used))
        self._cost_s = time.thread_time() - began

    def ring(self) -> None:
        """The kernel has seen something: the next look is now."""
        self._rung.set()

    async def watch(self) -> None:
        while True:
            self._rung.clear()
            self.look()
            await asyncio.sleep(SHORTEST_S)
            await self._rest(self._pause_s() - SHORTEST_S)

    def _pause_s(self) -> float:
        fleet, host = self._supervisor.fleet, self._host
        if host is None or not (fleet.live or fleet.waiting):
            return max(self._tick_s, IDLE_TICK_S)
        soon_s = next_look_s(
            host.available_bytes,
            host.total_bytes,
            look_cost_s=self._cost_s,
            ladder=fleet.policy.ladder,
        )
        return min(self._tick_s, soon_s)

    async def _rest(self, seconds: float) -> None:
        """Cut short when the kernel rings, or when the first run comes to an idle fleet."""
        fleet = self._supervisor.fleet
        was_busy = bool(fleet.live or fleet.waiting)
        over_at = time.monotonic() + seconds
        while (left_s := over_at - time.monotonic()) > 0 and not self._rung.is_set():
            if not was_busy and (fleet.live or fleet.waiting):
                return
            # Not `wait_for`: rung in the moment it is cancelled, 3.11's forgets that it was.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, self._tick_s)):
                    await self._rung.wait()

    def _look_at_host(self) -> Host:
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
