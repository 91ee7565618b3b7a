"""Ready markers: a run says that it is ready in a commit or by a file, and the fleet hears of it.

The kernel tells when a look is worth while; a look every few seconds comes on top (RUN-4).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from paddock.core.events import Noticed
from paddock.core.fleet import Change
from paddock.core.run import Attempt
from paddock.supervisor.grounds import MARKER_LABEL
from paddock.supervisor.loop import Supervisor
from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.inotify import Ears
from paddock.workspaces.ready import Marker, Sighting, next_look_s
from paddock.workspaces.room import Room

SOON_S: Final = 0.2  # a commit is many changes

log = logging.getLogger("paddock.ready")


@dataclass(slots=True)
class _Watched:
    attempt: Attempt
    marker: Marker
    since_at: float
    next: asyncio.TimerHandle | None = None
    looking: bool = False


class Readiness:
    """`watch` as long as the daemon lives."""

    def __init__(self, supervisor: Supervisor, room: Room) -> None:
        self._supervisor = supervisor
        self._room = room
        self._watched: dict[str, _Watched] = {}
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="ready")
        self._loop = asyncio.get_running_loop()
        try:
            self._ears: Ears | None = Ears()
        except OSError as error:
            log.info("ready markers are looked for every few seconds: %s", error)
            self._ears = None
        else:
            self._loop.add_reader(self._ears.fileno(), self._heard)
        supervisor.on_change.append(self._changed)
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
        task = self._loop.create_task(self._watch(attempt, text))
        task.add_done_callback(lambda done: None if done.cancelled() else done.exception())

    async def _watch(self, attempt: Attempt, text: str) -> None:
        record = await self._loop.run_in_executor(self._threads, self._room.record, attempt.run)
        path = await self._loop.run_in_executor(self._threads, self._room.path, attempt.run)
        known = self._supervisor.fleet.runs.get(attempt.run)
        if record is None or path is None or known is None:
            return
        if not known.live or known.attempt != attempt:
            return  # it is over already
        self._forget(attempt.run)  # an earlier attempt's
        watched = _Watched(attempt, Marker(record, path, text), self._loop.time())
        self._watched[attempt.run] = watched
        if self._ears is not None:
            watched.marker.listen(self._ears, attempt.run)
        self._look(watched)

    def _forget(self, run: str) -> None:
        watched = self._watched.pop(run, None)
        if watched is not None and watched.next is not None:
            watched.next.cancel()
        if self._ears is not None:
            self._ears.forget(run)

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
        watched.looking = True
        task = self._loop.run_in_executor(self._threads, watched.marker.look)
        task.add_done_callback(lambda done: self._looked(watched, done))

    def _looked(self, watched: _Watched, done: asyncio.Future[Sighting | None]) -> None:
        watched.looking = False
        run = watched.attempt.run
        if done.cancelled() or self._watched.get(run) is not watched:
            return
        error = done.exception()
        if error is not None:
            if not isinstance(error, WorkspaceError | OSError):
                log.error("a look for a ready marker failed", exc_info=error)
        elif (sighting := done.result()) is not None:
            self._forget(run)
            self._supervisor.post(Noticed(0.0, watched.attempt, f"ready: {sighting}"))
            return
        self._look_in(watched, next_look_s(self._loop.time() - watched.since_at))
