"""The kept sums against a recount, and the model's quantile against what it promises."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from paddock.core.admission import Demand, Newcomer, fit
from paddock.core.policy import SizingPolicy
from paddock.core.sizing import Histogram, Moments, SizeModel, quantile
from paddock.core.units import GIB, MIB
from tests.kit.factories import a_policy

POLICY = SizingPolicy(evidence=1)
GROUPS = st.sampled_from(["a", "b"])
SIZES = st.integers(1, 8 * GIB)


def a_model(sizes: list[int], *, young: bool = False) -> SizeModel:
    model = SizeModel(POLICY)
    model.limit_bytes = 8 * GIB
    model.ended = 1
    for size in sizes:
        model.observe(size, seconds=600.0, at=1.0, young=young)
    if young:
        model.observe(MIB, seconds=6000.0, at=1.0)
    return model


def a_vector(sizes: list[int], policy: SizingPolicy) -> Moments:
    known = a_model(sizes).known(policy)
    assert known is not None
    return known.grown


class DemandMachine(RuleBasedStateMachine):
    """Attempts come, grow, shrink and go; groups become known and are forgotten."""

    def __init__(self) -> None:
        super().__init__()
        self.demand = Demand(POLICY)
        self.held: dict[str, tuple[str, int, int]] = {}
        self.known: set[str] = set()
        self.count = 0

    def some_held(self) -> bool:
        return bool(self.held)

    def pick(self, number: int) -> str:
        return list(self.held)[number % len(self.held)]

    @rule(group=GROUPS, limit=SIZES)
    def enter(self, group: str, limit: int) -> None:
        self.count += 1
        one = Newcomer(group, limit)
        fits = fit(self.demand, a_policy(), one, available_bytes=16 * GIB)
        before = self.demand.expected_bytes
        self.demand.enter(f"r{self.count}", group=group, limit_bytes=limit)
        self.held[f"r{self.count}"] = (group, limit, 0)
        if group not in self.known:
            assert self.demand.expected_bytes == before + limit
            assert fits.need_bytes == limit
        assert self.demand.expected_bytes <= before + fits.need_bytes + 2, "more than was said"

    @precondition(some_held)
    @rule(number=st.integers(0, 99), used=SIZES)
    def use(self, number: int, used: int) -> None:
        name = self.pick(number)
        group, limit, _ = self.held[name]
        self.held[name] = (group, limit, used)
        self.demand.use(name, used, at=0.0)

    @precondition(some_held)
    @rule(number=st.integers(0, 99))
    def leave(self, number: int) -> None:
        name = self.pick(number)
        del self.held[name]
        self.demand.leave(name)

    @rule(group=GROUPS, sizes=st.lists(SIZES, min_size=1, max_size=3), young=st.booleans())
    def learn(self, group: str, sizes: list[int], *, young: bool) -> None:
        self.known.add(group)
        self.demand.learn(group, a_model(sizes, young=young).known(POLICY))

    @precondition(some_held)
    @rule(number=st.integers(0, 99))
    def settle(self, number: int) -> None:
        before = self.demand.expected_bytes
        self.demand.settle(self.pick(number))
        assert self.demand.expected_bytes <= before + 2, "the young count by what is worse"

    @rule(group=GROUPS)
    def forget(self, group: str) -> None:
        self.known.discard(group)
        self.demand.learn(group, None)

    @invariant()
    def the_sums_are_those_of_a_recount(self) -> None:
        sums = self.demand.sums
        unknown = [h for h in self.held.values() if h[0] not in self.known]
        learned = [h for h in self.held.values() if h[0] in self.known]
        assert sums.fixed_bytes == sum(max(limit, used) for _, limit, used in unknown)
        assert sums.learned_used_bytes == sum(used for _, _, used in learned)
        assert sums.learned_limit_bytes == sum(limit for _, limit, _ in learned)
        assert sums.used_bytes == sum(used for _, _, used in self.held.values())
        again = self.demand.recounted().modelled_bytes(POLICY)
        assert sums.modelled_bytes(POLICY) == pytest.approx(again, rel=1e-6, abs=1)

    @invariant()
    def no_less_is_expected_than_is_used(self) -> None:
        expected = self.demand.expected_bytes
        assert expected >= sum(used for _, _, used in self.held.values())
        assert expected == self.demand.sums.expected_bytes(POLICY)
        assert expected <= sum(limit + used for _, limit, used in self.held.values())

    @precondition(some_held)
    @rule(number=st.integers(0, 99))
    def without_one_is_as_if_it_had_gone(self, number: int) -> None:
        name = self.pick(number)
        group, limit, used = self.held[name]
        young = self.demand.is_young(name)
        without = self.demand.sums.plus(self.demand.of([name]), -1).expected_bytes(POLICY)
        self.demand.leave(name)
        assert self.demand.expected_bytes == pytest.approx(without, rel=1e-6, abs=2)
        self.demand.enter(name, group=group, limit_bytes=limit)
        self.demand.use(name, used, at=0.0)
        if not young:
            self.demand.settle(name)


TestDemand = DemandMachine.TestCase


@given(
    st.lists(
        st.tuples(st.integers(0, 64 * GIB), st.floats(0.1, 1e5), st.floats(0, 1e6)), max_size=30
    )
)
def test_a_histogram_keeps_the_time_and_never_shrinks_a_use(
    seen: list[tuple[int, float, float]],
) -> None:
    histogram = Histogram(half_life_s=3600.0)
    weights: list[tuple[int, float, float]] = []
    for used, seconds, after_s in seen:
        at = (weights[-1][2] if weights else 0.0) + after_s
        histogram.add(used, seconds=seconds, at=at)
        weights.append((used, seconds, at))
    last = weights[-1][2] if weights else 0.0
    faded = [(used, seconds * 2 ** ((at - last) / 3600.0)) for used, seconds, at in weights]
    assert histogram.seconds == pytest.approx(sum(s for _, s in faded), rel=1e-6, abs=1e-6)
    edges = [edge for edge, _ in histogram.sizes()]
    assert edges == sorted(edges)
    if weights:
        assert edges[-1] <= max(4 * MIB, *(used for used, _, _ in weights)) * 1.031
        top = histogram.quantile(1.0)
        beyond = sum(seconds for edge, seconds in histogram.sizes() if edge > top)
        assert beyond <= 1e-9 * histogram.seconds


@given(
    st.lists(st.integers(MIB, 8 * GIB), min_size=1, max_size=5),
    st.integers(1, 50),
    st.integers(1, 5),
)
def test_the_sum_of_n_lies_between_their_means_and_their_walls(
    sizes: list[int], n: int, more: int
) -> None:
    moments = a_vector(sizes, POLICY)
    few = quantile([n * m for m in moments], POLICY)
    many = quantile([(n + more) * m for m in moments], POLICY)
    mean = sum(sizes) / len(sizes)
    assert few >= n * mean * 0.999
    assert many >= few * 0.999999
    assert many / (n + more) <= few / n * 1.000001


@given(st.integers(0, 2**32), st.integers(2, 40))
def test_the_quantile_is_passed_no_more_often_than_it_says(seed: int, n: int) -> None:
    """At one passing in ten instants, over 300 draws: Chernoff's bound is on the safe side."""
    risk = SizingPolicy(evidence=1, touches_per_hour=360.0, burst_s=1.0, unseen_s=1e-9)
    draw = random.Random(seed)
    sizes = [draw.randint(MIB, 4 * GIB) for _ in range(8)]
    moments = a_vector(sizes, risk)
    bound = quantile([n * m for m in moments], risk)
    passed = sum(sum(draw.choices(sizes, k=n)) > bound for _ in range(300))
    assert passed <= 60  # expected at most 30; 60 is over five standard deviations
