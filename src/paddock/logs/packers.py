"""Threads that pack: as many as were asked for, and no more. The loop never waits for them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

log = logging.getLogger("paddock.logs")


class Packing:
    """One run at a time in each thread, and no run in two."""

    def __init__(self, tidy: Callable[[str], bool], packers: int) -> None:
        self._do, self._packers = tidy, packers
        self._lock = threading.Condition()
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: dict[str, int] = {}
        self._again: set[str] = set()
        self._busy: set[str] = set()
        self._closed = False

    def waiting(self, run: str) -> int:
        return self._waiting.get(run, 0)

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
        while True:
            with self._lock:
                if run not in self._again or self._closed:
                    # Also after a failure: an agent does not wait for what does not come.
                    self._waiting.pop(run, None)
                    self._busy.discard(run)
                    self._lock.notify_all()
                    return
                self._again.discard(run)
            try:
                well = self._do(run)
            except Exception as error:  # noqa: BLE001 - one run's files, not all packing
                log.error("the output of %s could not be tidied: %r", run, error)
            else:
                if not well:
                    log.warning("the output of %s could not be packed; it stays as it is", run)

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
