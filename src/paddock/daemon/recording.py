"""The past is kept: a look at the fleet every few seconds, and once a minute to the store.

Beside the loop, never in its way: small batches wait their turn in the store's thread, and while
the store cannot be written none is handed to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec import structs

from paddock.config.places import Places
from paddock.core.fleet import Change
from paddock.host.usage import Cores, sizes_of
from paddock.logs.free_room import space_of
from paddock.observe.history import Recorder, Seen
from paddock.observe.history_alerts import UNKNOWN, Alerts
from paddock.ports import LedgerEntry, Rollup, Store
from paddock.storage.errors import StoreError
from paddock.supervisor.disk import ANSWERS_WITHIN_S
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.steady import Steady
from paddock.workspaces.room import Room

LOOK_S: Final = 10.0
FLUSH_S: Final = 60.0
GROUPS_S: Final = 300.0  # many rows, and an agent lives for minutes: less often
WEIGH_S: Final = 3600.0
BATCH: Final = 100  # rows: a few milliseconds of the store's thread
LIFE: Final = "daemon"
STOPPED: Final = "stopped"
NOT_SEEN: Final = "the fleet is not looked at"
NOT_COUNTED: Final = "a change is not counted"
NOT_KEPT: Final = "the history waits"
NOT_WEIGHED: Final = "workspaces cannot be weighed"
NOT_CLOSED: Final = "the ledger cannot be read"

_Batch = tuple[list[Rollup], tuple[LedgerEntry, ...]]

log = logging.getLogger("paddock.history")


class When(NamedTuple):
    wall: Callable[[], float] = time.time
    look_s: float = LOOK_S
    weigh_s: float = WEIGH_S


class Recording:
    def __init__(
        self,
        supervisor: Supervisor,
        room: Room,
        *,
        places: Places,
        epoch: int,
        when: When = When(),  # noqa: B008 - frozen
    ) -> None:
        self._supervisor = supervisor
        self._room = room
        self._state, self._output = places.state, places.output
        self._when, self._wall = when, when.wall
        self._life = LedgerEntry(kind=LIFE, subject=str(epoch), at=when.wall())
        self._cores = Cores()
        self._sizes: Mapping[str, int] = {}
        self._left: list[_Batch] = []  # to be written
        self._tried: _Batch | None = None  # and failed, though the store did not
        self._steady = Steady(log)
        self._flushed_at = self._groups_at = time.monotonic()
        self.recorder = Recorder(supervisor.fleet)
        self.alerts = Alerts(supervisor.fleet, self.recorder)
        with self._steady.turn(NOT_SEEN):
            self._look(Seen())  # before anything changes: what time it is
        supervisor.on_change.append(self._steady.guarded(NOT_COUNTED, self._changed))
        supervisor.on_event.append(self._steady.guarded(NOT_COUNTED, self.recorder.heard))

    def _changed(self, change: Change) -> None:
        self.recorder.changed(change)
        self.alerts.changed(change)

    async def keep(self) -> None:
        with self._steady.turn(NOT_CLOSED):
            await self._close_what_was_left()
        await self.flush()  # that this daemon lives, should it be killed at once
        weighing = asyncio.ensure_future(self._weigh_now_and_then())
        try:
            while True:
                await asyncio.sleep(self._when.look_s)
                with self._steady.turn(NOT_SEEN):
                    self._look(await asyncio.to_thread(self._see))
                if time.monotonic() - self._flushed_at >= FLUSH_S:
                    await self.flush()
        finally:
            weighing.cancel()

    async def finish(self, kind: type[BaseException] | None, *_: object) -> None:
        """The daemon stops; whether it was meant to is part of its life."""
        with self._steady.turn(NOT_SEEN):
            self._look(Seen())
        self._life = structs.replace(self._life, verdict="" if kind else STOPPED)
        if not self._supervisor.is_settled:
            return  # a disk that has not answered until now
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.flush(with_groups=True), ANSWERS_WITHIN_S)

    async def flush(self, *, with_groups: bool = False) -> None:
        """What gathered. What cannot be kept is tried again before anything more is taken."""
        self._flushed_at = time.monotonic()
        if self._supervisor.trouble is not None:
            return
        with self._steady.turn(NOT_KEPT):
            if not self._left:
                is_due = self._flushed_at - self._groups_at >= GROUPS_S
                self._take(with_groups=with_groups or is_due)
            while self._left:
                await self._write_next()

    async def _write_next(self) -> None:
        # Taken before it is written: the store does so even if nobody waits for it any more.
        batch = self._left.pop(0)
        try:
            await self._supervisor.look(partial(self._write, *batch))
        except StoreError:
            self._left.insert(0, batch)
            raise
        except Exception:
            # There is something wrong with it: once more, and then the others go without it.
            if batch is not self._tried:
                self._left.insert(0, batch)
            self._tried = batch
            raise

    def _take(self, *, with_groups: bool) -> None:
        """In small transactions: between two of them others' steps come through."""
        self.recorder.note(structs.replace(self._life, until_at=self._wall()))
        taken = self.recorder.take()
        if with_groups:
            self._groups_at = self._flushed_at
        else:
            self.recorder.gathered.groups, taken.groups = taken.groups, {}
        rollups = taken.rollups()
        self._left = [(rollups[:BATCH], tuple(taken.entries.values()))]
        later = range(BATCH, len(rollups), BATCH)
        self._left += [(rollups[begin : begin + BATCH], ()) for begin in later]

    def _write(
        self, rollups: Sequence[Rollup], entries: Sequence[LedgerEntry], store: Store
    ) -> None:
        store.record(rollups, entries, now_at=self._wall())

    def _look(self, seen: Seen) -> None:
        at, trouble = self._wall(), self._supervisor.trouble is not None
        self.recorder.look(seen, at=at)
        self.alerts.look(seen, trouble=trouble, at=at)

    def _see(self) -> Seen:
        space = space_of(self._state)
        return Seen(
            cores=self._cores.count,
            cpu_s=self._cores.busy_s(),
            disk_bytes=space.total_bytes if space else None,
            disk_free_bytes=space.free_bytes if space else None,
            workspace_bytes=self._sizes.get("workspaces"),
            unused_bytes=self._sizes.get("unused"),
            log_bytes=self._sizes.get("logs"),
        )

    async def _weigh_now_and_then(self) -> None:
        while True:
            with self._steady.turn(NOT_WEIGHED):
                self._sizes = await self._weigh()
            await asyncio.sleep(self._when.weigh_s)

    async def _weigh(self) -> Mapping[str, int]:
        occupied = await asyncio.to_thread(self._room.occupied)
        found = await sizes_of([self._output, *occupied])
        return {
            "logs": found.get(self._output, 0),
            "workspaces": sum(found.get(path, 0) for path in occupied),
            "unused": sum(found.get(path, 0) for path, taken in occupied.items() if not taken),
        }

    async def _close_what_was_left(self) -> None:
        """Alerts that were on when the last daemon ended: what followed, nobody saw."""
        now_at = self._wall()
        known = await self._supervisor.look(lambda store: store.ledger(since_at=now_at))
        for entry in known:
            if entry.until_at is None:
                self.recorder.note(structs.replace(entry, until_at=now_at, verdict=UNKNOWN))
