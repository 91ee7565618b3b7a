"""What quotas leave, as the host that the core looks at."""

from __future__ import annotations

from typing import Any

from paddock.cluster.room import BOUNDLESS, Room, cluster_policy
from paddock.cluster.tiers import GIB, Tier
from paddock.core.pressure import Rung, rung_of

Object = dict[str, Any]
AGENTS = ("high", "standard", "low")


def a_quota(
    name: str = "quota", *, used: str = "0", classes: tuple[str, ...] = (), **hard: str
) -> Object:
    said = {key.replace("_", "."): value for key, value in hard.items()}
    spec: Object = {"hard": said}
    if classes:
        rule = {"scopeName": "PriorityClass", "operator": "In", "values": list(classes)}
        spec["scopeSelector"] = {"matchExpressions": [rule]}
    status = {"used": dict.fromkeys(said, used)}
    return {"metadata": {"name": name}, "spec": spec, "status": status}


def a_pod(memory: str, *, request: str | None = None, phase: str = "Running") -> Object:
    resources = {"limits": {"memory": memory}, "requests": {"memory": request or memory}}
    return {"status": {"phase": phase}, "spec": {"containers": [{"resources": resources}]}}


def left(*quotas: Object, pods: tuple[Object, ...] = (), **more: Any) -> int | None:
    return Room(lambda: quotas, lambda: pods, **more).sample().available_bytes


def test_without_a_quota_there_is_no_end_of_room() -> None:
    assert left() == BOUNDLESS
    assert left(a_quota(pods="3", limits_cpu="4")) == BOUNDLESS


def test_the_scarcest_line_of_memory_counts() -> None:
    one, other = a_quota(limits_memory="16Gi"), a_quota("other", limits_memory="8Gi", used="2Gi")
    assert left(one) == 16 * GIB
    assert left(one, other) == 6 * GIB


def test_what_our_own_pods_hold_is_the_cores_to_count() -> None:
    quota = a_quota(limits_memory="16Gi", used="12Gi")
    assert left(quota, pods=(a_pod("8Gi"),)) == 12 * GIB
    assert left(quota, pods=(a_pod("8Gi", phase="Succeeded"),)) == 4 * GIB


def test_requests_are_told_in_bytes_of_limits_by_the_tier_that_asks_for_least() -> None:
    assert left(a_quota(requests_memory="8Gi")) == 16 * GIB
    spare = Tier("spare", 1, 1, GIB, 4 * GIB, 10 * GIB)
    assert left(a_quota(requests_memory="8Gi"), tiers=(spare,)) == 32 * GIB


def test_a_quota_with_a_scope_counts_for_the_classes_that_agents_have() -> None:
    quota = a_quota(limits_memory="16Gi", classes=AGENTS)
    assert left(quota, classes=AGENTS) == 16 * GIB
    assert left(quota, classes=("others",)) == BOUNDLESS
    assert left(quota) == BOUNDLESS


def test_where_classes_differ_it_is_the_most_that_one_may_have() -> None:
    """Whoever may have less is told so by the driver: none waits that would fit."""
    low = a_quota("low", limits_memory="4Gi", classes=("low",))
    high = a_quota("high", limits_memory="16Gi", classes=("high",))
    assert left(low, high, classes=("high", "low")) == 16 * GIB
    assert left(low, high, classes=("low",)) == 4 * GIB


def test_no_quota_is_a_pressure() -> None:
    host = Room(lambda: [a_quota(limits_memory="1Gi", used="1Gi")], list).sample()
    assert host.available_bytes == 0
    assert rung_of(host, cluster_policy().ladder) is Rung.CALM
