"""The ladder as rescue needs it: which step the host is at, and how much must come free.

The same numbers and sentences as `core.policy` and `core.pressure`, whose imports take 35 ms; tests
hold both to each other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from paddock.core.units import MIB, format_size

from .memory import Reading
from .records import object_in

CALM, SKIP_LOW, QUEUE, PREEMPT, EMERGENCY = "calm", "skip_low", "queue", "preempt", "emergency"
# Bursts of real agents' tools were measured at up to 3 GB/s.
GROWTH_BYTES_PER_S = 3_000_000_000
SHORTEST_S = 0.05


class Ladder(NamedTuple):
    """What is in force, as the daemon left it in `keeper/ladder`; else what is built in."""

    skip_low: float = 70.0
    queue: float = 80.0
    preempt: float = 85.0
    emergency: float = 95.0
    relief_target: float = 75.0
    skip_low_free_bytes: int = 640 * MIB
    queue_free_bytes: int = 512 * MIB
    preempt_free_bytes: int = 384 * MIB
    emergency_free_bytes: int = 192 * MIB
    kill_round_s: float = 5.0


class Goal(NamedTuple):
    """Where relief ends: at most so much of the memory in use, and at least so much left."""

    percent: float
    free_bytes: int = 0

    def over_bytes(self, reading: Reading) -> float:
        """What must still come free; nothing, or less, once it is reached."""
        assert reading.used_percent is not None and reading.available_bytes is not None
        over = reading.total_bytes * (reading.used_percent - self.percent) / 100
        return max(over, self.free_bytes - reading.available_bytes)


def read_ladder(path: str) -> Ladder:
    """Whatever is not there, or is no number, is as built in: nobody may be left without one."""
    said = object_in(path)
    known = {name: said[name] for name in Ladder._fields if _is_number(said.get(name))}
    return Ladder(**known)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1 << 60


def relief_goal(ladder: Ladder) -> Goal:
    """Of an emergency, as the core has it."""
    return Goal(ladder.relief_target, ladder.skip_low_free_bytes)


def step_of(reading: Reading, ladder: Ladder) -> tuple[str, str]:
    """The step and why, without hysteresis: what the host says now."""
    if reading.used_percent is None or reading.available_bytes is None:
        return QUEUE, "the host's memory cannot be read"
    steps = (
        (EMERGENCY, ladder.emergency, ladder.emergency_free_bytes),
        (PREEMPT, ladder.preempt, ladder.preempt_free_bytes),
        (QUEUE, ladder.queue, ladder.queue_free_bytes),
        (SKIP_LOW, ladder.skip_low, ladder.skip_low_free_bytes),
    )
    for step, percent, floor_bytes in steps:
        if reading.used_percent >= percent:
            return step, f"host memory at {reading.used_percent:.0f} % (step at {percent:.0f} %)"
        if reading.available_bytes <= floor_bytes:
            free, floor = format_size(reading.available_bytes), format_size(floor_bytes)
            return step, f"only {free} of host memory free (floor {floor})"
    return CALM, ""


def rest_s(reading: Reading, ladder: Ladder, *, longest_s: float) -> float:
    """How long whoever may have to kill can look away: as long as the fastest growth needs."""
    if reading.available_bytes is None:
        return min(SHORTEST_S, longest_s)
    by_percent = reading.total_bytes * (100.0 - ladder.emergency) / 100.0
    left = reading.available_bytes - max(by_percent, ladder.emergency_free_bytes)
    return min(longest_s, max(SHORTEST_S, left / GROWTH_BYTES_PER_S))
