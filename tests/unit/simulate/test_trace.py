"""Traces and plans: what one attempt does, and what a list of runs needs first."""

from dataclasses import replace

import pytest

from paddock.simulate.trace import Phase, Plan, Trace, in_order_of_needs

LIFE = Trace([(10.0, 100, 0.5), (2.0, 400, 1.0), (8.0, 100, 0.5)])


def a_plan(name: str, *needs: str) -> Plan:
    return Plan(name, 0.0, "g", 2, 1000, needs, (LIFE,), 3)


def test_a_trace_knows_its_length_its_peak_and_what_it_uses() -> None:
    assert LIFE.duration_s == 20.0
    assert LIFE.peak_bytes == 400
    assert LIFE.byte_seconds == 10 * 100 + 2 * 400 + 8 * 100
    assert LIFE.cpu_seconds == 10 * 0.5 + 2 * 1.0 + 8 * 0.5


def test_a_trace_gives_back_the_phases_it_was_made_of() -> None:
    assert LIFE.phases[1] == Phase(2.0, 400, 1.0)
    assert Trace(LIFE.phases) == LIFE
    assert Trace(LIFE.phases, exit_code=1) != LIFE


def test_a_trace_may_be_empty() -> None:
    empty = Trace([])
    assert (empty.duration_s, empty.peak_bytes, empty.byte_seconds) == (0.0, 0, 0.0)


def test_touching_the_wall_is_allowed_and_passing_it_ends_the_life() -> None:
    assert LIFE.until_above(400) is LIFE
    assert LIFE.until_above(399).phases == LIFE.phases[:1]


def test_a_life_can_end_early_in_the_middle_of_a_phase() -> None:
    early = LIFE.until(11.0, exit_code=75)
    assert early.duration_s == 11.0
    assert early.peak_bytes == 400
    assert early.exit_code == 75


def test_an_attempt_plays_its_own_trace_and_the_last_one_goes_on() -> None:
    first = LIFE.until(1.0, exit_code=1)
    plan = replace(a_plan("a"), traces=(first, LIFE))
    assert [plan.trace_of(attempt) for attempt in (0, 1, 5)] == [first, LIFE, LIFE]
    assert plan.last_life is LIFE


def test_nothing_comes_before_what_it_needs() -> None:
    ordered = in_order_of_needs([a_plan("c", "b"), a_plan("b", "a"), a_plan("a"), a_plan("d")])
    assert [plan.name for plan in ordered] == ["a", "b", "c", "d"]


def test_a_need_that_nobody_fills_is_named() -> None:
    with pytest.raises(ValueError, match="a needs nobody"):
        in_order_of_needs([a_plan("a", "nobody")])


def test_a_circle_of_needs_is_refused() -> None:
    with pytest.raises(ValueError, match="needs itself"):
        in_order_of_needs([a_plan("a", "b"), a_plan("b", "a")])
