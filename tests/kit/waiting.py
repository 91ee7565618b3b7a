"""Waiting for a condition instead of sleeping."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")
FIRST_S, GROWS = 0.005, 1.1
LONGEST_S = 0.25 if "PADDOCK_GUEST" in os.environ else 0.05  # there one look may take 50 ms


def until(condition: Callable[[], T | None], within_s: float = 30.0) -> T:
    """The first true answer; a failed test if there is none in time."""
    deadline, pauses = time.monotonic() + within_s, pauses_s()
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"not within {within_s} s: {condition}"
        time.sleep(next(pauses))


def pauses_s() -> Iterator[float]:
    """Longer and longer: who looks all the time holds up what it waits for."""
    pause_s = FIRST_S
    while True:
        yield pause_s
        pause_s = min(pause_s * GROWS, LONGEST_S)
