"""Ready markers: a run says that it is ready in a commit or by a file, and the fleet hears of it.

The kernel tells when a look is worth while; a look every few seconds comes on top (RUN-4).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from paddock.core.events import OF_AN_END, Event, Exited, Noticed
from paddock.core.fleet import Change
from paddock.core.run import Attempt
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.wanted import MARKER_LABEL
from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.inotify import Ears
from paddock.workspaces.ready import Marker, Sighting, next_look_s
from paddock.workspaces.room import Room

SOON_S: Final = 0.2  # a commit is many changes
LAST_LOOK_S: Final = 2.0  # a look takes milliseconds; a slow disk does not keep a run from its end

log = logging.getLogger("paddock.ready")


@dataclass(slots=True)
class _Watched:
    attempt: Attempt
    since_at: float
    marker: Marker | None = None  # until its workspace was found
    next: asyncio.TimerHandle | None = None
    looking: bool = False
    held: list[Event] = field(default_factory=list)  # its end, until it was looked at once more
    last: bool = False  # the look under way was begun after its end


class Readiness:
    """`watch` as long as the daemon lives."""

    def __init__(self, supervisor: Supervisor, room: Room) -> None:
        self._supervisor = supervisor
        self._room = room
        self._watched: dict[str, _Watched] = {}
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="ready")
        self._loop = asyncio.get_running_loop()
        self.checks: Counter[str] = Counter()  # looks, by what came of them
        try:
            self._ears: Ears | None = Ears()
        except OSError as error:
            log.info("ready markers are looked for every few seconds: %s", error)
            self._ears = None
        else:
            self._loop.add_reader(self._ears.fileno(), self._heard)
        supervisor.on_change.append(self._changed)
        supervisor.hands.last_look = self.takes
        if supervisor.hands.grounds is not None:
            supervisor.hands.grounds.on_marked = self.watch

    def close(self) -> None:
        for run in list(self._watched):
            self._forget(run)
        if self._ears is not None:
            self._loop.remove_reader(self._ears.fileno())
            self._ears.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def resume(self) -> None:
        """After a restart: those that run already."""
        living = {run.id: run.attempt for run in self._supervisor.fleet.live_runs()}
        found = await self._supervisor.look(
            lambda store: {run: store.recipe(run) for run in living}
        )
        for run, recipe in found.items():
            if recipe is not None and MARKER_LABEL in recipe.labels:
                self.watch(living[run], recipe.labels[MARKER_LABEL])

    # -- who is watched -------------------------------------------------------------------

    def _changed(self, change: Change) -> None:
        if self._watched and not change.run.live:
            self._forget(change.run.id)  # the story of one that has ended is closed

    def watch(self, attempt: Attempt, text: str) -> None:
        known = self._supervisor.fleet.runs.get(attempt.run)
        if known is None or not known.live or known.attempt != attempt:
            return  # it is over already
        self._forget(attempt.run)  # an earlier attempt's
        self._watched[attempt.run] = watched = _Watched(attempt, self._loop.time())
        task = self._loop.create_task(self._find(watched, text))
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception())

    async def _find(self, watched: _Watched, text: str) -> None:
        run = watched.attempt.run
        try:
            found = partial(self._marker, run, text)
            watched.marker = await self._loop.run_in_executor(self._threads, found)
        except (WorkspaceError, OSError) as error:
            log.warning("the ready marker of %s is not looked for: %s", run, error)
        if self._watched.get(run) is not watched:
            return
        if watched.marker is None:
            self._forget(run)
            return
        if self._ears is not None:
            watched.marker.listen(self._ears, run)
        self._look(watched)

    def _marker(self, run: str, text: str) -> Marker | None:
        record, path = self._room.record(run), self._room.path(run)
        return None if record is None or path is None else Marker(record, path, text)

    def _forget(self, run: str) -> None:
        watched = self._watched.pop(run, None)
        if watched is None:
            return
        if watched.next is not None:
            watched.next.cancel()
        if self._ears is not None:
            self._ears.forget(run)
        for event in watched.held:
            self._supervisor.hands.pass_on(event)

    # -- its end --------------------------------------------------------------------------

    def takes(self, event: Event) -> bool:
        """Whether it is told later: what an agent did last is seen before its end is told."""
        if not self._watched or not isinstance(event, OF_AN_END):
            return False
        watched = self._watched.get(event.attempt.run)
        if watched is None or watched.attempt != event.attempt:
            return False
        if isinstance(event, Exited) and not event.empty and not watched.held:
            return False  # something of it still runs
        watched.held.append(event)
        if len(watched.held) == 1:
            if watched.marker is not None and not watched.looking:
                self._look(watched)
            self._loop.call_later(LAST_LOOK_S, self._waited, watched)
        return True

    def _waited(self, watched: _Watched) -> None:
        if self._watched.get(watched.attempt.run) is watched:
            self._forget(watched.attempt.run)

    # -- looking --------------------------------------------------------------------------

    def _heard(self) -> None:
        assert self._ears is not None
        found: set[Hashable] = self._ears.hear()
        for run in found:
            watched = self._watched.get(str(run))
            if watched is not None:
                self._look_in(watched, SOON_S)

    def _look_in(self, watched: _Watched, seconds: float) -> None:
        """Or earlier, if that was said before."""
        at = self._loop.time() + seconds
        if watched.next is not None:
            if watched.next.when() <= at:
                return
            watched.next.cancel()
        watched.next = self._loop.call_at(at, self._due, watched)

    def _due(self, watched: _Watched) -> None:
        watched.next = None
        self._look(watched)

    def _look(self, watched: _Watched) -> None:
        if watched.looking:
            self._look_in(watched, SOON_S)
            return
        assert watched.marker is not None
        watched.looking, watched.last = True, bool(watched.held)
        task = self._loop.run_in_executor(self._threads, watched.marker.look)
        task.add_done_callback(lambda done: self._looked(watched, done))

    def _looked(self, watched: _Watched, done: asyncio.Future[Sighting | None]) -> None:
        watched.looking = False
        run = watched.attempt.run
        if done.cancelled() or self._watched.get(run) is not watched:
            return
        error = done.exception()
        self.checks["failed" if error else "ready" if done.result() else "not_yet"] += 1
        if error is not None:
            if not isinstance(error, WorkspaceError | OSError):
                log.error("a look for a ready marker failed", exc_info=error)
        elif (sighting := done.result()) is not None:
            self._supervisor.post(Noticed(0.0, watched.attempt, f"ready: {sighting}"))
            self._forget(run)
            return
        if watched.last:
            self._forget(run)
        elif watched.held:
            self._look(watched)
        else:
            self._look_in(watched, next_look_s(self._loop.time() - watched.since_at))
