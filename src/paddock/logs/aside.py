"""What a disk takes its time over, beside whoever moves the bytes and whoever packs them.

One thread, and everything in the order in which it was asked: a part that was rotated is put on the
disk as it is while it is packed, and the blocks of one that was packed are given back.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

log = logging.getLogger("paddock.logs")


class Aside:
    def __init__(self, *, at_once: bool) -> None:
        """`at_once`: in the thread of whoever asks, as where there are no packers."""
        self._pool = None if at_once else ThreadPoolExecutor(1, thread_name_prefix="aside")
        self.is_closed = False

    def sync(self, run: str, work: Callable[[], None]) -> None:
        """Of a part that waits; that it cannot be synced harms nobody but after a loss of power."""
        if self._pool is None:
            self._try(run, work)
        elif not self.is_closed:
            self._pool.submit(self._try, run, work)

    def let_go(self, descriptor: int) -> None:
        """The last one of a file without a name: closing it frees its blocks, and a disk that is
        told of each (`discard`) is slow to hear it."""
        if self._pool is None or self.is_closed:
            os.close(descriptor)
        else:
            self._pool.submit(os.close, descriptor)

    def close(self) -> None:
        """After those who ask. What was not synced is asked for again by the next daemon."""
        self.is_closed = True
        if self._pool is not None:
            self._pool.shutdown(wait=True)

    def _try(self, run: str, work: Callable[[], None]) -> None:
        if self.is_closed:
            return
        try:
            work()
        except OSError as error:
            log.warning("output of %s waits and may not be on the disk: %s", run, error)
