"""How many agents fit into a namespace, each kind alone and a fleet together."""

from collections.abc import Sequence
from typing import Any

import pytest

from paddock.cluster.tiers import Tier
from paddock.core.run import Attempt, Priority
from paddock.core.units import GIB
from paddock.manifests.rendering import all_of, render
from paddock.manifests.values import HIGH, LOW, STANDARD, Values
from paddock.simulate.fleet import FleetRun, fleet_plans
from paddock.simulate.in_cluster import ClusterAnswer, answer
from paddock.simulate.quota import (
    Gate,
    Namespace,
    NoQuota,
    Rules,
    Wish,
    rules_of,
    sizes_of,
    wish_of,
)
from tests.kit.cluster.platform import controllers, limit_range, quota

CLASSES = {
    Priority.CRITICAL: HIGH,
    Priority.HIGH: HIGH,
    Priority.NORMAL: STANDARD,
    Priority.LOW: LOW,
}
RULES = rules_of((), CLASSES, volumes=True)


def fits(objects: Sequence[dict[str, Any]], rules: Rules = RULES) -> dict[str, int]:
    namespace = Namespace(objects)
    found = [namespace.alone(sized) for sized in sizes_of(rules)]
    return {one.sized.role or "other": one.count for one in found}


def held_by(objects: Sequence[dict[str, Any]], role: str) -> tuple[str, ...]:
    namespace = Namespace(objects)
    (found,) = [namespace.alone(one) for one in sizes_of(RULES) if one.role == role]
    return found.held_by


def test_so_many_of_each_role_fit_into_the_quota_of_the_source() -> None:
    found = fits([quota(), limit_range()])
    assert found == {"implementation": 10, "quality": 20, "testing": 10, "other": 20}


def test_the_controllers_beside_them_eat_what_two_agents_could_have() -> None:
    found = fits([quota(), limit_range(), controllers()])
    assert found == {"implementation": 9, "quality": 18, "testing": 9, "other": 18}


def test_the_rendered_quotas_leave_the_controllers_out() -> None:
    found = fits(all_of(render(Values(image="paddock:1", agents_image="agents:1"))))
    assert found == {"implementation": 10, "quality": 20, "testing": 10, "other": 20}


def test_it_says_what_is_all_used_when_no_more_fit() -> None:
    objects = [quota(), limit_range()]
    assert "requests.storage" in held_by(objects, "testing")
    assert held_by(objects, "quality").count("persistentvolumeclaims") == 1
    assert "pods" not in held_by(objects, "quality")


def test_what_is_used_already_is_taken_off() -> None:
    used = {**quota(), "status": {"used": {"requests.cpu": "19", "limits.memory": "0"}}}
    assert fits([used]) == {"implementation": 0, "quality": 1, "testing": 0, "other": 1}


def test_ones_own_tiers_come_before_the_built_in_ones() -> None:
    small = Tier("testing", 1, 1, 2 * GIB, 2 * GIB, 10 * GIB)
    large = Tier("writing", 8, 8, 32 * GIB, 32 * GIB, 10 * GIB, "huge")
    found = fits([quota()], rules_of((small, large), CLASSES, volumes=True))
    assert found["testing"] == 20 and found["writing"] == 2 and found["quality"] == 20


def test_a_tier_that_only_some_get_is_told_beside_the_one_of_the_others() -> None:
    trial = Tier("testing", 1, 1, 2 * GIB, 2 * GIB, 10 * GIB, share=25)
    namespace = Namespace([quota()])
    rules = rules_of((trial,), CLASSES, volumes=True)
    found = [namespace.alone(sized) for sized in sizes_of(rules) if sized.role == "testing"]
    assert [(one.sized.share, one.count) for one in found] == [(25, 20), (100, 10)]


def test_without_volumes_nobody_is_held_by_them() -> None:
    few = quota()
    few["spec"]["hard"]["persistentvolumeclaims"] = "3"
    assert fits([few])["quality"] == 3
    assert fits([few], rules_of((), CLASSES, volumes=False))["quality"] == 20


