"""What a real machine adds to the simulated race: looks are late, freezing takes a moment, and
memory is slower to touch the less of it the hypervisor has at hand.

Measured in real races on a guest of two cores: looks 52 to 126 ms apart (94 of 100); memory touched
at 1.4 to 2.4 GB/s at one time, and at 0.4 to 0.8 at another, when the hypervisor had to find it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from lives import plans
from simulated import CPUS, LADDER, OWN_SHARE, STARTED_S, Watched, grown

from paddock.core.policy import Policy, SizingPolicy
from paddock.core.run import Attempt
from paddock.core.units import GIB, MIB
from paddock.simulate.tally import Tally
from paddock.simulate.trace import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    mib_per_s: tuple[int, int]  # that each agent touches
    look_s: float  # no sooner
    late_s: float  # later by so much at most, by a third of it on average
    freeze_s: float  # on average


NOISES = {
    "a quiet guest": Noise(mib_per_s=(1500, 2500), look_s=0.055, late_s=0.05, freeze_s=0.01),
    "late looks": Noise(mib_per_s=(1500, 2500), look_s=0.09, late_s=0.1, freeze_s=0.02),
    "slow memory": Noise(mib_per_s=(350, 900), look_s=0.055, late_s=0.05, freeze_s=0.01),
}


class Disturbed(Watched):
    def __init__(self, drawn: Sequence[Plan], policy: Policy, **facts: Any) -> None:
        self.noise: Noise = facts.pop("noise")
        self._random = Random(f"noise:{facts.pop('seed')}")
        self._freezing: dict[Attempt, float] = {}  # and when it stands still
        super().__init__(drawn, policy, cpus=CPUS, neighbour=((0.0, OWN_SHARE),), **facts)
        self.start_s, self.shortest_look_s = STARTED_S, self.noise.look_s

    def _tick(self) -> None:
        super()._tick()
        self._tick_at += self._random.random() ** 2 * self.noise.late_s

    def _freeze(self, attempt: Attempt) -> None:
        takes_s = self._random.uniform(0, 2 * self.noise.freeze_s)
        self._freezing.setdefault(attempt, self.now + takes_s)

    def _thaw(self, attempt: Attempt) -> None:
        self._freezing.pop(attempt, None)
        super()._thaw(attempt)

    def _next_at(self) -> float:
        return min([super()._next_at(), *self._freezing.values()])

    def _live_until_now(self) -> None:
        super()._live_until_now()
        for attempt in [one for one, at in self._freezing.items() if at <= self.now]:
            del self._freezing[attempt]
            super()._freeze(attempt)


def disturbed(noise: Noise, *, seed: int, day: int) -> Tally:
    """The race of one seed, after the day of another."""
    policy = Policy(
        total_bytes=8 * GIB,
        reserve_bytes=256 * MIB,
        ladder=LADDER,
        sizing=SizingPolicy(touches_per_hour=1800.0),
    )
    yesterday = Disturbed(_lives(noise, many=40, seed=day), policy, noise=noise, seed=f"{day}-")
    yesterday.run()
    history = yesterday.fleet.groups
    for group in history.values():
        group.rest()
    lives = _lives(noise, many=60, seed=seed)
    return Disturbed(lives, policy, noise=noise, seed=f"{seed}", history=history).run()


def _lives(noise: Noise, *, many: int, seed: int) -> list[Plan]:
    random = Random(f"touching:{seed}")
    return [
        replace(plan, traces=(grown(plan.traces[0], random.uniform(*noise.mib_per_s) * MIB),))
        for plan in plans(many=many, seed=seed)
    ]
