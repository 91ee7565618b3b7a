"""Looks at what agents left, in threads: a few at once, and none holds up the others for long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

AT_ONCE: Final = 2  # they read and hash: more would not be done sooner
SLOW_S: Final = 5.0  # who takes longer waits for a disk, and others may have its place
MOST_THREADS: Final = 64  # nobody gets one back that stands in a dead disk

T = TypeVar("T")


class Looks:
    slow_s = SLOW_S

    def __init__(self, name: str) -> None:
        self._places = asyncio.Semaphore(AT_ONCE)
        self._threads = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix=name)

    async def seen(self, see: Callable[[], T], *, patience_s: float) -> T:
        """TimeoutError if it is not through so long after it began; its thread is left to itself.

        How long it waited for its turn does not count: nobody has looked yet.
        """
        async with self._places:
            look = asyncio.get_running_loop().run_in_executor(self._threads, see)
            await asyncio.wait([look], timeout=min(self.slow_s, patience_s))
        async with asyncio.timeout(max(0.0, patience_s - self.slow_s)):
            return await look

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
