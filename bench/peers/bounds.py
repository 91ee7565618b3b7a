"""What was possible at best on the same lives: worked out, not run."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import accumulate

from paddock.simulate.bounds import lower_bound_s
from paddock.simulate.clairvoyant import clairvoyant_s
from paddock.simulate.trace import Plan

CPUS = 1000.0  # lives of the race take none
OWN_BYTES = 64 << 20  # of the shells and of whoever starts them


def at_best(plans: Sequence[Plan], ceiling_bytes: int) -> dict[str, float]:
    number, fixed_s = best_number(plans, ceiling_bytes)
    return {
        "lower_bound_s": lower_bound_s(plans, capacity_bytes=ceiling_bytes, cpus=CPUS),
        "clairvoyant_s": clairvoyant_s(plans, capacity_bytes=ceiling_bytes, cpus=CPUS),
        "best_number": number,
        "best_number_s": fixed_s,
    }


def best_number(plans: Sequence[Plan], ceiling_bytes: int) -> tuple[int, float]:
    """The largest fixed number at once that would not have met the ceiling. Nobody can know it
    before: one more burst at another moment, and it is another."""
    at_once, took_s = 1, fixed(plans, 1)[0]
    while at_once < len(plans):
        next_s, peak = fixed(plans, at_once + 1)
        if peak > ceiling_bytes - OWN_BYTES:
            break
        at_once, took_s = at_once + 1, next_s
    return at_once, took_s


def fixed(plans: Sequence[Plan], at_once: int) -> tuple[float, int]:
    """How long so many at once take, first come first served, and the highest sum of their use."""
    ends: list[float] = [0.0] * at_once
    changes: list[tuple[float, int]] = []
    for plan in plans:
        at = heapq.heappop(ends)
        held = 0
        for duration_s, level, _ in plan.traces[0].phases:
            changes.append((at, level - held))
            at, held = at + duration_s, level
        changes.append((at, -held))
        heapq.heappush(ends, at)
    # At the same moment what is given back comes first.
    return max(ends), max(accumulate(grown for _, grown in sorted(changes)))
