"""The past is kept: a look at the fleet every few seconds, one batch a minute to the store.

Beside the loop, never in its way: a batch waits its turn in the store's thread, and while the
store cannot be written none is handed to it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import structs

from paddock.config.places import Places
from paddock.core.fleet import Change
from paddock.host.usage import Cores, sizes_of
from paddock.logs.free_room import space_of
from paddock.observe.history import Gathered, Recorder, Seen
from paddock.observe.history_alerts import UNKNOWN, Alerts
from paddock.ports import LedgerEntry, Store
from paddock.storage.errors import StoreError
from paddock.supervisor.loop import Supervisor
from paddock.workspaces.room import Room

LOOK_S: Final = 10.0
FLUSH_S: Final = 60.0
GROUPS_S: Final = 300.0  # many rows, and an agent lives for minutes: less often
WEIGH_S: Final = 3600.0
LIFE: Final = "daemon"
STOPPED: Final = "stopped"

log = logging.getLogger("paddock.history")


class Recording:
    def __init__(
        self,
        supervisor: Supervisor,
        room: Room,
        *,
        places: Places,
        epoch: int,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._supervisor = supervisor
        self._room = room
        self._state, self._output = places.state, places.output
        self._wall = wall
        self._life = LedgerEntry(kind=LIFE, subject=str(epoch), at=wall())
        self._cores = Cores()
        self._sizes: Mapping[str, int] = {}
        self._flushed_at = self._groups_at = time.monotonic()
        self.recorder = Recorder(supervisor.fleet)
        self.alerts = Alerts(supervisor.fleet, self.recorder)
        supervisor.on_change.append(self._changed)

    def _changed(self, change: Change) -> None:
        self.recorder.changed(change)
        self.alerts.changed(change)

    async def keep(self) -> None:
        self._look(Seen())
        await self._close_what_was_left()
        await self.flush()  # that this daemon lives, should it be killed at once
        weighing = asyncio.ensure_future(self._weigh_now_and_then())
        try:
            while True:
                await asyncio.sleep(LOOK_S)
                self._look(await asyncio.to_thread(self._see))
                if time.monotonic() - self._flushed_at >= FLUSH_S:
                    await self.flush()
        finally:
            weighing.cancel()

    async def finish(self, kind: type[BaseException] | None, *_: object) -> None:
        """The daemon stops; whether it was meant to is part of its life."""
        self._look(Seen())
        self._life = structs.replace(self._life, verdict="" if kind else STOPPED)
        await self.flush(with_groups=True)

    async def flush(self, *, with_groups: bool = False) -> None:
        """What gathered, in one transaction; what cannot be kept waits for the next minute."""
        self._flushed_at = time.monotonic()
        if self._supervisor.trouble is not None:
            return
        with_groups = with_groups or self._flushed_at - self._groups_at >= GROUPS_S
        self.recorder.note(structs.replace(self._life, until_at=self._wall()))
        taken = self.recorder.take()
        if not with_groups:
            self.recorder.gathered.groups, taken.groups = taken.groups, {}
        try:
            await self._supervisor.look(lambda store: self._write(store, taken))
        except StoreError as error:
            log.warning("the history waits: %s", error)
            self.recorder.gathered.put_back(taken)
        else:
            self._groups_at = self._flushed_at if with_groups else self._groups_at

    def _write(self, store: Store, taken: Gathered) -> None:
        store.record(taken.rollups(), tuple(taken.entries.values()), now_at=self._wall())

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
            try:
                self._sizes = await self._weigh()
            except OSError as error:
                log.warning("workspaces cannot be weighed: %s", error)
            await asyncio.sleep(WEIGH_S)

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
        try:
            known = await self._supervisor.look(lambda store: store.ledger(since_at=now_at))
        except StoreError as error:
            log.warning("the ledger cannot be read: %s", error)
            return
        for entry in known:
            if entry.until_at is None:
                self.recorder.note(structs.replace(entry, until_at=now_at, verdict=UNKNOWN))
