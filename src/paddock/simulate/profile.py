"""A trace on a grid: what is always held, what rises above it, the mean CPU. Never too little."""

from __future__ import annotations

import math
from typing import NamedTuple

from paddock.simulate.trace import Trace


class Bump(NamedTuple):
    """Cells [start, end) of a run, counted from its start, and all that it holds in them."""

    start: int
    end: int
    level: int


class Profile(NamedTuple):
    cells: int
    base: int  # held in every cell
    bumps: list[Bump]
    cpu: int  # mean, in the smallest unit that is promised


def profile(trace: Trace, *, grid_s: float, cpu: int) -> Profile:
    """Rounded outwards: a cell that a phase only touches counts with all of it."""
    base = min(trace.levels_bytes, default=0)
    bumps: list[Bump] = []
    offset_s = 0.0
    for duration_s, level in zip(trace.durations_s, trace.levels_bytes, strict=True):
        start_s = offset_s
        offset_s += duration_s
        if level > base and duration_s > 0:
            _append(bumps, Bump(int(start_s / grid_s), math.ceil(offset_s / grid_s), level))
    return Profile(math.ceil(offset_s / grid_s), base, bumps, cpu)


def _append(bumps: list[Bump], bump: Bump) -> None:
    """Neighbours share at most the one cell in which the first ends: the higher has it."""
    while bumps and bump.start < bumps[-1].end:
        before = bumps.pop()
        if before.level >= bump.level:
            bumps.append(before)
            bump = bump._replace(start=before.end)
        elif before.start < bump.start:
            bumps.append(before._replace(end=bump.start))
    if bump.start < bump.end:
        bumps.append(bump)
