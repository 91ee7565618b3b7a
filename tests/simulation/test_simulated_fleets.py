"""Thousands of pretend agents on the virtual clock, scheduled by the real `step`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paddock.core.events import Event
from paddock.core.invariants import violations
from paddock.core.policy import Admission, Policy, SizingPolicy
from paddock.core.pressure import Rung
from paddock.core.run import Outcome, Running
from paddock.core.units import GIB
from paddock.simulate.host import ROUGH
from paddock.simulate.report import CannotFit, Question, answer
from paddock.simulate.workloads import WORKLOADS, plans
from paddock.simulate.world import World

RUNS = 150


def a_question(workload: str, **changed: Any) -> Question:
    policy = a_policy(**changed.pop("policy", {}))
    facts = {"workload": workload, "runs": RUNS, "seed": 1, "cpus": 8.0, **changed}
    return Question(policy=policy, **facts)


def a_policy(**changed: Any) -> Policy:
    facts = {"total_bytes": 64 * GIB, "reserve_bytes": 32 * GIB, "queue_depth": 100_000}
    return Policy(**{**facts, **changed})


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_same_seed_gives_the_same_bytes(workload: str) -> None:
    first, second = (json.dumps(answer(a_question(workload)).as_json()) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("workload", WORKLOADS)
def test_no_run_is_lost_and_no_host_dies(workload: str) -> None:
    facts = answer(a_question(workload, seed=2)).as_json()
    assert facts["lost"] == 0
    assert sum(facts["outcomes"].values()) == RUNS
    assert facts["host_ooms"] == 0


@pytest.mark.parametrize("workload", sorted(WORKLOADS.keys() - {"leaky"}))
def test_every_run_of_a_healthy_workload_completes(workload: str) -> None:
    assert answer(a_question(workload, seed=3)).as_json()["completed"] == RUNS


@pytest.mark.parametrize("admission", Admission)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_fleet_is_sound_after_every_single_step(workload: str, admission: Admission) -> None:
    class Checked(World):
        def _step(self, event: Event) -> None:
            super()._step(event)
            assert violations(self.fleet) == []

    few = plans(workload, runs=40, seed=4)
    neighbour = ROUGH if workload == "storm" else ((0.0, 0.02),)
    tally = Checked(few, a_policy(admission=admission), cpus=8, neighbour=neighbour).run()
    assert tally.ended == 40


@pytest.mark.parametrize("workload", WORKLOADS)
def test_a_fleet_whose_bursts_take_turns_keeps_every_promise(workload: str) -> None:
    class Promised(World):
        def _step(self, event: Event) -> None:
            super()._step(event)
            assert violations(self.fleet) == []
            for run in self.fleet.live_runs():
                if isinstance(run.state, Running) and run.state.frozen:
                    assert self.now - run.state.frozen_at <= 70, f"{run.id} stands still"

    few = plans(workload, runs=40, seed=4)
    world = Promised(few, a_policy(sizing=SizingPolicy(touches_per_hour=1800.0)), cpus=8)
    world.tick_s = 0.1
    assert world.run().ended == 40


def test_on_8_cores_learned_sizes_halve_the_time_and_come_near_the_clairvoyant() -> None:
    """With more cores memory is the bound, and nobody without foresight comes so near: see
    docs/decisions/0002 and bench/bench_learned.py.
    """
    runs = 300
    full = answer(a_question("bursty", runs=runs, policy={"admission": Admission.GUARANTEED}))
    learned = answer(a_question("bursty", runs=runs, warm=True))
    assert learned.tally.makespan_s <= 0.5 * full.tally.makespan_s
    assert learned.tally.makespan_s <= 1.3 * learned.clairvoyant_s
    assert learned.tally.wall_touches == 0
    assert learned.tally.host_ooms == 0


def test_the_wall_is_touched_no_more_often_than_the_risk_says() -> None:
    """At a thousand times the default risk touches are expected, and may be counted."""
    hours = 0.0
    touches = 0
    for seed in range(6):
        sizing = {"sizing": a_policy().sizing.__class__(touches_per_hour=1.0)}
        found = answer(a_question("bursty", runs=300, seed=seed, cpus=64, warm=True, policy=sizing))
        hours += found.tally.makespan_s / 3600
        touches += found.tally.wall_touches
    # Allowed: one an hour. More than twice that in this many hours would be no accident.
    assert touches <= 2 * hours


def test_agents_that_start_together_and_install_together_do_not_break_the_wall() -> None:
    found = answer(a_question("storm", runs=300))
    assert found.tally.wall_touches == 0


def test_a_rough_neighbour_drives_the_ladder_and_work_is_kept() -> None:
    found = answer(a_question("storm", runs=300))
    assert found.tally.rungs_s[Rung.PREEMPT] > 0
    assert found.tally.preemptions > 0
    assert found.tally.work_lost_s < 60 * found.tally.preemptions
    assert found.as_json()["completed"] == 300


def test_leaky_agents_hit_their_own_wall_and_nobody_elses() -> None:
    found = answer(a_question("leaky", runs=200))
    assert found.tally.oom_kills > 0
    assert found.tally.wall_touches == 0
    assert found.tally.outcomes[Outcome.MEMORY_LIMIT_EXCEEDED] > 0


def test_guaranteed_admission_never_runs_more_than_the_limits_allow() -> None:
    found = answer(a_question("bursty", policy={"admission": Admission.GUARANTEED}))
    assert found.tally.peak_agents == 8


def test_a_cap_on_agents_holds() -> None:
    found = answer(a_question("bursty", warm=True, policy={"max_agents": 5}))
    assert found.tally.peak_agents == 5


def test_slow_cores_hold_overcommit_back_before_runs_time_out() -> None:
    found = answer(a_question("bursty", cpus=2.0, warm=True))
    assert found.tally.outcomes[Outcome.TIMEOUT_EXCEEDED] == 0


def test_a_workload_whose_runs_cannot_fit_is_refused_with_the_sum() -> None:
    small = {"total_bytes": 4 * GIB, "reserve_bytes": 2 * GIB}
    with pytest.raises(CannotFit, match=r"8 GiB can never fit: the fleet's wall is 2 GiB"):
        answer(a_question("builds", policy=small))
