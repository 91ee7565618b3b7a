"""paddock's part of the race on a virtual clock: many seeds and risks in a minute, no noise.

`python bench/peers/simulated.py [--noise [FIRST LAST]]`. The very scheduler, agents whose bursts
grow at 2 GB/s as touching does, looks as the daemon makes them, but none sooner than 100 ms. What
it shows is how much risk the hold of bursts can bear: the ratio to the clairvoyant scheduler, and
who was killed or stopped. With `--noise`: likewise where looks are late and memory is slow.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from bounds import at_best
from lives import plans

from paddock.core.policy import LadderPolicy, Policy, SizingPolicy
from paddock.core.units import GIB, MIB
from paddock.host.pace import next_look_s
from paddock.simulate.tally import Tally
from paddock.simulate.trace import Plan, Trace
from paddock.simulate.world import World
from paddock.supervisor.eyes import bursts_at_once, waits_for_a_look

GROWTH_BYTES_PER_S, STEP_S, SHORTEST_LOOK_S = 2000 * MIB, 0.05, 0.1
STARTED_S = 0.1  # what it takes a small Python to begin
CPUS, OWN_SHARE = 100.0, 0.012  # what daemon and keeper take of the ceiling
RISKS = (0.001, 60.0, 200.0, 600.0, 900.0, 1800.0, 3000.0)
SEEDS = range(1, 13)
# As in the configuration of the race.
LADDER = LadderPolicy(skip_low=80, queue=94, preempt=95, emergency=96)


class Watched(World):
    """The nearer the last step is, the sooner it is looked at again, as by the daemon."""

    shortest_look_s = SHORTEST_LOOK_S

    def _tick(self) -> None:
        super()._tick()
        machine, fleet = self.machine, self.fleet
        left = machine.total_bytes - machine.used_bytes - machine.other_bytes
        at_once, ladder = bursts_at_once(fleet), fleet.policy.ladder
        soon_s = next_look_s(left, machine.total_bytes, at_once=at_once, ladder=ladder)
        soon_s = 0.0 if waits_for_a_look(fleet) else soon_s
        self._tick_at = self.now + max(self.shortest_look_s, soon_s)


def grown(trace: Trace, bytes_per_s: float = GROWTH_BYTES_PER_S) -> Trace:
    """The same life, with bursts that take their time to grow."""
    most, held = int(bytes_per_s * STEP_S), 0
    phases: list[tuple[float, int, float]] = []
    for duration_s, level, cpus in trace.phases:
        while level - held > most:
            held += most
            phases.append((STEP_S, held, cpus))
        phases.append((duration_s, level, cpus))
        held = level
    return Trace(phases)


def lives(*, many: int, seed: int) -> list[Plan]:
    drawn = plans(many=many, seed=seed)
    return [replace(plan, traces=(grown(plan.traces[0]),)) for plan in drawn]


def world(drawn: list[Plan], policy: Policy, before: World | None = None) -> World:
    history = None
    if before is not None:
        history = before.fleet.groups
        for group in history.values():
            group.rest()
    neighbour = ((0.0, OWN_SHARE),)
    made = Watched(drawn, policy, cpus=CPUS, neighbour=neighbour, history=history)
    made.start_s = STARTED_S
    return made


def raced(*, seed: int, risk: float, warm: bool) -> Tally:
    policy = Policy(
        total_bytes=8 * GIB,
        reserve_bytes=256 * MIB,
        ladder=LADDER,
        sizing=SizingPolicy(touches_per_hour=risk),
    )
    yesterday = None
    if warm:
        yesterday = world(lives(many=40, seed=seed + 100), policy)
        yesterday.run()
    return world(lives(many=60, seed=seed), policy, yesterday).run()


def with_noise(seeds: range) -> None:
    from noise import NOISES, disturbed

    best = {seed: at_best(plans(many=60, seed=seed), 8 * GIB)["clairvoyant_s"] for seed in seeds}
    for name, noise in NOISES.items():
        found = {seed: disturbed(noise, seed=seed, day=seed + 100) for seed in seeds}
        ratios = [one.makespan_s / best[seed] for seed, one in found.items()]
        killed = sum(one.oom_kills for one in found.values())
        stopped = sum(one.preemptions for one in found.values())
        mean = sum(ratios) / len(ratios)
        print(
            f"{name:<15} {min(ratios):5.2f} to {max(ratios):4.2f}, {mean:5.3f} on average; "
            f"{killed} killed, {stopped} stopped of {60 * len(seeds)}",
            flush=True,
        )


def main(words: list[str]) -> int:
    if words[:1] == ["--noise"]:
        first, last = map(int, words[1:] or (1, 12))
        with_noise(range(first, last + 1))
        return 0
    best = {seed: at_best(plans(many=60, seed=seed), 8 * GIB) for seed in SEEDS}
    fixed = [one["best_number_s"] / one["clairvoyant_s"] for one in best.values()]
    print(f"the best fixed number, found afterwards: {min(fixed):.2f} to {max(fixed):.2f} ×")
    print("touches an hour  sizes   × clairvoyant  agents at once  killed  stopped")
    for risk in RISKS:
        for warm in (False, True):
            found = {seed: raced(seed=seed, risk=risk, warm=warm) for seed in SEEDS}
            ratios = [one.makespan_s / best[seed]["clairvoyant_s"] for seed, one in found.items()]
            at_once = [one.agent_seconds / one.makespan_s for one in found.values()]
            killed = sum(one.oom_kills for one in found.values())
            stopped = sum(one.preemptions for one in found.values())
            print(
                f"{risk:>15g}  {'known' if warm else 'not':<5}  {min(ratios):5.2f} to "
                f"{max(ratios):4.2f}  {sum(at_once) / len(at_once):14.1f}  {killed:6}  {stopped:7}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
