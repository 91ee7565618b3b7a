"""What was rotated and still waits to be packed after a second is put on the disk as it is, aside.

Most parts never need it: they are packed by then, that is on the disk, and the raw bytes need not
be written there at all (decision 0009). One thread, made when it is first needed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

# A live file is on the disk when the kernel likes, usually within 30 s. Packing takes 60 ms.
AFTER_S: Final = 1.0

log = logging.getLogger("paddock.logs")


class Syncing:
    """In the order in which it was asked."""

    def __init__(
        self, sync: Callable[[str, str], None], *, aside: bool, after_s: float = AFTER_S
    ) -> None:
        """`sync`: of a run, the part with that name; it may be gone. Not `aside`: at once."""
        self._do, self._aside, self._after_s = sync, aside, after_s
        self._lock = threading.Condition()
        self._asked: deque[tuple[float, str, str]] = deque()
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, run: str, name: str) -> None:
        if not self._aside:
            self._sync(run, name)
            return
        with self._lock:
            if self._closed:
                return
            self._asked.append((time.monotonic() + self._after_s, run, name))
            self._lock.notify_all()
            if self._thread is None:
                # A store that nobody closes, as in a command, does not keep its process alive.
                self._thread = threading.Thread(target=self._work, name="sync", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """What still waits is asked for again by the next daemon."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        while (due := self._next()) is not None:
            self._sync(*due)

    def _sync(self, run: str, name: str) -> None:
        try:
            self._do(run, name)
        except OSError as error:
            log.warning("output of %s waits and may not be on the disk: %s", run, error)

    def _next(self) -> tuple[str, str] | None:
        with self._lock:
            while not self._closed:
                left_s = self._asked[0][0] - time.monotonic() if self._asked else None
                if left_s is not None and left_s <= 0:
                    return self._asked.popleft()[1:]
                self._lock.wait(left_s)
        return None
