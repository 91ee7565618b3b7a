"""The cost of a step at 1,000 to 100,000 queued runs: a submit, and an exit with its start.

Target: at 100,000 at most 3 times what it costs at 1,000.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from ground import keep

from paddock.core.actions import StartAttempt
from paddock.core.events import Exited, Host, Sampled, Started, Submitted
from paddock.core.fleet import Fleet
from paddock.core.policy import Admission, Policy
from paddock.core.run import Attempt, Exit, Priority, RunSpec
from paddock.core.step import step
from paddock.core.units import GIB

DEPTHS = (1_000, 10_000, 100_000)
REPEATS = 2_000
TARGET = 3.0


class Bench:
    """A full host of 1,536 GiB with a queue of the given depth, in twelve groups."""

    def __init__(self, depth: int) -> None:
        total = 1536 * GIB
        policy = Policy(
            total_bytes=total,
            reserve_bytes=232 * GIB,
            queue_depth=10**7,
            admission=Admission.GUARANTEED,
            stale_s=1e9,
            max_preemptions=0,  # looked for each time, never found: the stops are not the question
        )
        self.fleet = Fleet(policy)
        self.live: list[Attempt] = []
        self.now = 0.0
        self.number = 0
        step(self.fleet, Sampled(0.0, Host(total, 0.0, total)))
        while self.fleet.waiting < depth:
            self.submit()

    def spec(self) -> RunSpec:
        self.number += 1
        return RunSpec(
            id=f"r{self.number}",
            name=f"r{self.number}",
            group=f"g{self.number % 12}",
            limit_bytes=(2 + self.number % 4) * GIB,
            priority=Priority(self.number % 4),
        )

    def submit(self) -> None:
        self.now += 0.001
        self.take(Submitted(self.now, (self.spec(),)))

    def exit(self) -> None:
        """One ends, the next in line starts, and reports that it runs."""
        self.now += 0.5
        self.take(Exited(self.now, self.live.pop(0), Exit(code=0)))

    def take(self, event: Submitted | Exited | Started) -> None:
        for action in step(self.fleet, event):
            if isinstance(action, StartAttempt):
                self.live.append(action.attempt)
                step(self.fleet, Started(self.now, action.attempt))


def median_us(act: Callable[[], None], undo: Callable[[], None]) -> float:
    """Of `act` alone; `undo` keeps the queue as long as it was."""
    taken = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        act()
        taken.append(time.perf_counter() - begun)
        undo()
    return statistics.median(taken) * 1e6


def main() -> int:
    print(f"{'queued':>8}  {'submit':>10}  {'exit + start':>12}")
    costs: dict[int, tuple[float, float]] = {}
    for depth in DEPTHS:
        bench = Bench(depth)
        submit_us = median_us(bench.submit, bench.exit)
        costs[depth] = (submit_us, median_us(bench.exit, bench.submit))
        print(f"{depth:>8}  {costs[depth][0]:>7.1f} µs  {costs[depth][1]:>9.1f} µs")
    few, many = costs[DEPTHS[0]], costs[DEPTHS[-1]]
    ratios = [b / a for a, b in zip(few, many, strict=True)]
    print(f"   ratio  {ratios[0]:>10.2f}  {ratios[1]:>12.2f}   (target: at most {TARGET:g})")
    keep("step_cost", {"submit": ratios[0], "exit_and_start": ratios[1]})
    return 0 if max(ratios) <= TARGET else 1


if __name__ == "__main__":
    sys.exit(main())
