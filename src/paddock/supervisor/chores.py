"""What keeps a daemon small over months: the past is tidied away, and the output of its runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Protocol

from paddock.ports import Store
from paddock.storage.errors import StoreError
from paddock.supervisor.loop import Supervisor

EVERY_S: Final = 60.0
PAUSE_S: Final = 0.05  # between two batches, so that commits come through
AT_ONCE: Final = 200
UPLOADS_KEPT_S: Final = 24 * 3600.0

log = logging.getLogger("paddock.chores")


class KeptOutput(Protocol):
    def runs(self) -> Iterable[str]: ...

    def remove(self, run: str) -> None: ...


class Chores:
    def __init__(self, supervisor: Supervisor, output: KeptOutput, stdin: Path) -> None:
        self._supervisor = supervisor
        self._output = output
        self._stdin = stdin
        self._some_went = True  # before this daemon, perhaps

    async def do(self) -> None:
        while True:
            try:
                await self.once()
            except (StoreError, OSError) as error:
                log.warning("tidying waits: %s", error)
            await asyncio.sleep(EVERY_S)

    async def once(self) -> None:
        """A small batch at a time: each holds the store's thread for a moment only."""
        supervisor = self._supervisor
        now_at = supervisor.clock.now()
        while await supervisor.look(lambda store: store.tidy(now_at=now_at)):
            self._some_went = True
            await asyncio.sleep(PAUSE_S)
        if self._some_went:
            self._some_went = False
            await supervisor.count_outcomes()
            await self._drop_output()
        await asyncio.to_thread(self._drop_uploads)

    def _drop_uploads(self) -> None:
        """What was handed over as stdin for a run that never came, or has long ended."""
        if not self._stdin.is_dir():
            return
        for path in list(self._stdin.iterdir()):
            with contextlib.suppress(OSError):
                old = time.time() - path.lstat().st_mtime > UPLOADS_KEPT_S
                if old and path.name not in self._supervisor.fleet.runs:
                    path.unlink()

    async def _drop_output(self) -> None:
        supervisor = self._supervisor
        runs = sorted(await asyncio.to_thread(lambda: list(self._output.runs())))
        for first in range(0, len(runs), AT_ONCE):
            some = runs[first : first + AT_ONCE]
            gone = await supervisor.look(lambda store, some=some: _unknown(store, some))  # type: ignore[misc]
            for run in gone:
                # One that was just submitted is in the fleet before it is in the store.
                if run not in supervisor.fleet.runs:
                    await asyncio.to_thread(self._output.remove, run)
            await asyncio.sleep(PAUSE_S)


def _unknown(store: Store, runs: Iterable[str]) -> list[str]:
    return [run for run in runs if store.run(run) is None]
