"""What is seen of agents after a change, and when that is enough to take it back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from paddock.cluster.labels import ROLE, TIER
from paddock.cluster.tiers import GIB, Tier
from paddock.manifests.sightings import Sightings

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NEW = Tier("quality", 1, 2, GIB, 2 * GIB, 10 * GIB)
OLD = Tier("quality", 1, 2, 2 * GIB, 4 * GIB, 10 * GIB)


def sightings(*tiers: Tier) -> Sightings:
    return Sightings(tiers, since=BEGAN, no_place_s=60)


def a_pod(name: str, tier: Tier = NEW, *, limit: str = "2Gi", **facts: Any) -> dict[str, Any]:
    at = facts.pop("at", BEGAN).strftime("%Y-%m-%dT%H:%M:%SZ")
    labels = {TIER: tier.mark, ROLE: "quality"}
    container = {"name": "agent", "resources": {"limits": {"memory": limit}}}
    spec: dict[str, Any] = {"containers": [container], "nodeName": "node-1"}
    if facts.pop("unplaced", False):
        del spec["nodeName"]
    return {
        "metadata": {"name": name, "labels": labels, "creationTimestamp": at},
        "spec": spec,
        "status": facts,
    }


KILLED: Any = {"containerStatuses": [{"state": {"terminated": {"reason": "OOMKilled"}}}]}


def test_one_of_ten_that_is_killed_is_enough_and_one_of_twenty_is_not() -> None:
    for count, enough in ((10, True), (20, False)):
        seen = sightings(NEW)
        for number in range(count):
            seen.hear("ADDED", a_pod(f"pod-{number}"))
        seen.hear("MODIFIED", a_pod("pod-0", **KILLED))
        assert (seen.verdict(0.05) is not None) is enough


def test_agents_that_die_under_any_size_are_no_fault_of_the_change() -> None:
    seen = sightings(NEW)
    for number in range(4):
        seen.hear("ADDED", a_pod(f"new-{number}", **(KILLED if number == 0 else {})))
        seen.hear("ADDED", a_pod(f"old-{number}", OLD, limit="4Gi", **KILLED))
    assert seen.verdict(0.05) is None
    assert (len(seen.trial.bad), len(seen.others.bad)) == (1, 4)


def test_a_run_with_a_limit_of_its_own_says_nothing_of_a_tier() -> None:
    seen = sightings(NEW)
    seen.hear("ADDED", a_pod("own", limit="256Mi", **KILLED))
    assert seen.verdict(0.0) is None


def test_who_began_before_the_change_does_not_count() -> None:
    seen = sightings(NEW)
    seen.hear("ADDED", a_pod("early", at=BEGAN - timedelta(seconds=1), **KILLED))
    assert not seen.trial.seen


def test_another_role_of_the_same_sizes_is_not_on_trial() -> None:
    seen = sightings(NEW)
    pod = a_pod("other", **KILLED)
    pod["metadata"]["labels"][ROLE] = "testing"
    seen.hear("ADDED", pod)
    assert not seen.trial.bad and seen.others.bad


def test_those_whom_their_node_puts_out_count_also_after_a_change_of_quotas_alone() -> None:
    seen = sightings()
    seen.hear("MODIFIED", a_pod("out", OLD, reason="Evicted"))
    verdict = seen.verdict(0.05)
    assert verdict is not None and "1 put out by their node" in verdict


def test_who_waits_too_long_for_a_node_counts_and_who_just_came_does_not() -> None:
    at = BEGAN.strftime("%Y-%m-%dT%H:%M:%SZ")
    waits = {"type": "PodScheduled", "reason": "Unschedulable", "lastTransitionTime": at}
    pod = a_pod("waits", unplaced=True, conditions=[waits])
    seen = sightings(NEW)
    seen.hear("ADDED", pod)
    seen.look([pod], BEGAN + timedelta(seconds=59))
    assert seen.verdict(0.0) is None
    seen.look([pod], BEGAN + timedelta(seconds=60))
    verdict = seen.verdict(0.0)
    assert verdict is not None and "1 found no node" in verdict
