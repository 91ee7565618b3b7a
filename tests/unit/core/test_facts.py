"""Groups as plain data: taken out, put back, and going on as if nothing had been."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from paddock.core.group import Group, GroupFacts
from paddock.core.sizing import Histogram, SizeModel
from paddock.core.units import GIB, MIB
from tests.kit.factories import a_policy, with_parts
from tests.kit.remembering import group_facts, size_models

POLICY = a_policy()


@given(group_facts())
def test_a_group_put_back_has_the_same_facts(facts: GroupFacts) -> None:
    assert Group.from_facts(facts, POLICY).facts() == facts


@given(size_models())
def test_a_size_put_back_goes_on_as_the_old_one_would(model: SizeModel) -> None:
    again = SizeModel.from_facts(model.facts(), POLICY.sizing)
    for one in (model, again):
        one.observe(3 * GIB, seconds=5.0, at=2e7, young=True)
        one.out_of_memory(POLICY.sizing)
        one.ended = POLICY.sizing.evidence
    assert again.facts() == model.facts()
    assert again.known(POLICY.sizing) == model.known(POLICY.sizing)


def test_facts_do_not_follow_the_group_they_were_taken_from() -> None:
    group = Group(POLICY)
    before = group.facts()
    group.size.observe(GIB, seconds=1.0, at=1.0)
    group.durations_s.append(5.0)
    assert before == Group(POLICY).facts() != group.facts()


def test_with_another_half_life_the_past_keeps_its_worth_and_fades_at_the_new_rate() -> None:
    histogram = Histogram(3600.0)
    histogram.add(100 * MIB, seconds=64.0, at=0.0)
    histogram.add(GIB, seconds=64.0, at=2 * 3600.0)
    again = Histogram.from_facts(histogram.facts(), half_life_s=60.0)
    assert list(again.sizes()) == list(histogram.sizes())  # powers of two: no rounding
    again.add(GIB, seconds=0.001, at=2 * 3600.0 + 60.0)
    assert again.seconds == pytest.approx((64.0 + 16.0) / 2, abs=0.01)


def test_a_policy_with_another_half_life_takes_old_groups() -> None:
    group = Group(POLICY)
    group.size.observe(GIB, seconds=10.0, at=5.0)
    other = with_parts(POLICY, sizing={"half_life_s": 60.0})
    facts = Group.from_facts(group.facts(), other).facts()
    assert facts.size.histogram.half_life_s == 60.0
    assert replace(facts.size.histogram, half_life_s=86400.0) == group.facts().size.histogram
