"""The verdict on leaks: what it finds, what it leaves alone, and how often it is wrong."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from paddock.bench.leak import FEWEST, Sample, Verdict, judge

MB = 1024.0 * 1024
SERIES = 100  # of each kind; bench/bench_leaks.py makes 500
STEP_S, SECONDS = 0.1, 60.0

Shape = Callable[[random.Random], Callable[[float], float]]


def noise(rng: random.Random) -> Callable[[float], float]:
    return lambda _: rng.uniform(0, 200)


def saw(rng: random.Random) -> Callable[[float], float]:
    period, begin, height = rng.uniform(2, 25), rng.uniform(0, 25), rng.choice((60, 200))
    return lambda t: (t + begin) % period / period * height


def bursts(rng: random.Random) -> Callable[[float], float]:
    length = rng.uniform(1, 12)
    return lambda t: (200 if int(t / length) % 2 else 0) + rng.uniform(0, 20)


def a_step(rng: random.Random) -> Callable[[float], float]:
    at = rng.uniform(5, 55)
    return lambda t: (150 if t > at else 0) + rng.uniform(0, 30)


def filling_up(rng: random.Random) -> Callable[[float], float]:
    tau = rng.uniform(2, 8)
    return lambda t: 200 * (1 - math.exp(-t / tau)) + rng.uniform(0, 30)


def wandering(rng: random.Random) -> Callable[[float], float]:
    level = 0.0

    def at(_: float) -> float:
        nonlocal level
        level = 0.98 * level + rng.gauss(0, 8)
        return level

    return at


def series(shape: Callable[[float], float], *, leak: float = 0.0) -> list[Sample]:
    times = [number * STEP_S for number in range(int(SECONDS / STEP_S))]
    return [(t, (300 + leak * t + shape(t)) * MB) for t in times]


def called_a_leak(shape: Shape, *, leak: float = 0.0) -> float:
    rng = random.Random(1)
    found = [judge(series(shape(rng), leak=leak)) for _ in range(SERIES)]
    return sum(one.verdict is Verdict.LEAK for one in found) / SERIES


@pytest.mark.parametrize(("shape", "least"), [(noise, 0.98), (bursts, 0.95), (saw, 0.3)])
def test_a_megabyte_a_second_is_found_within_a_minute(shape: Shape, least: float) -> None:
    assert called_a_leak(shape, leak=1.0) >= least


@pytest.mark.parametrize("shape", [noise, saw, bursts, a_step, filling_up])
def test_what_comes_down_again_or_stops_is_no_leak(shape: Shape) -> None:
    assert called_a_leak(shape) <= 0.03


def test_what_wanders_is_seldom_called_one() -> None:
    assert called_a_leak(wandering) <= 0.1


def test_a_shrinking_series_is_none() -> None:
    assert judge(series(noise(random.Random(2)), leak=-1.0)).verdict is Verdict.NONE


def test_the_slope_and_its_interval_hold_the_truth() -> None:
    judged = judge(series(noise(random.Random(3)), leak=1.0))
    assert judged.low_bytes_per_s <= 1.0 * MB <= judged.high_bytes_per_s
    assert judged.slope_bytes_per_s == pytest.approx(1.0 * MB, rel=0.3)
    assert str(judged).startswith("leaks ")
    assert "at 99%" in str(judged)


def test_a_slow_one_is_told_by_the_hour_and_only_where_it_matters() -> None:
    slow = [(float(t), 300 * MB + t * 20 * 1024) for t in range(0, 3600, 5)]
    assert judge(slow).verdict is Verdict.LEAK
    assert str(judge(slow)).startswith("leaks 70.3 MiB/h, between ")
    assert judge(slow, least_bytes_per_s=MB).verdict is Verdict.NONE


def test_few_samples_are_too_few() -> None:
    few = [(float(t), t * MB) for t in range(FEWEST - 1)]
    assert judge(few).verdict is Verdict.TOO_SHORT
    assert "too few" in str(judge(few))
    assert judge([]).verdict is Verdict.TOO_SHORT
    assert judge([(1.0, t * MB) for t in range(100)]).verdict is Verdict.TOO_SHORT


def test_what_only_began_may_still_be_warming_up() -> None:
    short = judge([(t / 10, (300 + t) * MB) for t in range(300)])
    assert short.verdict is Verdict.GROWS
    assert str(short) == "grew by 10 MiB/s for all of its 30 s: too short to call it a leak"


def test_uneven_times_are_fine() -> None:
    rng = random.Random(4)
    times = sorted(rng.uniform(0, 60) for _ in range(300))
    assert judge([(t, (300 + t) * MB) for t in times]).verdict is Verdict.LEAK


def test_a_flat_series_is_told_as_none() -> None:
    assert str(judge([(float(t), 100 * MB) for t in range(60)])).startswith("no leak found")
