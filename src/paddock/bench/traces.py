"""Traces for players: of the simulator's shapes, of a user's own history, rotated and squeezed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

from paddock.simulate.trace import Phase, Trace
from paddock.simulate.workloads import plans

PLAYER: Final = Path(__file__).with_name("player.py")
FASTEST: Final = 8.0
SHORTEST_S: Final = 0.02  # a phase that is shorter is not seen


def command(path: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", str(PLAYER), path)


def shape(name: str, *, seed: int, many: int) -> list[Trace]:
    """First attempts of a simulated workload."""
    return [plan.traces[0] for plan in plans(name, runs=many, seed=seed)]


def rotated(trace: Trace, random: Random) -> Trace:
    """From a random point of it on, and what came before at the end: whoever looks at a host finds
    its agents anywhere in their lives."""
    phases = list(trace.phases)
    at_s = random.uniform(0, trace.duration_s)
    head: list[Phase] = []
    while phases and phases[0].duration_s <= at_s:
        at_s -= phases[0].duration_s
        head.append(phases.pop(0))
    if phases:
        first = phases.pop(0)
        rest = first._replace(duration_s=first.duration_s - at_s)
        phases = [rest, *phases, *head, first._replace(duration_s=at_s)]
    return Trace([phase for phase in phases or head if phase.duration_s > 0], trace.exit_code)


def squeezed(trace: Trace, *, into_s: float) -> Trace:
    """As much of its life as can be played in so much time, and not more than `FASTEST` times as
    quick: memory takes its time to be touched, and bursts that are too short would last longer
    than their share. Where several phases become one, the highest counts."""
    factor = max(1 / FASTEST, into_s / trace.duration_s) if trace.duration_s else 1.0
    found: list[Phase] = []
    left, room_s = Phase(0.0, 0, 0.0), into_s
    for phase in trace.phases:
        more_s = min(phase.duration_s * factor, room_s)
        room_s -= more_s
        longer = left.duration_s + more_s
        left = Phase(longer, max(left.bytes, phase.bytes), max(left.cpus, phase.cpus))
        if longer >= SHORTEST_S or room_s <= 0:
            found.append(left)
            left = Phase(0.0, 0, 0.0)
        if room_s <= 0:
            break
    if left.duration_s > 0:
        found.append(left)
    return Trace(found, trace.exit_code)


def of_levels(levels: Sequence[tuple[int, float]], random: Random, *, phases: int = 40) -> Trace:
    """A life drawn from how long each size was used: (bytes, weight)."""
    sizes, weights = zip(*levels, strict=True)
    drawn = random.choices(sizes, weights=weights, k=phases)
    return Trace([(1.0, size, 0.0) for size in drawn])


def lines(trace: Trace) -> str:
    """As a player reads it."""
    return "".join(f"{p.duration_s:.4f} {p.bytes} {p.cpus:.2f}\n" for p in trace.phases)
