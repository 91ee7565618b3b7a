"""The answer to a what-if question: one simulated fleet against what was possible at best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from paddock.core.group import Group
from paddock.core.policy import Policy
from paddock.core.run import Outcome
from paddock.core.submission import cannot_ever_fit
from paddock.simulate.beside import beside
from paddock.simulate.bounds import lower_bound_s
from paddock.simulate.clairvoyant import clairvoyant_s
from paddock.simulate.host import QUIET, ROUGH
from paddock.simulate.tally import Tally
from paddock.simulate.trace import Plan
from paddock.simulate.workloads import plans as plans_of
from paddock.simulate.world import Progress, World

MANY_RUNS = 2_000  # from here on a second process is worth its start
WARM_UP_RUNS = 200
WARM_UP_SEED = 7_000_003  # far from anything a user would choose, so it is never the same fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    workload: str
    runs: int
    seed: int
    policy: Policy
    cpus: float
    warm: bool = False  # the host has run this workload before and knows its sizes
    fleet: str | None = None  # where the runs are a fleet file's; then they are in `plans`
    plans: tuple[Plan, ...] = ()

    def all_plans(self) -> list[Plan]:
        if self.fleet is not None:
            return list(self.plans)
        return plans_of(self.workload, runs=self.runs, seed=self.seed)


@dataclass(frozen=True, slots=True)
class Answer:
    question: Question
    tally: Tally
    peak_bytes: int
    lower_bound_s: float
    clairvoyant_s: float

    @property
    def lost(self) -> int:
        return self.tally.taken - self.tally.ended

    def as_json(self) -> dict[str, Any]:
        """Keys are only ever added. Nothing here depends on how long the simulation took."""
        tally, question = self.tally, self.question
        policy = question.policy
        return {
            "workload": question.workload,
            "fleet": question.fleet,
            "runs": question.runs,
            "seed": question.seed,
            "admission": str(policy.admission),
            "warm": question.warm,
            "total_bytes": policy.total_bytes,
            "host_reserve_bytes": policy.reserve_bytes,
            "wall_bytes": policy.wall_bytes,
            "cpus": question.cpus,
            "makespan_s": round(tally.makespan_s, 3),
            "lower_bound_s": round(self.lower_bound_s, 3),
            "clairvoyant_s": round(self.clairvoyant_s, 3),
            "wait_s": {"p50": round(tally.wait(0.5), 3), "p95": round(tally.wait(0.95), 3)},
            "peak_bytes": self.peak_bytes,
            "peak_agents": tally.peak_agents,
            "mean_agents": round(tally.agent_seconds / max(tally.makespan_s, 1e-9), 2),
            "mean_cpus": round(tally.cpu_seconds / max(tally.makespan_s, 1e-9), 2),
            "completed": tally.outcomes[Outcome.SUCCEEDED],
            "outcomes": {str(o): tally.outcomes[o] for o in Outcome if tally.outcomes[o]},
            "refused": tally.refused,
            "lost": self.lost,
            "attempts": tally.attempts,
            "preemptions": tally.preemptions,
            "oom_kills": tally.oom_kills,
            "wall_touches": tally.wall_touches,
            "host_ooms": tally.host_ooms,
            "work_lost_s": round(tally.work_lost_s, 3),
            "ladder_because": tally.pressed_because,
            "ladder_s": {r.name.lower(): tally.rungs_s[r] for r in sorted(tally.rungs_s)},
        }


class CannotFit(Exception):
    """A run of the workload is larger than the whole fleet may be."""


def answer(question: Question, *, progress: Progress | None = None) -> Answer:
    plans = question.all_plans()
    _check_fit(plans, question)
    with _at_best(question, plans) as at_best:
        world = _world(plans, question, history=_history(question) if question.warm else None)
        tally = world.run(progress)
        bound_s, best_s = at_best()
    return Answer(question, tally, world.machine.peak_bytes, bound_s, best_s)


@contextmanager
def _at_best(question: Question, plans: list[Plan]) -> Iterator[Callable[[], tuple[float, float]]]:
    """The lower bound and the clairvoyant's time; of large questions worked out beside the rest."""
    if question.runs < MANY_RUNS:
        yield lambda: _best_of(question, plans)
        return
    with beside(_best_of, question) as best:
        yield best


def _best_of(question: Question, plans: list[Plan] | None = None) -> tuple[float, float]:
    if plans is None:  # in another process: quicker made again than sent
        plans = question.all_plans()
    wall, cpus = question.policy.wall_bytes, question.cpus
    bound_s = lower_bound_s(plans, capacity_bytes=wall, cpus=cpus)
    return bound_s, clairvoyant_s(plans, capacity_bytes=wall, cpus=cpus)


def _check_fit(plans: list[Plan], question: Question) -> None:
    largest = max(plans, key=lambda plan: plan.limit_bytes)
    problem = cannot_ever_fit(largest.limit_bytes, question.policy)
    if problem is not None:
        what = "a run" if question.fleet is None else largest.name
        name = question.fleet or question.workload
        raise CannotFit(f"{name}: {what} cannot be started, {problem}")


def _world(plans: list[Plan], question: Question, history: dict[str, Group] | None) -> World:
    neighbour = ROUGH if question.workload == "storm" else QUIET
    return World(plans, question.policy, cpus=question.cpus, neighbour=neighbour, history=history)


def _history(question: Question) -> dict[str, Group]:
    """What a host knows after other runs of the same workload."""
    plans = plans_of(question.workload, runs=WARM_UP_RUNS, seed=question.seed + WARM_UP_SEED)
    world = _world(plans, question, history=None)
    world.run()
    for group in world.fleet.groups.values():
        group.rest()
    return world.fleet.groups
