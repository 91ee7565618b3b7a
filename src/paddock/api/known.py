"""What need not be looked up again: ids that no run has, and directories that answer at once.

A visit to another thread costs 0.2 ms, a quarter of what a submission may cost; a wait for the
store's lock costs as long as the disk takes. Most submissions are spared both.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from paddock.core.run import Ended, Run
from paddock.ports import Store
from paddock.storage.errors import StoreError
from paddock.supervisor.loop import Supervisor

from .recipes import check_directory

PAGE: Final = 500
MOST_IDS: Final = 50_000  # then they are read anew: the store forgets, too
TRUSTED_S: Final = 5.0
SEEN_S: Final = 0.02  # so long a directory is there that was seen to be there
MOST_TRUSTED: Final = 256

log = logging.getLogger("paddock.api")


class KnownIds:
    """Every id that a run has or had; complete once the store was read to its end."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._ids: set[str] = set()
        self._fresh: set[str] | None = None  # being read
        self._complete = False

    def surely_new(self, ids: Iterable[str]) -> bool:
        runs = self._supervisor.fleet.runs
        return self._complete and not any(one in self._ids or one in runs for one in ids)

    def add(self, ids: Iterable[str]) -> None:
        for one in ids:
            self._ids.add(one)
            if self._fresh is not None:
                self._fresh.add(one)

    @property
    def needs_reading(self) -> bool:
        return self._fresh is None and (not self._complete or len(self._ids) > MOST_IDS)

    async def read(self) -> None:
        """Page by page, so that commits come through. Until it is done, the store is asked."""
        self._fresh = set()
        last: Run | None = None
        try:
            while page := await self._supervisor.look(lambda store, last=last: _page(store, last)):  # type: ignore[misc]
                last = page[-1]
                self._fresh.update(run.id for run in page)
        except StoreError as error:
            log.warning("the ids of ended runs could not be read: %s", error)
            self._fresh = None
            return
        # Those of now are forgotten by the fleet some time, and are then only in the store.
        self._ids = self._fresh | set(self._supervisor.fleet.runs)
        self._fresh, self._complete = None, True


def _page(store: Store, last: Run | None) -> tuple[Run, ...]:
    before = None
    if last is not None:
        assert isinstance(last.state, Ended)
        before = (last.state.since_at, last.id)
    return store.ended(before=before, limit=PAGE)


class TrustedDirectories:
    """On disks of this machine, seen a moment ago: looking at them cannot hang."""

    def __init__(self, state: Path) -> None:
        self._own = {_device(state), _device(Path("/"))}
        self._until: dict[str, float] = {}
        self._seen: dict[str, float] = {}

    def __contains__(self, directory: str) -> bool:
        return self._until.get(directory, 0.0) > time.monotonic()

    def check(self, directory: str) -> None:
        """Whether one that is trusted is still there, unless that was asked a moment ago."""
        now = time.monotonic()
        if now - self._seen.get(directory, -SEEN_S) >= SEEN_S:
            check_directory(directory)
            self._seen[directory] = now

    def look_at(self, directory: str) -> None:
        """In a thread: this is the look that may hang."""
        path = Path(directory)
        devices = {_device(each) for each in (path, *path.parents)}
        if all(os.major(device) or device in self._own for device in devices):
            if len(self._until) >= MOST_TRUSTED:
                self._until.clear()
                self._seen.clear()
            self._until[directory] = time.monotonic() + TRUSTED_S


def _device(path: Path) -> int:
    """0 and so not trusted where it cannot be told; major 0 is no disk: a network, a FUSE."""
    try:
        return os.stat(path).st_dev  # noqa: PTH116 - as everywhere here
    except OSError:
        return 0
