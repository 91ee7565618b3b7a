"""Threads that pack: as many as were asked for, and no more. The loop never waits for them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

# Of a run: one is being packed and the next lies ready, so that its packer never waits for it.
MOST_WAITING: Final = 2

log = logging.getLogger("paddock.logs")


class Packing:
    """One run at a time in each thread, and no run in two."""

    def __init__(self, tidy: Callable[[str], bool], packers: int) -> None:
        self._do, self._packers = tidy, packers
        self._lock = threading.Condition()
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: dict[str, int] = {}
        self._then: dict[str, set[Callable[[], None]]] = {}
        self._again: set[str] = set()
        self._busy: set[str] = set()
        self._closed = False

    def is_behind(self, run: str) -> bool:
        """Then whoever writes waits, until some of it is packed."""
        return self._waiting.get(run, 0) >= MOST_WAITING

    def when_free(self, run: str, then: Callable[[], None]) -> None:
        """Called once it is not behind: at once, or in a packer's thread."""
        with self._lock:
            if self.is_behind(run):
                self._then.setdefault(run, set()).add(then)
                return
        then()

    def is_at(self, run: str) -> bool:
        with self._lock:
            return run in self._busy

    def ask(self, run: str, *, waiting: int = 0) -> None:
        if not self._packers:
            self._do(run)
            return
        with self._lock:
            if self._closed:
                return
            self._waiting[run] = self._waiting.get(run, 0) + waiting
            self._again.add(run)
            if run in self._busy:
                return
            self._busy.add(run)
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._packers, thread_name_prefix="pack")
            self._pool.submit(self._work, run)

    def _work(self, run: str) -> None:
        while (taken := self._taken(run)) is not None:
            try:
                well = self._do(run)
            except Exception as error:  # noqa: BLE001 - one run's files, not all packing
                log.error("the output of %s could not be tidied: %r", run, error)
            else:
                if not well:
                    log.warning("the output of %s could not be packed; it stays as it is", run)
            self._done(run, taken)

    def _taken(self, run: str) -> int | None:
        """So many parts wait now; None: there is nothing to do any more."""
        with self._lock:
            if run in self._again and not self._closed:
                self._again.discard(run)
                return self._waiting.get(run, 0)
            self._waiting.pop(run, None)
            self._busy.discard(run)
            self._lock.notify_all()
            return None

    def _done(self, run: str, taken: int) -> None:
        """Also after a failure: an agent does not wait for what does not come."""
        with self._lock:
            self._waiting[run] = self._waiting.get(run, 0) - taken
            ready = set() if self.is_behind(run) else self._then.pop(run, set())
        for then in ready:
            then()

    def settle(self) -> None:
        with self._lock:
            self._lock.wait_for(lambda: not self._busy)

    def close(self) -> None:
        """What is half packed is packed anew by the next daemon."""
        with self._lock:
            self._closed = True
            pool = self._pool
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)
