"""The eyes: one look at the host and at all agents, handed to the loop as one event.

Once a second while there is room; the closer the host is to its last step, the sooner again; and at
once when the kernel rings. Where looks are too costly for that pace, a glance between them, at what
is available and nothing else, finds the last step in time.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from paddock.core.events import Host, Sampled
from paddock.core.fleet import Fleet
from paddock.core.pressure import Rung, emergency_bytes
from paddock.core.run import Attempt
from paddock.host.pace import next_look_s
from paddock.ports import HostProbe
from paddock.supervisor.loop import Supervisor

TICK_S: Final = 1.0
# With nobody at work and nobody waiting a look only keeps the host's figures from growing stale.
IDLE_TICK_S: Final = 5.0
SHORTEST_S: Final = 0.05  # also for alarms, which may ring as often as they like
# Of a fleet whose bursts wait for each other: they must be seen in time. Where they take turns,
# before they have taken much of the way of the first.
BURSTS_AT_ONCE, BURSTS_IN_TURNS = 3, 9
# Then looks may take three times as much of a core. At eleven agents one took 2.7 ms: they were 130
# to 200 ms apart, in which a burst takes up to half a gigabyte.
WORTH_IN_TURNS: Final = 3
GLANCE_S: Final = 0.02
REST_AFTER_GLANCE: Final = 9  # times what it took: a tenth of a core at most, where a core is slow

log = logging.getLogger("paddock.eyes")


def bursts_at_once(fleet: Fleet) -> int:
    """How many agents may grow between two looks."""
    if fleet.takes_turns:
        return BURSTS_IN_TURNS
    return BURSTS_AT_ONCE if fleet.overcommitted else 1


def weighed_s(fleet: Fleet, cost_s: float) -> float:
    """What a look costs, by how much it is worth."""
    return cost_s / WORTH_IN_TURNS if fleet.takes_turns else cost_s


def waits_for_a_look(fleet: Fleet) -> bool:
    """As many have started as may between two looks, and more could."""
    return fleet.policy.sizing.take_turns and fleet.paced and bool(fleet.queue)


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
        self._glance_s: float | None = None  # until the next one; None: no need of any

    def look(self, glanced: Host | None = None) -> None:
        """At the agents, and at the host unless a glance has just told enough of it."""
        began = time.thread_time()
        try:
            used = self._supervisor.hands.used_bytes()
        except OSError as error:  # no descriptor left: agents use what they used
            log.error("the agents' memory cannot be read: %s", error)
            used = {}
        self._seen(used)
        self._host = glanced or self._look_at_host()
        self._supervisor.post(Sampled(0.0, self._host, used))
        self._cost_s = time.thread_time() - began

    def ring(self) -> None:
        """The kernel has seen something: the next look is now."""
        self._rung.set()

    async def watch(self) -> None:
        glanced: Host | None = None
        while True:
            self._rung.clear()
            self.look(glanced)
            await asyncio.sleep(SHORTEST_S)
            glanced = await self._rest(self._pause_s() - SHORTEST_S)

    def _pause_s(self) -> float:
        fleet, host = self._supervisor.fleet, self._host
        self._glance_s = None
        if host is None or not (fleet.live or fleet.waiting):
            return max(self._tick_s, IDLE_TICK_S)
        left, total, ladder = host.available_bytes, host.total_bytes, fleet.policy.ladder
        at_once = bursts_at_once(fleet)
        soon_s = next_look_s(left, total, at_once=at_once, ladder=ladder)
        cost_s = weighed_s(fleet, self._cost_s)
        affordable_s = next_look_s(left, total, look_cost_s=cost_s, at_once=at_once, ladder=ladder)
        if soon_s < affordable_s and fleet.ladder.rung < Rung.EMERGENCY:
            self._glance_s = GLANCE_S
        if waits_for_a_look(fleet):
            return SHORTEST_S
        return min(self._tick_s, affordable_s)

    def _glance(self) -> Host | None:
        """What it found, if that is the last step, and if there was to be a glance."""
        if self._glance_s is None or self._host is None:
            return None
        began = time.thread_time()
        try:
            found = self._probe.glance(self._host)
        except (OSError, ValueError):
            found = None  # the next look says so
        self._glance_s = max(GLANCE_S, REST_AFTER_GLANCE * (time.thread_time() - began))
        if found is None or found.available_bytes is None:
            return None
        floor = emergency_bytes(found.total_bytes, self._supervisor.fleet.policy.ladder)
        return found if found.available_bytes <= floor else None

    async def _rest(self, seconds: float) -> Host | None:
        """Cut short when the kernel rings, when the first run comes to an idle fleet, or when a
        glance says so."""
        fleet = self._supervisor.fleet
        was_busy = bool(fleet.live or fleet.waiting)
        over_at = time.monotonic() + seconds
        while (left_s := over_at - time.monotonic()) > 0 and not self._rung.is_set():
            if not was_busy and (fleet.live or fleet.waiting):
                return None
            # Not `wait_for`: rung in the moment it is cancelled, 3.11's forgets that it was.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, self._glance_s or self._tick_s)):
                    await self._rung.wait()
            if (glanced := self._glance()) is not None:
                return glanced
        return None

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
