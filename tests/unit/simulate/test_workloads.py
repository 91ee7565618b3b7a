"""The shipped workloads: the same for the same seed, and with the figures they promise."""

from collections import Counter
from statistics import mean, median, quantiles

import pytest

from paddock.simulate.lives import BURSTY_BASE_BYTES, GIB, MIB
from paddock.simulate.trace import EXIT_TEMPORARY, Phase, Plan
from paddock.simulate.workloads import GROUPS, WORKLOADS, plans


@pytest.fixture(scope="module")
def bursty() -> list[Plan]:
    return plans("bursty", runs=3000, seed=7)


@pytest.fixture(scope="module")
def bursts(bursty: list[Plan]) -> list[Phase]:
    """All but those cut short by the end of their run."""
    return [
        phase
        for plan in bursty
        for phase in plan.traces[0].phases[:-1]
        if phase.bytes > BURSTY_BASE_BYTES
    ]


@pytest.fixture(scope="module")
def mixed() -> list[Plan]:
    return plans("mixed", runs=10_000, seed=1)


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_same_seed_gives_the_same_runs_and_another_seed_gives_others(name: str) -> None:
    assert plans(name, runs=60, seed=3) == plans(name, runs=60, seed=3)
    assert plans(name, runs=60, seed=3) != plans(name, runs=60, seed=4)


def test_a_seed_means_the_same_in_every_process() -> None:
    trace = plans("bursty", runs=1, seed=1)[0].traces[0]
    assert (round(trace.duration_s, 3), trace.peak_bytes) == (659.483, 3195033326)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_longer_list_begins_with_the_shorter_one(name: str) -> None:
    assert plans(name, runs=40, seed=3)[:15] == plans(name, runs=15, seed=3)


@pytest.mark.parametrize("name", WORKLOADS)
def test_names_are_unique_and_needs_come_first(name: str) -> None:
    seen: set[str] = set()
    for plan in plans(name, runs=500, seed=2):
        assert plan.name not in seen
        assert seen.issuperset(plan.needs)
        seen.add(plan.name)
    assert "w-00001" in seen


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_phase_takes_time_and_every_limit_is_at_most_8_gib(name: str) -> None:
    for plan in plans(name, runs=200, seed=2):
        assert GIB <= plan.limit_bytes <= 8 * GIB
        for trace in plan.traces:
            assert all(duration_s >= 0 for duration_s in trace.durations_s)
            assert all(cpus > 0 for cpus in trace.cpus)


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "leaky"])
def test_only_leaky_runs_pass_their_limit(name: str) -> None:
    for plan in plans(name, runs=500, seed=2):
        assert all(trace.peak_bytes <= plan.limit_bytes for trace in plan.traces)


def test_an_unknown_workload_is_answered_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"no workload 'windy'; there are steady, bursty"):
        plans("windy", runs=1, seed=1)


def test_bursty_bursts_are_lognormal_with_the_given_median_and_p95(bursts: list[Phase]) -> None:
    sizes = [phase.bytes - BURSTY_BASE_BYTES for phase in bursts]
    assert median(sizes) == pytest.approx(0.7 * GIB, rel=0.02)
    assert quantiles(sizes, n=20)[-1] == pytest.approx(2.0 * GIB, rel=0.03)


def test_bursty_is_cut_at_the_limit_and_now_and_then_touches_it(bursts: list[Phase]) -> None:
    levels = [phase.bytes for phase in bursts]
    assert max(levels) == 4 * GIB
    assert 0.001 < levels.count(4 * GIB) / len(levels) < 0.01


def test_bursty_bursts_last_one_to_two_seconds(bursts: list[Phase]) -> None:
    assert all(1.0 <= phase.duration_s <= 2.0 for phase in bursts)
    assert mean(phase.duration_s for phase in bursts) == pytest.approx(1.5, rel=0.02)


def test_bursty_bursts_begin_thirty_seconds_apart_and_take_a_twentieth_of_the_time(
    bursty: list[Plan], bursts: list[Phase]
) -> None:
    all_s = sum(plan.traces[0].duration_s for plan in bursty)
    assert all_s / len(bursts) == pytest.approx(30.0, rel=0.02)
    assert sum(phase.duration_s for phase in bursts) / all_s == pytest.approx(0.05, rel=0.03)


def test_bursty_runs_use_228_mib_and_a_seventh_of_a_core_on_average(bursty: list[Plan]) -> None:
    lives = [plan.traces[0] for plan in bursty]
    all_s = sum(life.duration_s for life in lives)
    assert sum(life.byte_seconds for life in lives) / all_s == pytest.approx(228 * MIB, rel=0.01)
    assert sum(life.cpu_seconds for life in lives) / all_s == pytest.approx(0.145, rel=0.02)


def test_bursty_runs_last_six_to_eleven_minutes_and_come_at_once(bursty: list[Plan]) -> None:
    lengths = [plan.traces[0].duration_s for plan in bursty]
    assert min(lengths) >= 360 and max(lengths) <= 660
    assert mean(lengths) == pytest.approx(510, rel=0.02)
    assert {(plan.submit_at, plan.priority, plan.limit_bytes) for plan in bursty} == {
        (0.0, 2, 4 * GIB)
    }


def test_mixed_has_all_priorities_all_groups_chains_and_arrivals(mixed: list[Plan]) -> None:
    assert {plan.priority for plan in mixed} == {0, 1, 2, 3}
    assert {plan.group for plan in mixed} == set(GROUPS)
    assert 0.1 < sum(bool(plan.needs) for plan in mixed) / len(mixed) < 0.3
    assert 0.3 < sum(plan.submit_at == 0 for plan in mixed) / len(mixed) < 0.7


def test_a_few_mixed_runs_fail_first_and_all_can_succeed(mixed: list[Plan]) -> None:
    first = Counter(plan.traces[0].exit_code for plan in mixed)
    assert first[EXIT_TEMPORARY] / len(mixed) == pytest.approx(0.01, abs=0.004)
    assert first[1] / len(mixed) == pytest.approx(0.005, abs=0.003)
    assert all(plan.traces[-1].exit_code == 0 and plan.retries >= 3 for plan in mixed)
    later = [plan for plan in mixed if plan.traces[0].exit_code == EXIT_TEMPORARY]
    assert all(plan.retry_after_s is not None for plan in later)


def test_storm_agents_burst_in_the_same_seconds_of_their_lives() -> None:
    at_6_s = [
        next(p.bytes for p, end in _with_ends(plan) if end > 6.0)
        for plan in plans("storm", runs=200, seed=1)
    ]
    assert sum(level > 0.9 * GIB for level in at_6_s) / len(at_6_s) > 0.8


def _with_ends(plan: Plan) -> list[tuple[Phase, float]]:
    ended: list[tuple[Phase, float]] = []
    at_s = 0.0
    for phase in plan.traces[0].phases:
        at_s += phase.duration_s
        ended.append((phase, at_s))
    return ended


def test_some_leaky_runs_hit_their_wall_and_some_of_these_are_well_after() -> None:
    leaky = plans("leaky", runs=300, seed=1)
    over = [plan for plan in leaky if plan.traces[0].peak_bytes > plan.limit_bytes]
    well = [plan for plan in over if plan.traces[-1].peak_bytes <= plan.limit_bytes]
    assert 0.2 < len(over) / len(leaky) < 0.4
    assert 0.4 < len(well) / len(over) < 0.9
