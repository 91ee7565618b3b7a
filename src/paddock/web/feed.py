"""What the pages show, asked of the daemon once a second for all of them together."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from paddock.client import AsyncClient, ClientError, NotFound
from paddock.client.faces import Places, views

from .history import SECONDS, History

EVERY_S: Final = 1.0
ENDED_SHOWN: Final = 300
AGAIN_S: Final = 1.0
LATE_S: Final = 10.0  # a daemon that hangs is not waited for any longer
HAPPENINGS: Final = 200

log = logging.getLogger("paddock.web")


class Feed:
    """`changed` has everybody who wants to know of a new look."""

    def __init__(self, places: Places) -> None:
        self.client = AsyncClient(places)
        self.history = History()
        self.status: views.StatusView | None = None
        self.runs: list[views.RunView] = []
        self.ended: list[views.RunView] = []
        self.cpu: dict[str, float] = {}  # cores in use, by run
        self.happenings: deque[views.Happening] = deque(maxlen=HAPPENINGS)
        self.looks = 0
        self.lost: str | None = "not asked yet"
        self.lost_since: float | None = None
        self.changed: set[Callable[[], None]] = set()
        self._cpu_s: dict[str, tuple[float, float]] = {}
        self._stale = True  # the list of those that have ended
        self._over = 0
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._look_on()), asyncio.create_task(self._listen())]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.client.close()

    def run_of(self, run: str) -> views.RunView | None:
        known = (*self.runs, *self.ended)
        return next((view for view in known if view.id == run), None)

    # -- looking --------------------------------------------------------------------------

    async def _look_on(self) -> None:
        first = True
        while True:
            next_at = time.monotonic() + EVERY_S
            try:
                await asyncio.wait_for(self._look(recent=first), LATE_S)
                self.lost = self.lost_since = None
                first = False
            except TimeoutError:
                self._lose("the daemon does not answer")
            except (ClientError, OSError) as error:
                self._lose(str(error))
            self._tell()
            await asyncio.sleep(max(0.05, next_at - time.monotonic()))

    def _lose(self, message: str) -> None:
        self.lost = message
        self.lost_since = self.lost_since or time.time()
        self._stale = True

    def _tell(self) -> None:
        self.looks += 1
        for tell in tuple(self.changed):
            tell()

    async def _look(self, *, recent: bool) -> None:
        status, runs = await self.client.status(), await self.client.runs()
        memory = await self.client.memory(recent=recent)
        over = status.counts.get("ended", 0)
        if self._stale or over != self._over:  # also those of which no event came through
            self._stale, self._over = False, over
            self.ended = await self.client.runs(state="ended", limit=ENDED_SHOWN)
        self.status, self.runs = status, runs
        now = time.time()
        self._keep(int(now), status, memory)
        self._count_cpu(now, memory)
        if recent:
            await self._remember(now)

    async def _remember(self, now: float) -> None:
        """What was before this dashboard; a daemon of an older version does not know."""
        with suppress(NotFound):
            past = await self.client.history(since_at=now - SECONDS)
            for point in past.points:
                begin, end = int(point.at), int(point.at) + past.step_s
                levels = (point.memory_percent, point.used_bytes, point.waiting, point.agents)
                self.history.remember(begin, end, levels=levels)
                self.history.counted(begin, end, starts=point.starts, ends=point.ends)

    def _keep(self, now: int, status: views.StatusView, memory: list[views.MemoryView]) -> None:
        history = self.history
        history.reach(now)
        history.host_percent.put(now, status.host.used_percent if status.host else None)
        history.fleet_bytes.put(now, status.fleet.used_bytes)
        history.waiting.put(now, status.queue.waiting)
        history.at_work.put(now, len(memory))
        for view in memory:
            ring = history.of_agent(view.id, view.name)
            for back, used in enumerate(reversed(view.recent_bytes), start=1):
                ring.put(now - back, used)
            ring.put(now, view.used_bytes)

    def _count_cpu(self, now: float, memory: list[views.MemoryView]) -> None:
        before, self._cpu_s, self.cpu = self._cpu_s, {}, {}
        for view in memory:
            if view.cpu_s is None:
                continue
            self._cpu_s[view.id] = (now, view.cpu_s)
            at, then = before.get(view.id, (now, 0.0))
            if now > at:
                self.cpu[view.id] = max(0.0, view.cpu_s - then) / (now - at)

    # -- listening ------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Starts, ends and kills: those that a daemon still knows of, then as they happen. It is
        asked who it is, for a new one counts from 1 again."""
        heard: tuple[int, int] | None = None
        after = 0
        while True:
            try:
                daemon = await self.client.daemon()
                now = (daemon.epoch, daemon.pid)
                heard, after = now, after if now == heard else 0
                async for happening in self.client.events(after=after):
                    after = happening.n
                    self._happened(happening)
            except (ClientError, OSError) as error:
                log.debug("no events: %s", error)
            await asyncio.sleep(AGAIN_S)

    def _happened(self, happening: views.Happening) -> None:
        self._stale = self._stale or happening.state == "ended"
        self.happenings.appendleft(happening)
        self.history.happened(happening.at, happening.state, happening.outcome)
