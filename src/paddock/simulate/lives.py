"""Lives of pretend agents: each function draws one attempt's memory and CPU over time."""

from __future__ import annotations

import math
from random import Random

from paddock.simulate.trace import Trace

MIB = 2**20
GIB = 2**30

Phases = list[tuple[float, int, float]]

# The bursty agent is fixed: what is measured on it must stay comparable. Not to be tuned.
BURSTY_BASE_BYTES = 185 * MIB
BURSTY_WALL_BYTES = 4 * GIB
BURST_EVERY_S = 30.0  # from start to start, on average
BURST_S = (1.0, 2.0)
BURST_MEAN_S = sum(BURST_S) / 2
BURST_MEDIAN_BYTES = 0.7 * GIB
BURST_P95_BYTES = 2.0 * GIB
BURST_SIGMA = math.log(BURST_P95_BYTES / BURST_MEDIAN_BYTES) / 1.6449  # 1.6449: normal p95
IDLE_CPUS = 0.1
BURST_CPUS = 1.0
BURSTY_LIFE_S = (6 * 60.0, 11 * 60.0)


def bursty(random: Random) -> Trace:
    """A coding agent: a small base, and tools that burst."""
    life_s = random.uniform(*BURSTY_LIFE_S)
    return Trace(bursts(random, life_s, median_bytes=BURST_MEDIAN_BYTES, wall=BURSTY_WALL_BYTES))


def bursts(random: Random, life_s: float, *, median_bytes: float, wall: int) -> Phases:
    """Base and bursts for so long; the last is cut by the end of the life."""
    phases: Phases = []
    location = math.log(median_bytes)
    quiet_rate = 1.0 / (BURST_EVERY_S - BURST_MEAN_S)
    left_s = life_s
    while True:
        quiet_s = random.expovariate(quiet_rate)
        if quiet_s >= left_s:
            phases.append((left_s, BURSTY_BASE_BYTES, IDLE_CPUS))
            return phases
        phases.append((quiet_s, BURSTY_BASE_BYTES, IDLE_CPUS))
        left_s -= quiet_s
        size = int(math.exp(random.gauss(location, BURST_SIGMA)))
        burst_s = min(left_s, random.uniform(*BURST_S))
        phases.append((burst_s, min(BURSTY_BASE_BYTES + size, wall), BURST_CPUS))
        left_s -= burst_s
        if left_s <= 0:
            return phases


def steady(random: Random) -> Trace:
    """Constant modest use: 600 to 700 MiB in small steps, three to eight minutes."""
    left_s = random.uniform(3 * 60.0, 8 * 60.0)
    level = random.randint(620, 680)
    phases: Phases = []
    while left_s > 0:
        step_s = min(left_s, random.uniform(20.0, 60.0))
        phases.append((step_s, level * MIB, 0.15))
        level = min(700, max(600, level + random.randint(-15, 15)))
        left_s -= step_s
    return Trace(phases)


def build(random: Random) -> Trace:
    """A compilation: configure on one core, plateaus of 2 to 6 GiB on several, link on one."""
    phases: Phases = [(random.uniform(15.0, 40.0), random.randint(200, 500) * MIB, 1.0)]
    for _ in range(random.randint(2, 4)):
        level = random.randint(2 * 1024, 6 * 1024) * MIB
        phases.append((random.uniform(60.0, 150.0), level, random.uniform(2.0, 6.0)))
    phases.append((random.uniform(10.0, 30.0), random.randint(3 * 1024, 6 * 1024) * MIB, 1.0))
    return Trace(phases)


def reviewer(random: Random) -> Trace:
    """A small agent that reads: two to five minutes, a few hundred MiB, now and then a search."""
    left_s = random.uniform(2 * 60.0, 5 * 60.0)
    base = random.randint(150, 220) * MIB
    phases: Phases = []
    while left_s > 0:
        quiet_s = min(left_s, random.expovariate(1 / 40.0))
        search_s = min(left_s - quiet_s, random.uniform(1.0, 3.0))
        phases.append((quiet_s, base, 0.08))
        if search_s > 0:
            phases.append((search_s, base + random.randint(50, 600) * MIB, 1.0))
        left_s -= quiet_s + search_s
    return Trace(phases)


def tester(random: Random, *, wall_bytes: int) -> Trace:
    """An agent that runs a test suite: reads a little, then a plateau of a minute on two cores."""
    reading = bursts(
        random, random.uniform(60.0, 180.0), median_bytes=BURST_MEDIAN_BYTES / 2, wall=wall_bytes
    )
    level = min(wall_bytes, int(random.uniform(1.0, 3.5) * GIB))
    suite: Phases = [(random.uniform(30.0, 90.0), level, random.uniform(1.0, 2.0))]
    writing: Phases = [(random.uniform(20.0, 60.0), BURSTY_BASE_BYTES, IDLE_CPUS)]
    return Trace(reading + suite + writing)


def installer(random: Random, *, wall_bytes: int) -> Trace:
    """An agent that installs first: all of its kind burst in the same seconds of their lives."""
    opening: Phases = [(random.uniform(2.0, 4.0), BURSTY_BASE_BYTES, IDLE_CPUS)]
    for _ in range(2):
        level = min(wall_bytes, BURSTY_BASE_BYTES + int(random.uniform(0.8, 2.5) * GIB))
        opening.append((random.uniform(4.0, 8.0), level, BURST_CPUS))
        opening.append((random.uniform(1.0, 2.0), 2 * BURSTY_BASE_BYTES, 0.3))
    life_s = random.uniform(4 * 60.0, 8 * 60.0)
    return Trace(opening + bursts(random, life_s, median_bytes=BURST_MEDIAN_BYTES, wall=wall_bytes))


def leak(random: Random, *, from_bytes: int, to_bytes: int) -> Trace:
    """Memory that grows from one size to another in steps of ten seconds, six to eleven minutes."""
    steps = round(random.uniform(*BURSTY_LIFE_S) / 10)
    growth = (to_bytes - from_bytes) / steps
    return Trace((10.0, from_bytes + int(growth * i), 0.12) for i in range(steps + 1))
