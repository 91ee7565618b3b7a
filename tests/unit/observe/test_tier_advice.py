"""Right-sizing by role: what becomes of the tiers of a cluster."""

from __future__ import annotations

import pytest

from paddock.cluster.tiers import OTHER, TIERS, Tier, tier_of
from paddock.core.units import GIB, MIB
from paddock.observe.tier_advice import TierAdvice, advise_tiers, role_of, with_advice
from tests.kit.uses import a_use

KNOWN = {tier.role for tier in TIERS}


def only(advice: tuple[TierAdvice, ...]) -> TierAdvice:
    (found,) = advice
    return found


@pytest.mark.parametrize(
    ("group", "role"),
    [
        ("claude/payments/quality", "quality"),
        ("claude/quality", "quality"),
        ("claude/payments/review", "review"),
        ("claude/payments", None),
        ("quality", None),
        ("nightly", None),
        ("a/b/c/d", None),
        ("claude/payments/", None),
    ],
)
def test_the_role_is_the_last_part_of_a_groups_name(group: str, role: str | None) -> None:
    assert role_of(group, KNOWN) == role


def test_all_groups_of_a_role_count_together_against_its_tier() -> None:
    web = a_use(group="claude/web/quality", peaks=[(900.0 * MIB, 150)])
    api = a_use(group="claude/api/quality", peaks=[(1500.0 * MIB, 150)])
    found = only(advise_tiers([web, api, a_use(group="claude/web", peaks=[(9.0 * GIB, 500)])]))
    assert found.groups == ("claude/web/quality", "claude/api/quality")
    assert (found.request_now_bytes, found.limit_now_bytes) == (4 * GIB, 8 * GIB)
    assert found.change == "lower" and found.is_sure
    assert found.limit_bytes is not None and found.request_bytes is not None
    assert 1500 * MIB * 1.15 <= found.limit_bytes < 3 * GIB
    assert 1500 * MIB <= found.request_bytes <= found.limit_bytes


def test_a_tier_that_fits_is_kept_with_the_request_that_was_seen() -> None:
    found = only(advise_tiers([a_use(group="x/y/quality", peaks=[(7.7 * GIB, 300)])]))
    assert (found.change, found.limit_bytes) == ("keep", 8 * GIB)
    assert found.request_bytes == int(7.75 * GIB)


def test_who_was_killed_at_the_tiers_own_wall_gets_more() -> None:
    killed = a_use(group="x/y/quality", peaks=[(7.9 * GIB, 300)], ooms=4, limit_bytes=8 * GIB)
    found = only(advise_tiers([killed]))
    assert found.change == "raise" and found.limit_bytes is not None
    assert found.limit_bytes >= 1.2 * 8 * GIB


def test_who_was_killed_at_a_lower_wall_says_only_how_much_is_too_little() -> None:
    """Here: at 2 GiB, as on a laptop. The tier has 8: it is lowered, and not to what killed."""
    killed = a_use(group="x/y/quality", peaks=[(1.0 * GIB, 300)], ooms=4, limit_bytes=2 * GIB)
    found = only(advise_tiers([killed]))
    assert found.change == "lower" and found.limit_bytes is not None
    assert 2.4 * GIB <= found.limit_bytes < 3 * GIB


def test_a_few_attempts_change_nothing() -> None:
    found = only(advise_tiers([a_use(group="x/y/quality", peaks=[(600.0 * MIB, 19)])]))
    assert (found.change, found.limit_bytes, found.is_sure) == ("unknown", None, False)
    assert with_advice((), [found]) == ()
    low = only(advise_tiers([a_use(group="x/y/quality", peaks=[(600.0 * MIB, 30)])]))
    assert (low.change, low.confidence) == ("lower", "low")
    assert with_advice((), [low]) == ()


def test_advice_becomes_a_tier_with_the_cores_and_volume_of_the_one_before() -> None:
    advice = advise_tiers([a_use(group="x/y/testing", peaks=[(1.0 * GIB, 300)])])
    (tier,) = with_advice((), advice)
    before = tier_of("testing")
    assert (tier.role, tier.model) == ("testing", "")
    assert (tier.cpu_request, tier.cpu_limit) == (before.cpu_request, before.cpu_limit)
    assert tier.volume_bytes == before.volume_bytes
    assert tier.memory_limit_bytes == advice[0].limit_bytes
    assert tier.memory_request_bytes == advice[0].request_bytes


def test_a_role_without_a_tier_gets_one() -> None:
    advice = advise_tiers([a_use(group="x/y/review", peaks=[(1.0 * GIB, 300)])])
    assert advice[0].limit_now_bytes == OTHER.memory_limit_bytes
    (tier,) = with_advice((), advice)
    assert tier.role == "review" and tier.memory_limit_bytes < OTHER.memory_limit_bytes


def test_ones_own_tiers_keep_their_order_and_those_of_models_are_left_alone() -> None:
    huge = Tier("testing", 8, 8, 64 * GIB, 64 * GIB, 50 * GIB, "huge")
    mine = Tier("testing", 1, 2, 6 * GIB, 12 * GIB, 50 * GIB)
    other = Tier("writing", 1, 1, GIB, GIB, 10 * GIB)
    own = (huge, mine, other)
    advice = advise_tiers([a_use(group="x/y/testing", peaks=[(1.0 * GIB, 300)])], own)
    assert advice[0].limit_now_bytes == 12 * GIB
    found = with_advice(own, advice)
    assert (found[0], found[2]) == (huge, other)
    assert found[1].memory_limit_bytes < 2 * GIB and found[1].cpu_limit == 2


def test_taking_it_twice_is_taking_it_once() -> None:
    uses = [a_use(group="x/y/quality", peaks=[(900.0 * MIB, 250), (1400.0 * MIB, 50)])]
    first = with_advice((), advise_tiers(uses))
    assert with_advice(first, advise_tiers(uses, first)) == first


def test_a_tier_that_is_being_tried_out_is_left_alone() -> None:
    trial = Tier("testing", 1, 2, GIB, 2 * GIB, 50 * GIB, share=25)
    mine = Tier("testing", 1, 2, 6 * GIB, 12 * GIB, 50 * GIB)
    advice = advise_tiers([a_use(group="x/y/testing", peaks=[(1.0 * GIB, 300)])], (trial, mine))
    assert advice[0].limit_now_bytes == 12 * GIB
    found = with_advice((trial, mine), advice)
    assert found[0] == trial and len(found) == 2
    assert found[1].memory_limit_bytes < 2 * GIB and found[1].share == 100
