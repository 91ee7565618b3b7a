"""A slowdown is told by many runs of the last minutes, and never by one."""

from __future__ import annotations

import pytest

from paddock.core.pace import EVIDENCE, FEWEST, RECENT_S, Pace
from paddock.core.pressure import Rung
from paddock.core.run import Running
from tests.kit.factories import a_spec
from tests.kit.yard import Yard

USUAL = [60.0] * EVIDENCE


def a_pace(*ran_s: float, usual: list[float] = USUAL) -> Pace:
    pace = Pace()
    for each in ran_s:
        pace.saw(each, usual, at=0.0)
    return pace


def test_the_median_of_many_counts() -> None:
    slow = [180.0] * (FEWEST // 2 + 1) + [60.0] * (FEWEST - FEWEST // 2 - 1)
    assert a_pace(*slow).slowdown(0.0) == 3.0


def test_a_few_that_are_slow_among_many_do_not_count() -> None:
    assert a_pace(*[9000.0] * 3, *[60.0] * (FEWEST - 3)).slowdown(0.0) == 1.0


@pytest.mark.parametrize(
    "pace",
    [
        a_pace(),
        a_pace(*[600.0] * (FEWEST - 1)),
        a_pace(*[600.0] * FEWEST, usual=USUAL[1:]),  # too little is known of the group
        a_pace(*[50.0] * FEWEST, usual=[5.0] * EVIDENCE),  # too short
        a_pace(*[20.0] * FEWEST),  # faster than usual is no pressure
    ],
)
def test_what_says_nothing_is_no_slowdown(pace: Pace) -> None:
    assert pace.slowdown(0.0) == 1.0


def test_it_is_forgotten_after_minutes() -> None:
    pace = a_pace(*[600.0] * FEWEST)
    assert pace.slowdown(RECENT_S) == 10.0
    assert pace.slowdown(RECENT_S + 1) == 1.0


def slow_fleet() -> Yard:
    yard = Yard()
    group = yard.fleet.group("g")
    group.durations_s.extend(USUAL)
    for _ in range(FEWEST):
        yard.fleet.pace.saw(180.0, USUAL, at=yard.now)
    return yard


def test_a_slow_fleet_starts_nothing_more_and_says_why() -> None:
    yard = slow_fleet()
    yard.run(a_spec("first"))
    assert isinstance(yard.state("first"), Running)
    yard.sample()
    assert yard.fleet.ladder.rung is Rung.QUEUE
    assert "3.0 times as long" in yard.fleet.ladder.because


def test_an_empty_host_is_not_slow() -> None:
    yard = slow_fleet()
    yard.sample()
    assert yard.fleet.ladder.rung is Rung.CALM
