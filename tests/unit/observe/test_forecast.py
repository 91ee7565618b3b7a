"""A forecast is honest: it says what it cannot know, and its interval holds what it promises."""

from __future__ import annotations

from random import Random

import pytest

from paddock.observe.forecast import LEAST_DAYS, forecast, reached
from paddock.observe.least_squares import fit, student_quantile
from tests.kit.backtest import KINDS, draw, overall, score

EACH = 40  # 320 series


def test_the_interval_holds_what_it_promises_and_weeks_are_foretold_better_than_by_the_last() -> (
    None
):
    scores = score(draw(kind, number, seed=7) for kind in KINDS for number in range(EACH))
    assert 0.85 <= overall(scores) <= 0.95
    for kind in (kind for kind in KINDS if kind != "little"):
        assert 0.83 <= scores[kind].coverage <= 0.97, kind
    assert scores["weekly"].error < scores["weekly"].naive_error
    assert 0 < scores["little"].told < EACH


def test_little_data_says_so_instead_of_guessing() -> None:
    known = {day: 5.0 + day for day in range(LEAST_DAYS - 1)}
    found = forecast(known, horizon=30)
    assert found.days == () and found.because == "13 days of history; a forecast needs 14"
    assert forecast({}, horizon=30).because.startswith("0 days")


def test_no_further_ahead_than_there_is_behind() -> None:
    known = {day: 5.0 + day % 3 for day in range(20)}
    assert len(forecast(known, horizon=30).days) == 20
    assert len(forecast(known, horizon=7).days) == 7


def test_a_week_has_its_shape() -> None:
    random = Random(1)
    known = {day: (10.0 if day % 7 < 5 else 2.0) + random.gauss(0, 0.2) for day in range(56)}
    found = forecast(known, horizon=14)
    assert "weekly" in found.shape and "trend" not in found.shape
    for day in found.days:
        assert day.expected == pytest.approx(10.0 if day.day % 7 < 5 else 2.0, abs=0.4)


def test_a_limit_that_growth_will_reach_has_a_day() -> None:
    random = Random(2)
    known = {day: 10.0 + day + random.gauss(0, 1.0) for day in range(60)}
    found = forecast(known, horizon=30)
    assert found.per_day == pytest.approx(1.0, abs=0.05)
    expected, possible = reached(found, 85.0)
    assert expected is not None and 73 <= expected <= 77
    assert possible is not None and possible < expected
    assert reached(found, 1000.0) == (None, None)


def test_a_step_long_ago_is_no_trend() -> None:
    random = Random(3)
    known = {day: (10.0 if day < 30 else 40.0) + random.gauss(0, 1.0) for day in range(70)}
    last = forecast(known, horizon=30).days[-1]
    assert last.low < 40.0 < last.high and last.expected == pytest.approx(40.0, abs=2.0)


def test_weekends_of_nothing_are_foretold_as_nothing() -> None:
    random = Random(5)
    known = {day: 0.0 if day % 7 >= 5 else 50.0 + random.gauss(0, 5.0) for day in range(70)}
    for day in forecast(known, horizon=14).days:
        assert day.expected == pytest.approx(0.0 if day.day % 7 >= 5 else 50.0, abs=4.0)
        assert day.low <= (0.0 if day.day % 7 >= 5 else 50.0) <= day.high


def test_days_that_nobody_saw_are_no_zeros() -> None:
    known = {day: 8.0 for day in range(60) if day % 3}
    found = forecast(known, horizon=5)
    assert all(day.expected == pytest.approx(8.0) for day in found.days)


def test_the_arithmetic_below_is_right() -> None:
    rows = [(1.0, float(x)) for x in range(10)]
    found = fit(rows, [3.0 + 2.0 * x for x in range(10)])
    assert found.weights == pytest.approx((3.0, 2.0), abs=1e-6)
    assert student_quantile(0.95, 10) == pytest.approx(1.812, abs=0.003)
    assert student_quantile(0.95, 5) == pytest.approx(2.015, abs=0.02)
