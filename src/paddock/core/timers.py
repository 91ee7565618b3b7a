"""What waits for time. A timer that nobody needs any more is thrown out when it is met."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple


class TimerKind(IntEnum):
    RUN = 0
    BREAKER = 1
    HEARTBEAT = 2
    WAKE = 3  # look at the queue again


class Timer(NamedTuple):
    at: float
    kind: TimerKind
    key: str


class Timers:
    """A heap of timers; `needed` tells which of them still mean something."""

    __slots__ = ("_heap", "_most", "_needed")

    def __init__(self, needed: Callable[[Timer], bool]) -> None:
        self._heap: list[Timer] = []
        self._needed = needed
        self._most = 64  # then those that are not needed any more are thrown out

    def add(self, timer: Timer) -> None:
        heapq.heappush(self._heap, timer)
        if len(self._heap) > self._most:
            self._heap = [each for each in set(self._heap) if self._needed(each)]
            heapq.heapify(self._heap)
            self._most = 64 + 2 * len(self._heap)

    def first(self) -> Timer | None:
        heap = self._heap
        while heap and not self._needed(heap[0]):
            heapq.heappop(heap)
        return heap[0] if heap else None

    def pop(self) -> Timer:
        return heapq.heappop(self._heap)
