"""Sixty lives for the race, drawn from what others measured on real coding agents.

- the framework alone: 185 MB; with what it starts around itself, the whole tree: median 660 MB
- tools of it burst to 0.5 to 2 GB above the framework, for 1 to 2 s, every half minute or so

Memory and time are as measured, nothing is scaled; only the lives are short, 8 to 12 s instead of
minutes: each agent lives a stretch of a real one. CPU is not played: what touching costs is real,
and the rest would only measure the neighbours of this machine.
"""

from __future__ import annotations

import math
from random import Random

from paddock.core.units import GIB, MIB
from paddock.simulate.trace import Plan, Trace

FRAMEWORK_BYTES = 185 * MIB
FRAMEWORK_S = (1.0, 2.0)  # alone at the beginning
TREE_MEDIAN_MIB, TREE_SPREAD, TREE_MIB = 660, 0.25, (400, 1000)
BURST_EVERY_S = 28.5  # from the end of one to the begin of the next
BURST_S = (1.0, 2.0)
BURST_GIB = (0.5, 2.0)
LIFE_S = (8.0, 12.0)
# What a careful user says of such an agent: framework and the largest burst, and a little.
LIMIT_BYTES = 2304 * MIB
NORMAL = 2


def life(random: Random) -> Trace:
    phases = [(random.uniform(*FRAMEWORK_S), FRAMEWORK_BYTES, 0.0)]
    spread = math.exp(random.gauss(0.0, TREE_SPREAD))
    tree = int(min(max(TREE_MEDIAN_MIB * spread, TREE_MIB[0]), TREE_MIB[1])) * MIB
    left_s = random.uniform(*LIFE_S) - phases[0][0]
    while left_s > 0:
        quiet_s = min(left_s, random.expovariate(1 / BURST_EVERY_S))
        phases.append((quiet_s, tree, 0.0))
        left_s -= quiet_s
        burst_s = min(left_s, random.uniform(*BURST_S))
        size = FRAMEWORK_BYTES + int(random.uniform(*BURST_GIB) * GIB)
        if burst_s > 0:
            phases.append((burst_s, max(tree, size), 0.0))
        left_s -= burst_s
    return Trace(phases)


def plans(*, many: int, seed: int) -> list[Plan]:
    random = Random(f"race:{seed}")
    lives = [life(random) for _ in range(many)]
    return [
        Plan(f"agent-{n:02}", 0.0, "race", NORMAL, LIMIT_BYTES, (), (one,), 0)
        for n, one in enumerate(lives, start=1)
    ]
