"""Removing what attempts leave: beside the loop, a moment later and many at a time.

A directory that nobody has touched can wait until fewer runs end. It holds nothing, and removing it
is dear while others are being made: 0.05 to 0.2 ms of the disk, and an ext4 without a journal looks
at everything that was removed in the last five seconds whenever a new one is made. That was a
seventh of the rate of short runs.
"""

from __future__ import annotations

import asyncio
import logging
import os
import stat
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

SWEEP_S: Final = 0.05
QUIET_S: Final = 0.5  # without another end
LATEST_S: Final = 5.0
MOST: Final = 1000  # that wait for it

log = logging.getLogger("paddock.sweeping")


class Sweeper:
    def __init__(self, remove: Callable[[str], None], path: Callable[[str], Path]) -> None:
        """Both are called in a thread, with one name after the other; `path` says where it is."""
        self._remove = remove
        self._path = path
        self._waiting: list[str] = []
        self._untouched: list[str] = []
        self._added_at = self._swept_at = 0.0
        self._looking: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sweeping")

    def add(self, name: str) -> None:
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_later(SWEEP_S, self._sweep)
        if self._looking is None:
            self._swept_at = loop.time()
            self._look_later()
        self._waiting.append(name)
        self._added_at = loop.time()

    def _sweep(self) -> None:
        names, self._waiting = self._waiting, []
        if names:
            self._thread.submit(self._remove_touched, names)

    def _look_later(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(QUIET_S, self._look)

    def _look(self) -> None:
        """At those that wait for a quiet moment: whether this is one."""
        self._looking = None
        now = asyncio.get_running_loop().time()
        is_quiet = now >= self._added_at + QUIET_S and not self._waiting
        if is_quiet or now >= self._swept_at + LATEST_S or len(self._untouched) >= MOST:
            self._swept_at = now
            self._thread.submit(self._remove_untouched)
        if not is_quiet:
            self._look_later()

    # -- in the thread --------------------------------------------------------------------

    def _remove_touched(self, names: Iterable[str]) -> None:
        for name in names:
            self._remove_one(name, may_wait=True)

    def _remove_untouched(self) -> None:
        names, self._untouched = self._untouched, []
        for name in names:
            self._remove_one(name, may_wait=False)

    def _remove_one(self, name: str, *, may_wait: bool) -> None:
        try:
            if may_wait and is_untouched(self._path(name)):
                self._untouched.append(name)
            else:
                self._remove(name)
        except Exception as error:  # noqa: BLE001 - the others have their turn
            log.warning("%s is left: %s", name, error)

    # -------------------------------------------------------------------------------------

    def close(self) -> list[str]:
        """Those whose turn did not come."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        names = [*self._waiting, *self._untouched]
        self._waiting, self._untouched = [], []
        if self._looking is not None:
            self._looking.cancel()
        return names


def is_untouched(path: Path) -> bool:
    """Whether it is a directory as it was made: both times are set then, and to put anything there
    changes one. (The third is changed by a new name, see `workspaces.in_advance`.) What came in the
    same tick of the kernel's clock is not seen, nor what somebody set back: it goes a little later.
    """
    try:
        found = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - for every end
    except OSError:
        return False
    is_as_made = found.st_atime_ns == found.st_mtime_ns
    return is_as_made and stat.S_ISDIR(found.st_mode)
