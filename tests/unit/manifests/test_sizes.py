"""Sizes: what lies between two of them, how they differ, and what is expected of them."""

from __future__ import annotations

import dataclasses

from paddock.cluster.tiers import GIB, TIERS, Tier, in_force, place_of, tier_of
from paddock.manifests.sizes import Sizes, between, changed, differences, quota_for, same
from paddock.manifests.values import COMPUTE, OBJECTS

QUOTA = {**COMPUTE, **OBJECTS}
SMALL = Tier("quality", 1, 2, 2 * GIB, 4 * GIB, 10 * GIB)
LARGE = dataclasses.replace(SMALL, memory_limit_bytes=6 * GIB)


def sizes(*tiers: Tier, **quota: str) -> Sizes:
    said = {name.replace("_", "."): value for name, value in quota.items()}
    return Sizes(tiers=tiers, quota={**QUOTA, **said})


def test_half_of_all_runs_get_a_tier_of_half_the_share() -> None:
    half = dataclasses.replace(LARGE, share=50)
    got = [tier_of("quality", "", (half, SMALL), at=place_of(f"run-{n}")) for n in range(1000)]
    assert 400 < got.count(half) < 600
    assert got.count(half) + got.count(SMALL) == 1000


def test_a_run_has_the_same_place_every_time() -> None:
    assert place_of("run-1") == place_of("run-1")
    assert all(0 <= place_of(f"run-{n}") < 100 for n in range(100))


def test_at_a_stage_the_new_tier_has_its_share_before_the_old_one() -> None:
    stage = between(sizes(SMALL), sizes(LARGE), 25)
    assert stage.tiers == (dataclasses.replace(LARGE, share=25), SMALL)
    assert tier_of("quality", "", stage.tiers, at=24).memory_limit_bytes == 6 * GIB
    assert tier_of("quality", "", stage.tiers, at=25) == SMALL


def test_a_tier_that_is_taken_out_goes_in_stages_too() -> None:
    stage = between(sizes(SMALL), sizes(), 10)
    (built_in,) = [one for one in TIERS if one.role == "quality"]
    assert stage.tiers == (dataclasses.replace(built_in, share=10), SMALL)
    assert tier_of("quality", "", stage.tiers, at=50) == SMALL


def test_quotas_move_their_part_of_the_way_up_and_down() -> None:
    old, new = sizes(), sizes(limits_memory="320Gi", limits_cpu="20", pods="31")
    stage = between(old, new, 25).quota
    assert (stage["limits.memory"], stage["limits.cpu"], stage["pods"]) == ("200Gi", "35", "30")
    assert stage["requests.storage"] == "500Gi"
    assert between(old, new, 100) == new


def test_differences_are_told_and_none_where_both_mean_the_same() -> None:
    assert list(differences(sizes(SMALL), sizes(LARGE, pods="40"))) == [
        "tier quality: memory_limit 4G → 6G",
        "quota pods: 30 → 40",
    ]
    (built_in,) = [one for one in TIERS if one.role == "quality"]
    assert same(sizes(), sizes(built_in))
    assert same(sizes(limits_cpu="40"), sizes(limits_cpu="40000m"))
    assert [one.role for one in changed(sizes(SMALL), sizes(LARGE))] == ["quality"]


def test_the_same_sizes_have_the_same_mark_whoever_gets_them() -> None:
    assert SMALL.mark == dataclasses.replace(SMALL, role="other", model="m", share=10).mark
    assert SMALL.mark == dataclasses.replace(SMALL, cpu_request=1.0, cpu_limit=2.0).mark
    assert SMALL.mark != LARGE.mark


def test_a_quota_for_what_is_expected_has_a_fifth_more() -> None:
    found = quota_for({"implementation": 5, "quality": 5}, ())
    assert found == {
        "requests.cpu": "18",
        "limits.cpu": "36",
        "requests.memory": "72Gi",
        "limits.memory": "144Gi",
        "pods": "12",
        "requests.storage": "120Gi",
        "persistentvolumeclaims": "12",
    }
    assert quota_for({"quality": 1}, (SMALL,))["limits.memory"] == "5Gi"


def test_every_tier_in_force_is_known_to_the_range() -> None:
    roles = [(one.role, one.memory_limit_bytes >> 30) for one in in_force((LARGE,))]
    assert ("quality", 6) in roles and ("quality", 8) not in roles
    assert ("implementation", 16) in roles and ("", 4) in roles
    trial = dataclasses.replace(LARGE, share=10)
    assert ("quality", 8) in [(o.role, o.memory_limit_bytes >> 30) for o in in_force((trial,))]
