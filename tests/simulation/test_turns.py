"""Bursts that take turns, on a host of 8 GiB: nobody is stopped or killed who could wait.

The lives are like those of the race (`bench/peers`): 185 MiB alone, then 400 to 1000, and bursts of
up to 2 GiB for 1 to 2 s. Memory is touched at a pace of its own, and looks come every 55 to 105 ms,
as the daemon's do.
"""

from __future__ import annotations

from random import Random

import pytest

from paddock.core.group import Group
from paddock.core.policy import LadderPolicy, Policy, SizingPolicy
from paddock.core.units import GIB, MIB
from paddock.simulate.tally import Tally
from paddock.simulate.trace import Plan, Trace
from paddock.simulate.world import World

STEP_S = 0.05
LIMIT = 2304 * MIB
LADDER = LadderPolicy(skip_low=80, queue=94, preempt=95, emergency=96)
FAST, SLOW = (1500, 2500), (350, 900)  # MiB a second, as seen on a real guest


class Looked(World):
    """Looks are late now and then."""

    late = Random("late")

    def _tick(self) -> None:
        super()._tick()
        self._tick_at = self.now + 0.055 + 0.05 * self.late.random() ** 2


def a_life(random: Random, mib_per_s: tuple[int, int]) -> Trace:
    tree = random.randint(400, 1000) * MIB
    wanted = [(random.uniform(1.0, 2.0), 185 * MIB)]
    left_s = random.uniform(6.0, 10.0)
    while left_s > 0:
        quiet_s = min(left_s, random.expovariate(1 / 28.5))
        burst_s = min(left_s - quiet_s, random.uniform(1.0, 2.0))
        burst = 185 * MIB + int(random.uniform(0.5, 2.0) * GIB)
        wanted += [(quiet_s, tree), (burst_s, max(tree, burst))]
        left_s -= quiet_s + burst_s
    return _touched(wanted, int(random.uniform(*mib_per_s) * MIB * STEP_S))


def _touched(wanted: list[tuple[float, int]], most: int) -> Trace:
    phases: list[tuple[float, int, float]] = []
    held = 0
    for seconds, level in wanted:
        if seconds <= 0:
            continue
        while level - held > most:
            held += most
            phases.append((STEP_S, held, 0.0))
        phases.append((seconds, level, 0.0))
        held = level
    return Trace(phases)


def raced(
    many: int, seed: str, mib_per_s: tuple[int, int], history: dict[str, Group] | None = None
) -> Looked:
    random = Random(seed)
    plans = [
        Plan(f"r{n:02}", 0.0, "race", 2, LIMIT, (), (a_life(random, mib_per_s),), 0)
        for n in range(many)
    ]
    sizing = SizingPolicy(touches_per_hour=1800.0)
    policy = Policy(total_bytes=8 * GIB, reserve_bytes=256 * MIB, ladder=LADDER, sizing=sizing)
    world = Looked(plans, policy, cpus=100, neighbour=((0.0, 0.012),), history=history)
    world.start_s, world.late = 0.1, Random(seed)
    return world


def after_a_day(seed: int, mib_per_s: tuple[int, int]) -> Tally:
    yesterday = raced(40, f"yesterday:{seed}", mib_per_s)
    yesterday.run()
    for group in yesterday.fleet.groups.values():
        group.rest()
    return raced(60, f"today:{seed}", mib_per_s, yesterday.fleet.groups).run()


@pytest.mark.parametrize("mib_per_s", [FAST, SLOW], ids=["fast", "slow"])
@pytest.mark.parametrize("seed", range(6, 12))
def test_nobody_is_stopped_or_killed(seed: int, mib_per_s: tuple[int, int]) -> None:
    found = after_a_day(seed, mib_per_s)
    assert found.ended == 60
    assert (found.oom_kills, found.preemptions, found.work_lost_s) == (0, 0, 0.0)
    assert found.agent_seconds / found.makespan_s > 7, "three fit by their limits"
