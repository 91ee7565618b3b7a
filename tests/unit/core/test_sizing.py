"""CAP-5: what is learned, and the quantile of the sum."""

from __future__ import annotations

import pytest

from paddock.core.policy import Admission, SizingPolicy
from paddock.core.sizing import NOTHING, Histogram, SizeModel, quantile
from paddock.core.units import GIB, MIB
from tests.kit.factories import a_policy, a_spec, with_parts
from tests.kit.yard import Yard

POLICY = SizingPolicy()
HOUR = 3600.0
DAY = 24 * HOUR


def bursty(*, limit_gib: int = 4, hours: float = 100.0, policy: SizingPolicy = POLICY) -> SizeModel:
    """185 MiB, and 2 GiB for two seconds out of sixty."""
    model = SizeModel(policy)
    model.limit_bytes = limit_gib * GIB
    model.ended = 10
    model.observe(185 * MIB, seconds=hours * HOUR * 58 / 60, at=1.0)
    model.observe(2 * GIB, seconds=hours * HOUR * 2 / 60, at=1.0)
    return model


def sum_of(model: SizeModel, n: int, policy: SizingPolicy = POLICY) -> float:
    known = model.known(policy)
    assert known is not None
    return quantile([n * m for m in known.grown], policy)


MEAN = 185 * MIB * 58 / 60 + 2 * GIB * 2 / 60


def test_nobody_needs_nothing() -> None:
    assert quantile(NOTHING, POLICY) == 0.0


@pytest.mark.parametrize("n", [10, 30, 100, 1000])
def test_the_sum_lies_between_the_mean_and_the_limits(n: int) -> None:
    assert n * MEAN < sum_of(bursty(), n) < n * 4 * GIB


def test_more_agents_need_more_but_each_of_them_less() -> None:
    sizes = [sum_of(bursty(), n) for n in (1, 2, 5, 10, 50, 200, 1000)]
    assert sizes == sorted(sizes)
    each = [size / n for size, n in zip(sizes, (1, 2, 5, 10, 50, 200, 1000), strict=True)]
    assert each == sorted(each, reverse=True)


def test_a_thousand_come_close_to_their_mean() -> None:
    assert sum_of(bursty(), 1000) < 1.5 * 1000 * MEAN


def test_less_risk_takes_more_memory() -> None:
    careful = SizingPolicy(touches_per_hour=0.0001)
    assert sum_of(bursty(), 20, careful) > sum_of(bursty(), 20)


def test_thin_evidence_is_none() -> None:
    model = bursty()
    model.ended = 9
    assert model.known(POLICY) is None
    empty = SizeModel(POLICY)
    empty.ended = 10
    assert empty.known(POLICY) is None


def test_ten_quiet_runs_are_not_a_promise() -> None:
    """One burst to the limit counts as if it had been seen, and fades as time is observed."""

    def quiet(hours: float) -> float:
        model = SizeModel(POLICY)
        model.limit_bytes = 4 * GIB
        model.ended = 10
        model.observe(100 * MIB, seconds=hours * HOUR, at=1.0)
        return sum_of(model, 10)

    assert quiet(1.0) > 4 * GIB
    assert quiet(1.0) > quiet(100.0) > 10 * 100 * MIB


def test_the_height_of_a_burst_is_the_limit_until_enough_was_seen() -> None:
    def top(hours: float) -> float:
        model = SizeModel(POLICY)
        model.limit_bytes = 4 * GIB
        model.ended = 10
        model.observe(100 * MIB, seconds=hours * HOUR, at=1.0)
        known = model.known(POLICY)
        assert known is not None
        return known.top_bytes

    assert top(0.05) == 4 * GIB
    assert top(1.0) < 110 * MIB


def test_a_burst_that_is_rare_is_neither_rest_nor_growing_up() -> None:
    model = SizeModel(POLICY)
    model.limit_bytes = 4 * GIB
    model.ended = 10
    for used, share in ((100, 0.1), (600, 0.86), (2000, 0.04)):
        model.observe(used * MIB, seconds=share * 10 * HOUR, at=1.0)
    known = model.known(POLICY)
    assert known is not None
    assert 100 * MIB < known.grown_bytes <= known.resting_bytes < 620 * MIB
    assert known.top_bytes >= 2000 * MIB


def test_an_out_of_memory_kill_makes_the_group_larger() -> None:
    model = bursty()
    before = sum_of(model, 10)
    model.out_of_memory(POLICY)
    assert model.extra_bytes >= 100 * MIB
    once = sum_of(model, 10)
    assert once >= before + 10 * 100 * MIB * 0.99
    model.out_of_memory(POLICY)
    assert sum_of(model, 10) > once


def test_old_use_counts_half_after_a_day() -> None:
    histogram = Histogram(DAY)
    histogram.add(4 * GIB, seconds=100.0, at=0.0)
    histogram.add(1 * GIB, seconds=100.0, at=DAY)
    sizes = {round(size / GIB): seconds for size, seconds in histogram.sizes()}
    assert sizes == {4: pytest.approx(50.0), 1: pytest.approx(100.0)}
    assert histogram.seconds == pytest.approx(150.0)


def test_years_do_not_overflow_it() -> None:
    histogram = Histogram(DAY)
    for day in range(0, 3650, 5):
        histogram.add(GIB, seconds=100.0, at=day * DAY)
    assert histogram.seconds == pytest.approx(100.0 / (1 - 2**-5), rel=1e-3)


def test_a_use_counts_with_no_less_than_it_was() -> None:
    for used in (1, 4 * MIB, 5 * MIB, 185 * MIB, 3 * GIB, 500 * GIB):
        histogram = Histogram(DAY)
        histogram.add(used, seconds=1.0, at=0.0)
        ((size, _),) = histogram.sizes()
        assert used <= size * 1.000001
        assert size <= max(4 * MIB, used * 1.031)


def test_the_quantile_of_one_histogram() -> None:
    histogram = Histogram(DAY)
    assert histogram.quantile(0.95) == 0.0
    histogram.add(100 * MIB, seconds=90.0, at=0.0)
    histogram.add(GIB, seconds=10.0, at=0.0)
    assert histogram.quantile(0.5) == pytest.approx(100 * MIB, rel=0.04)
    assert histogram.quantile(0.95) == pytest.approx(GIB, rel=0.04)


def test_a_fleet_learns_from_its_samples() -> None:
    policy = with_parts(a_policy(admission=Admission.LEARNED), sizing={"evidence": 2})
    yard = Yard(policy)
    for number in range(2):
        yard.run(a_spec(f"r{number}", memory="8G"))
        for _ in range(10):
            yard.sample(**{f"r{number}": "300M"})
            yard.advance(100)
        yard.end(f"r{number}")
    model = yard.fleet.groups["coder"].size
    assert model.ended == 2
    assert model.histogram.seconds == pytest.approx(2000.0, rel=0.02)
    assert model.histogram.quantile(0.9) == pytest.approx(300 * MIB, rel=0.04)
    assert yard.fleet.demand.learned("coder")


def test_the_young_count_by_what_the_young_use() -> None:
    """Ten that start together also install together: their sum is not that of ten strangers."""
    model = bursty()
    model.observe(2 * GIB, seconds=600.0, at=1.0, young=True)
    known = model.known(POLICY)
    assert known is not None
    young = quantile([10 * m for m in known.young], POLICY)
    assert young > 10 * 2 * GIB * 0.95 > sum_of(model, 10)
    assert all(y >= g for y, g in zip(known.young, known.grown, strict=True))
