"""How soon the host is looked at again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.core.policy import LadderPolicy
from paddock.core.units import GIB, MIB, TIB
from paddock.host.pace import (
    GROWTH_BYTES_PER_S,
    LONGEST_S,
    MOST_OF_A_CORE,
    SHORTEST_S,
    next_look_s,
)

AMOUNTS = st.integers(0, 4 * TIB)
TOTALS = st.integers(64 * MIB, 4 * TIB)
COSTS = st.floats(0.0, 10.0)


@pytest.mark.parametrize(
    ("available", "total", "rest_s"),
    [
        (20 * GIB, 24 * GIB, 1.0),
        (int(24 * GIB * 0.05) + GROWTH_BYTES_PER_S // 2, 24 * GIB, 0.5),
        (1 * GIB, 24 * GIB, 0.05),  # beyond the emergency step
        (1 * GIB, 2 * GIB, 0.29),  # the floor of 192 MiB is above 5 % of 2 GiB
        (0, 24 * GIB, 0.05),
        (None, 24 * GIB, 0.05),
    ],
)
def test_the_less_is_left_the_sooner_comes_the_next_look(
    available: int | None, total: int, rest_s: float
) -> None:
    assert next_look_s(available, total) == pytest.approx(rest_s, abs=0.005)


def test_where_several_may_grow_at_once_it_is_looked_at_as_much_sooner() -> None:
    alone_s = next_look_s(3 * GIB, 20 * GIB)
    assert next_look_s(3 * GIB, 20 * GIB, at_once=3) == pytest.approx(alone_s / 3)


def test_where_the_emergency_begins_is_the_ladders() -> None:
    early = LadderPolicy(emergency=90.0)
    assert next_look_s(2 * GIB, 20 * GIB) > next_look_s(2 * GIB, 20 * GIB, ladder=early)


@given(AMOUNTS | st.none(), TOTALS, COSTS)
def test_it_is_never_sooner_or_later_than_the_bounds(
    available: int | None, total: int, cost_s: float
) -> None:
    assert SHORTEST_S <= next_look_s(available, total, look_cost_s=cost_s) <= LONGEST_S


@given(AMOUNTS, AMOUNTS, TOTALS, COSTS)
def test_more_memory_is_never_looked_at_sooner(a: int, b: int, total: int, cost_s: float) -> None:
    less, more = sorted((a, b))
    sooner = next_look_s(less, total, look_cost_s=cost_s)
    assert sooner <= next_look_s(more, total, look_cost_s=cost_s)


@given(AMOUNTS, TOTALS)
def test_the_fastest_growth_does_not_pass_the_emergency_step_unseen(
    available: int, total: int
) -> None:
    rest_s = next_look_s(available, total)
    if rest_s > SHORTEST_S:
        left = available - rest_s * GROWTH_BYTES_PER_S
        assert left >= total * 0.05 - 4096
        assert left >= LadderPolicy().emergency_free_bytes - 4096


@given(AMOUNTS | st.none(), TOTALS, st.floats(0.0, 0.02))
def test_looking_takes_at_most_a_fiftieth_of_a_core(
    available: int | None, total: int, cost_s: float
) -> None:
    rest_s = next_look_s(available, total, look_cost_s=cost_s)
    assert cost_s / (cost_s + rest_s) <= MOST_OF_A_CORE * 1.0001


@given(AMOUNTS, TOTALS, st.floats(0.021, 10.0))
def test_a_look_too_dear_for_that_is_still_taken_each_second(
    available: int, total: int, cost_s: float
) -> None:
    assert next_look_s(available, total, look_cost_s=cost_s) == LONGEST_S
