"""The two sums, and the ledger they are made from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from paddock.core.admission import Demand, Newcomer, fit
from paddock.core.events import PolicyChanged
from paddock.core.policy import Admission, Policy, SizingPolicy
from paddock.core.sizing import SizeModel
from paddock.core.submission import cannot_ever_fit
from paddock.core.units import GIB, MIB
from tests.kit.factories import a_host, a_policy, a_spec, with_parts
from tests.kit.yard import Yard, refusals

SIZING = SizingPolicy()


def a_demand(*limits_gib: int) -> Demand:
    demand = Demand(SIZING)
    for number, limit in enumerate(limits_gib):
        demand.enter(f"r{number}", group="g", limit_bytes=limit * GIB)
    return demand


def a_newcomer(limit_gib: int) -> Newcomer:
    return Newcomer("g", limit_gib * GIB)


def test_the_first_sum_counts_every_limit_against_the_wall() -> None:
    fits = fit(a_demand(4, 4), a_policy(), a_newcomer(5), available_bytes=16 * GIB)
    assert not fits
    assert fits.need_bytes == 5 * GIB
    assert fits.wall_short_bytes == 1 * GIB  # 4 + 4 + 5 of 12


def test_a_run_that_fits_to_the_byte_fits() -> None:
    demand = a_demand(4, 4)
    assert fit(demand, a_policy(), a_newcomer(4), available_bytes=16 * GIB)
    over = fit(demand, a_policy(), Newcomer("g", 4 * GIB + 1), available_bytes=16 * GIB)
    assert over.short_bytes == 1


def test_one_that_uses_more_than_its_limit_counts_with_what_it_uses() -> None:
    demand = a_demand(2)
    demand.use("r0", 5 * GIB, at=0.0)
    assert demand.expected_bytes == 5 * GIB


def test_the_second_sum_leaves_the_floor_of_what_the_host_has_free() -> None:
    """9 GiB free, 4 of them still to come for the running one, 5 asked for: nothing is left."""
    demand = a_demand(4)
    fits = fit(demand, a_policy(), a_newcomer(5), available_bytes=9 * GIB)
    assert fits.wall_short_bytes < 0
    assert fits.host_short_bytes == a_policy().floor_bytes == 16 * GIB * 15 // 100


def test_the_fleet_alone_never_climbs_to_the_step_at_which_it_is_preempted() -> None:
    """1,536 GiB: the wall is 84.9 %, and a neighbour with 2 % would carry it over the step."""
    policy = Policy(total_bytes=1536 * GIB, reserve_bytes=232 * GIB)
    demand = Demand(policy.sizing)
    available = 1536 * GIB * 98 // 100
    agents = 0
    while fit(demand, policy, a_newcomer(4), available_bytes=available):
        demand.enter(f"r{agents}", group="g", limit_bytes=4 * GIB)
        agents += 1
    used = 1536 * GIB - available + demand.expected_bytes
    assert 300 < agents < 326
    assert used / (1536 * GIB) < policy.ladder.preempt / 100


def test_memory_in_use_is_not_counted_twice_on_the_host() -> None:
    demand = a_demand(4)
    demand.use("r0", 3 * GIB, at=0.0)
    policy = with_parts(a_policy(free_floor_bytes=1 * GIB), ladder={"preempt": 99.0})
    assert fit(demand, policy, a_newcomer(5), available_bytes=7 * GIB)
    assert not fit(demand, policy, a_newcomer(5), available_bytes=7 * GIB - 1)


def test_what_left_is_no_longer_counted() -> None:
    demand = a_demand(4, 6)
    demand.use("r1", 7 * GIB, at=0.0)
    demand.leave("r1")
    assert (demand.expected_bytes, demand.sums.used_bytes, len(demand)) == (4 * GIB, 0, 1)


def test_runs_start_until_the_wall_and_no_further() -> None:
    yard = Yard()
    yard.submit(*(a_spec(f"r{i}", memory="5G") for i in range(3)))
    assert yard.live == ["r0", "r1"]


def test_other_users_of_the_host_count_too() -> None:
    yard = Yard(host=a_host(used_percent=60.0))  # 6.4 GiB free
    yard.submit(*(a_spec(f"r{i}", memory="3G") for i in range(3)))
    assert yard.live == ["r0"]


def test_never_more_than_max_agents_however_small() -> None:
    yard = Yard(a_policy(max_agents=2))
    yard.submit(*(a_spec(f"r{i}", memory="1G") for i in range(4)))
    assert yard.live == ["r0", "r1"]
    yard.end("r0")
    assert yard.live == ["r1", "r2"]


def test_what_can_never_fit_is_refused_at_once_with_the_sum() -> None:
    yard = Yard()
    actions = yard.submit(a_spec("big", memory="13G"))
    assert refusals(actions) == [
        "big: its limit of 13 GiB can never fit: the fleet's wall is 12 GiB "
        "(16 GiB in all less 4 GiB for the host); ask for 12 GiB or less"
    ]
    assert yard.queued == yard.live == []


def test_what_the_host_could_never_give_and_keep_its_floor_is_refused_too() -> None:
    policy = a_policy(reserve="1", free_floor_bytes=1 * GIB)
    policy = with_parts(policy, ladder={"preempt": 99.0})
    problem = cannot_ever_fit(16 * GIB - 1, policy)
    assert problem is not None and "ask for 15 GiB or less" in problem
    assert cannot_ever_fit(15 * GIB, policy) is None


def quiet(limit_gib: int = 4) -> SizeModel:
    """A group seen for ten hours at 200 MiB."""
    model = SizeModel(SIZING)
    model.limit_bytes = limit_gib * GIB
    model.ended = 10
    model.observe(200 * MIB, seconds=36_000.0, at=36_000.0)
    return model


def test_a_learned_group_counts_with_less_than_its_limits() -> None:
    demand = a_demand(*[4] * 20)
    assert demand.expected_bytes == 80 * GIB
    demand.learn("g", quiet().known(SIZING))
    assert 20 * 200 * MIB < demand.expected_bytes < 20 * GIB


def test_learned_attempts_never_count_with_more_than_their_walls() -> None:
    demand = a_demand(1)
    demand.learn("g", quiet(limit_gib=1).known(SIZING))
    assert demand.expected_bytes <= 1 * GIB


def test_use_above_the_model_counts_and_a_newcomer_comes_on_top() -> None:
    demand = a_demand(*[4] * 3)
    demand.learn("g", quiet().known(SIZING))
    for run in ("r0", "r1", "r2"):
        demand.use(run, 4 * GIB, at=0.0)
    assert demand.expected_bytes == 12 * GIB
    policy = a_policy(total="64G", reserve="32G")
    fits = fit(demand, policy, a_newcomer(4), available_bytes=60 * GIB)
    assert fits.need_bytes > 0
    assert fits.wall_short_bytes > 12 * GIB - policy.wall_bytes


def test_what_a_candidate_needs_is_what_it_adds() -> None:
    demand = a_demand(*[4] * 3)
    demand.learn("g", quiet().known(SIZING))
    policy = a_policy(total="64G", reserve="32G")
    fits = fit(demand, policy, a_newcomer(4), available_bytes=60 * GIB)
    demand.enter("new", group="g", limit_bytes=4 * GIB)
    assert demand.expected_bytes == pytest.approx(fits.need_bytes + demand_before(demand), abs=2)


def demand_before(demand: Demand) -> int:
    return demand.sums.plus(demand.of(["new"]), -1).expected_bytes(SIZING)


def a_grown_up_demand(*runs: str) -> Demand:
    """Agents that begin with 100 MiB, rest at 600, and were seen to burst to 2 GiB."""
    model = SizeModel(SIZING)
    model.limit_bytes, model.ended = 4 * GIB, 10
    for used, share in ((100, 0.1), (600, 0.86), (2048, 0.04)):
        model.observe(used * MIB, seconds=share * 1e6, at=1.0)
    demand = Demand(SIZING)
    demand.learn("g", model.known(SIZING))
    for run in runs:
        demand.enter(run, group="g", limit_bytes=4 * GIB)
    return demand


def test_growing_up_is_no_burst_and_what_follows_it_is_one() -> None:
    demand = a_grown_up_demand("r0")
    demand.use("r0", 100 * MIB, at=0.0)
    demand.use("r0", 500 * MIB, at=2.0)
    assert not demand.in_a_burst("r0", at=2.0)
    demand.use("r0", 600 * MIB, at=2.1)
    assert not demand.in_a_burst("r0", at=2.1)
    demand.use("r0", 900 * MIB, at=4.0)
    assert demand.in_a_burst("r0", at=4.0)
    demand.use("r0", 600 * MIB, at=5.0)
    assert not demand.in_a_burst("r0", at=5.0)


def test_who_grows_above_what_such_agents_mostly_use_is_in_a_burst_wherever_it_began() -> None:
    demand = a_grown_up_demand("r0")
    demand.use("r0", 100 * MIB, at=0.0)
    demand.use("r0", 1500 * MIB, at=1.0)
    assert demand.in_a_burst("r0", at=1.0)


def test_who_is_in_a_burst_counts_with_what_it_will_rest_at() -> None:
    demand = a_grown_up_demand("r0", "r1")
    demand.use("r0", 620 * MIB, at=0.0)
    demand.use("r1", 100 * MIB, at=3.0)
    young = demand.resting_bytes() - 620 * MIB
    assert 550 * MIB < young < 650 * MIB  # it will grow up
    demand.use("r0", 2 * GIB, at=5.0)
    assert demand.resting_bytes() == 620 * MIB + young
    demand.use("r1", 150 * MIB, at=8.0)  # r0 has stayed there: that is no burst
    assert demand.resting_bytes() == 2 * GIB + young
    assert demand.of(["r0"]).resting_bytes == 2 * GIB


def test_a_changed_risk_counts_at_once() -> None:
    policy = with_parts(a_policy(admission=Admission.LEARNED), sizing={"evidence": 1})
    yard = Yard(policy)
    for number in range(2):
        yard.run(a_spec(f"r{number}", memory="4G"))
        yard.advance(600)
        yard.sample(**{f"r{number}": "300M"})
        yard.advance(6000)
        if number == 0:
            yard.end("r0")
    careful = yard.fleet.demand.expected_bytes
    risky = with_parts(policy, sizing={"touches_per_hour": 100.0})
    yard.tell(PolicyChanged(yard.now, risky))
    assert yard.fleet.demand.expected_bytes < careful


def test_guaranteed_admission_never_uses_what_was_learned() -> None:
    started = {}
    for admission in Admission:
        policy = with_parts(
            a_policy(admission=admission), sizing={"evidence": 2}, timeouts={"simple_s": 1e6}
        )
        yard = Yard(replace(policy, timeouts=replace(policy.timeouts, ceiling_s=1e6)))
        for number in range(2):
            yard.run(a_spec(f"warm{number}", memory="4G"))
            yard.sample(**{f"warm{number}": "200M"})
            yard.advance(40_000)
            yard.end(f"warm{number}")
        yard.submit(*(a_spec(f"r{i}", memory="4G") for i in range(8)))
        started[admission] = len(yard.live)
    assert started[Admission.GUARANTEED] == 3  # 3 × 4 GiB of 12
    assert started[Admission.LEARNED] > 4


def one_that_has_learned() -> Yard:
    """A large host, and one run that used far less than it might have."""
    policy = a_policy(total="64G", reserve="16G", admission=Admission.LEARNED)
    yard = Yard(with_parts(policy, sizing={"evidence": 1}))
    yard.run(a_spec("warm", memory="12G"))
    yard.sample(warm="200M")
    yard.advance(1700)
    yard.end("warm")
    return yard


def test_learned_runs_are_let_in_step_by_step() -> None:
    """Beyond what the limits allow, four at a time: what they use is seen before the next."""
    yard = one_that_has_learned()
    yard.submit(*(a_spec(f"r{i}", memory="12G") for i in range(20)))
    first = len(yard.live)
    yard.sample()
    assert 4 <= first < len(yard.live)


def test_slow_cpus_hold_back_what_the_limits_would_not_let_in() -> None:
    yard = one_that_has_learned()
    yard.sample(a_host(total="64G", slowdown=1.5))
    yard.submit(*(a_spec(f"r{i}", memory="12G") for i in range(8)))
    assert len(yard.live) == 4  # 4 × 12 GiB of 48
    yard.sample(a_host(total="64G", slowdown=1.0))
    assert len(yard.live) > 4