def test_what_a_limit_range_refuses_never_fits_and_says_why() -> None:
    tight = limit_range()
    tight["spec"]["limits"][0]["max"] = {"memory": "8Gi"}
    tight["spec"]["limits"][1]["max"] = {"storage": "20Gi"}
    found = fits([quota(), tight])
    assert found == {"implementation": 0, "quality": 20, "testing": 0, "other": 20}
    (why,) = held_by([quota(), tight], "implementation")
    assert why == "the LimitRange agent-platform-limits allows 8Gi memory, and 16Gi are asked for"


def test_without_a_quota_there_is_no_number() -> None:
    with pytest.raises(NoQuota, match="there is no ResourceQuota"):
        Namespace([limit_range()])
    other = {**quota(), "metadata": {"name": "other", "namespace": "elsewhere"}}
    with pytest.raises(NoQuota, match="agent-platform, elsewhere"):
        Namespace([quota(), other])


def test_a_quota_of_other_classes_counts_nobody() -> None:
    rule = {"scopeName": "PriorityClass", "operator": "In", "values": ["others"]}
    scoped = quota()
    scoped["spec"]["scopeSelector"] = {"matchExpressions": [rule]}
    with pytest.raises(NoQuota, match="see its priority class and scopes"):
        fits([scoped])


# -- a fleet together -----------------------------------------------------------------------------


def a_wish(name: str, role: str, priority: Priority = Priority.NORMAL) -> Wish:
    memory = {"implementation": 16, "testing": 16, "quality": 8}[role] * GIB
    return wish_of(name, memory, {"role": role}, priority)


def simulated(wishes: Sequence[Wish], objects: Sequence[dict[str, Any]]) -> ClusterAnswer:
    runs = [
        FleetRun(
            name=wish.attempt.run,
            group=wish.labels["role"],
            priority=int(wish.priority),
            limit_bytes=wish.limit_bytes,
        )
        for wish in wishes
    ]
    plans = fleet_plans(runs, workload="steady", seed=1)
    return answer("a fleet", plans, Gate(Namespace(objects), wishes, RULES))


def test_as_many_run_at_once_as_fit_alone_and_all_come_to_their_turn() -> None:
    wishes = [a_wish(f"run-{number}", "quality") for number in range(45)]
    found = simulated(wishes, [quota(), limit_range()]).as_json()
    assert found["peak_agents"] == 20 and found["peak_roles"] == {"quality": 20}
    assert (found["completed"], found["lost"]) == (45, 0)
    assert max(sum(each["running"].values()) for each in found["moments"]) == 20


def test_a_mixed_fleet_fills_the_quota_by_priority() -> None:
    wishes = [a_wish(f"q-{number}", "quality", Priority.LOW) for number in range(10)]
    wishes += [a_wish(f"t-{number}", "testing") for number in range(3)]
    wishes += [a_wish(f"i-{number}", "implementation", Priority.HIGH) for number in range(6)]
    found = simulated(wishes, [quota(), limit_range()])
    at, who = found.moments[0]
    assert at == 0.0 and who == {"implementation": 6, "quality": 2, "testing": 3}
    assert found.as_json()["completed"] == 19


def test_the_same_question_has_the_same_answer() -> None:
    wishes = [a_wish(f"run-{number}", "testing") for number in range(25)]
    first, again = (simulated(wishes, [quota()]).as_json() for _ in range(2))
    assert first == again


def test_a_door_that_is_not_memory_lets_in_whoever_fits_later() -> None:
    """By pods: the core does not know of them, the driver says so, and is asked again."""
    few = quota()
    few["spec"]["hard"]["pods"] = "2"
    found = simulated([a_wish(f"run-{number}", "quality") for number in range(7)], [few]).as_json()
    assert found["peak_agents"] == 2 and found["completed"] == 7
    assert list(found["put_off"]) == ["pods"]


def test_the_volume_of_a_run_is_taken_once_however_often_it_is_tried() -> None:
    gate = Gate(Namespace([quota()]), [a_wish("a", "testing")], RULES)
    assert gate.take(Attempt("a", 1), 16 * GIB) is None
    gate.gone(Attempt("a", 1))
    assert gate.take(Attempt("a", 2), 16 * GIB) is None
    (used,) = [one["status"]["used"] for one in gate.namespace.quotas()]
    assert used["persistentvolumeclaims"] == "1" and used["pods"] == "1"
    gate.gone(Attempt("a", 2))
    gate.ended("a")
    (used,) = [one["status"]["used"] for one in gate.namespace.quotas()]
    assert set(used.values()) == {"0"}
