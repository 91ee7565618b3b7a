"""The clairvoyant keeps every promise, beats no bound, and fits bursts into each other's gaps."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paddock.simulate.bounds import lower_bound_s
from paddock.simulate.clairvoyant import Schedule, clairvoyant, clairvoyant_s
from paddock.simulate.lives import GIB
from paddock.simulate.trace import Plan, Trace
from paddock.simulate.workloads import WORKLOADS, plans

CAPACITY = 100


def a_plan(
    name: str, *phases: tuple[float, int, float], at: float = 0.0, needs: tuple[str, ...] = ()
) -> Plan:
    return Plan(name, at, "g", 2, 1000, needs, (Trace(phases),), 3)


def replayed_peak(fleet: list[Plan], schedule: Schedule) -> int:
    """The most memory in use at once, from the traces themselves and not from any grid."""
    changes: list[tuple[float, int]] = []
    for plan in fleet:
        at_s = schedule.starts_at[plan.name]
        for phase in plan.last_life.phases:
            end_s = at_s + phase.duration_s
            if phase.duration_s > 0:
                # Rounded, or the sum of a float and its parts would make neighbours overlap.
                changes.append((round(at_s, 6), phase.bytes))
                changes.append((round(end_s, 6), -phase.bytes))
            at_s = end_s
    peak = held = 0
    for _, change in sorted(changes):
        held += change
        peak = max(peak, held)
    return peak


def assert_in_order(fleet: list[Plan], schedule: Schedule) -> None:
    ends_at = {
        plan.name: schedule.starts_at[plan.name] + plan.last_life.duration_s for plan in fleet
    }
    for plan in fleet:
        assert schedule.starts_at[plan.name] >= plan.submit_at
        assert all(schedule.starts_at[plan.name] >= ends_at[need] - 1e-6 for need in plan.needs)
    assert schedule.makespan_s >= max(ends_at.values()) - 1e-6


def test_runs_that_fit_together_start_together() -> None:
    fleet = [a_plan(name, (10.0, 50, 0.1)) for name in "ab"]
    assert clairvoyant(fleet, capacity_bytes=CAPACITY, cpus=4).starts_at == {"a": 0.0, "b": 0.0}


def test_runs_that_do_not_fit_together_follow_each_other() -> None:
    fleet = [a_plan(name, (10.0, 51, 0.1)) for name in "ab"]
    assert clairvoyant_s(fleet, capacity_bytes=CAPACITY, cpus=4) == 20.0


def test_bursts_go_into_each_others_gaps() -> None:
    fleet = [a_plan(name, (5.0, 20, 0.1), (1.0, 80, 1.0), (5.0, 20, 0.1)) for name in "abc"]
    schedule = clairvoyant(fleet, capacity_bytes=120, cpus=4)
    assert replayed_peak(fleet, schedule) <= 120
    assert schedule.makespan_s == 13.0  # one second apart: two bases beside a burst


def test_a_run_waits_for_a_gap_when_its_burst_would_meet_another() -> None:
    fleet = [a_plan(name, (4.0, 10, 0.1), (1.0, 90, 1.0), (4.0, 10, 0.1)) for name in "ab"]
    starts_at = clairvoyant(fleet, capacity_bytes=CAPACITY, cpus=4).starts_at
    assert sorted(starts_at.values()) == [0.0, 1.0]


def test_a_short_run_fills_the_hole_before_a_large_one() -> None:
    fleet = [
        a_plan("long", (20.0, 60, 0.1)),
        a_plan("large", (15.0, 90, 0.1)),
        a_plan("short", (10.0, 40, 0.1)),
    ]
    schedule = clairvoyant(fleet, capacity_bytes=CAPACITY, cpus=4)
    assert schedule.starts_at["short"] < schedule.starts_at["large"]
    assert schedule.makespan_s == 35.0


def test_of_cpu_only_the_mean_counts() -> None:
    fleet = [a_plan(name, (5.0, 1, 1.0), (5.0, 1, 0.0)) for name in "abcd"]
    assert clairvoyant_s(fleet, capacity_bytes=CAPACITY, cpus=2) == 10.0
    assert clairvoyant_s(fleet, capacity_bytes=CAPACITY, cpus=1) == 20.0


def test_a_run_that_wants_more_cores_than_there_are_takes_longer() -> None:
    assert clairvoyant_s([a_plan("a", (10.0, 1, 4.0))], capacity_bytes=CAPACITY, cpus=2) == 20.0


def test_runs_wait_until_they_come_and_for_what_they_need() -> None:
    fleet = [
        a_plan("review", (3.0, 1, 0.1), needs=("implement",)),
        a_plan("implement", (10.0, 1, 0.1), at=2.0),
    ]
    schedule = clairvoyant(fleet, capacity_bytes=CAPACITY, cpus=4)
    assert schedule.starts_at == {"implement": 2.0, "review": 12.0}


def test_what_can_never_fit_is_refused_with_the_sum() -> None:
    with pytest.raises(ValueError, match="a uses 101 bytes and the capacity is 100"):
        clairvoyant([a_plan("a", (1.0, 101, 0.1))], capacity_bytes=CAPACITY, cpus=4)


def test_nothing_takes_no_time() -> None:
    assert clairvoyant_s([], capacity_bytes=CAPACITY, cpus=4) == 0.0


@pytest.mark.parametrize("name", WORKLOADS)
def test_no_workload_goes_over_the_capacity_or_under_the_bound(name: str) -> None:
    fleet = plans(name, runs=120, seed=5)
    schedule = clairvoyant(fleet, capacity_bytes=16 * GIB, cpus=16)
    assert replayed_peak(fleet, schedule) <= 16 * GIB
    assert_in_order(fleet, schedule)
    bound_s = lower_bound_s(fleet, capacity_bytes=16 * GIB, cpus=16)
    assert bound_s <= schedule.makespan_s < 1.6 * bound_s


def test_it_is_the_same_each_time() -> None:
    fleet = plans("mixed", runs=100, seed=5)
    first, second = (clairvoyant(fleet, capacity_bytes=16 * GIB, cpus=16) for _ in range(2))
    assert first == second


def test_bursty_runs_fill_most_of_the_memory() -> None:
    fleet = plans("bursty", runs=500, seed=5)
    makespan_s = clairvoyant_s(fleet, capacity_bytes=64 * GIB, cpus=64)
    assert makespan_s < 1.2 * lower_bound_s(fleet, capacity_bytes=64 * GIB, cpus=64)


a_phase = st.tuples(
    st.integers(0, 80).map(lambda tenths: tenths / 10),
    st.integers(0, CAPACITY),
    st.floats(0.0, 3.0),
)


@st.composite
def small_fleets(draw: st.DrawFn) -> list[Plan]:
    fleet: list[Plan] = []
    for number in range(draw(st.integers(1, 10))):
        names = [plan.name for plan in fleet]
        needs = draw(st.lists(st.sampled_from(names), unique=True, max_size=2)) if names else []
        phases = draw(st.lists(a_phase, min_size=1, max_size=6))
        at_s = draw(st.integers(0, 200)) / 10
        fleet.append(a_plan(f"w-{number}", *phases, at=at_s, needs=tuple(needs)))
    return fleet


@settings(deadline=None)
@given(small_fleets(), st.sampled_from([1.0, 2.5, 16.0]))
def test_any_schedule_can_be_kept_and_none_beats_the_bound(fleet: list[Plan], cpus: float) -> None:
    schedule = clairvoyant(fleet, capacity_bytes=CAPACITY, cpus=cpus)
    assert set(schedule.starts_at) == {plan.name for plan in fleet}
    bound_s = lower_bound_s(fleet, capacity_bytes=CAPACITY, cpus=cpus)
    assert bound_s <= schedule.makespan_s * (1 + 1e-6) + 1e-6
    assert_in_order(fleet, schedule)
    if all(phase.cpus <= cpus for plan in fleet for phase in plan.last_life.phases):
        assert replayed_peak(fleet, schedule) <= CAPACITY
