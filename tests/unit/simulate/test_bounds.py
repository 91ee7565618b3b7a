"""The lower bound, on cases that can be done by hand."""

from paddock.simulate.bounds import longest_chain_s, lower_bound_s
from paddock.simulate.trace import Plan, Trace


def a_plan(
    name: str, *phases: tuple[float, int, float], at: float = 0.0, needs: tuple[str, ...] = ()
) -> Plan:
    return Plan(name, at, "g", 2, 1000, needs, (Trace(phases),), 3)


def test_memory_seconds_over_capacity_bind_where_memory_is_short() -> None:
    plans = [a_plan(name, (10.0, 60, 0.1)) for name in "abcd"]
    assert lower_bound_s(plans, capacity_bytes=100, cpus=8) == 24.0


def test_cpu_seconds_over_cores_bind_where_cores_are_short() -> None:
    plans = [a_plan(name, (10.0, 1, 2.0)) for name in "abcd"]
    assert lower_bound_s(plans, capacity_bytes=100, cpus=4) == 20.0


def test_the_longest_run_binds_on_a_large_host() -> None:
    plans = [a_plan("a", (10.0, 1, 1.0)), a_plan("b", (30.0, 1, 1.0), at=5.0)]
    assert lower_bound_s(plans, capacity_bytes=100, cpus=64) == 35.0


def test_a_chain_counts_from_when_its_first_comes_to_when_its_last_ends() -> None:
    plans = [
        a_plan("test", (4.0, 1, 1.0), needs=("review",)),
        a_plan("review", (3.0, 1, 1.0), at=20.0, needs=("implement",)),
        a_plan("implement", (10.0, 1, 1.0), at=2.0),
    ]
    assert longest_chain_s(plans) == 27.0


def test_only_the_last_attempt_counts_and_only_up_to_its_wall() -> None:
    first, last = Trace([(50.0, 10, 1.0)], 1), Trace([(5.0, 900, 1.0), (50.0, 2000, 1.0)])
    plan = Plan("a", 0.0, "g", 2, 1000, (), (first, last), 3)
    assert lower_bound_s([plan], capacity_bytes=1000, cpus=1) == 5.0


def test_nothing_takes_no_time() -> None:
    assert lower_bound_s([], capacity_bytes=1000, cpus=1) == 0.0
