"""What an API server does, as paddock relies on it: the same said of the stand-in and a real one.

Each of these holds of a real server; most of them the stand-in once had otherwise.
"""

from __future__ import annotations

import json
import threading

import pytest

from paddock.cluster.agent_run import crd
from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.objects import (
    BUDGET,
    EVENT,
    JOB,
    LEASE,
    LIMITS,
    POD,
    Object,
    Refusal,
)
from tests.kit.cluster.plainly import Http, a_job, a_pod, conditions, holds
from tests.kit.cluster.replicas import AGENT_RUNS

# -- versions -------------------------------------------------------------------------------------


def test_who_has_seen_an_old_version_is_told_so_by_name(http: Http) -> None:
    lease = {"metadata": {"name": "one"}, "spec": {"holderIdentity": "a"}}
    _, first = http("POST", LEASE, body=lease)
    assert http("PUT", LEASE, "one", {**first, "spec": {"holderIdentity": "b"}})[0] == 200
    code, told = http("PUT", LEASE, "one", {**first, "spec": {"holderIdentity": "c"}})
    assert (code, told["reason"]) == (409, "Conflict")
    begin = 'Operation cannot be fulfilled on leases.coordination.k8s.io "one": the object has been'
    assert told["message"].startswith(begin)
    code, told = http("PUT", LEASE, "one", lease)
    assert (code, told["reason"]) == (422, "Invalid")
    assert "must be specified for an update" in told["message"]


def test_a_patch_may_name_the_version_it_has_seen(http: Http) -> None:
    _, job = http("POST", JOB, body=a_job("one", suspend=True))
    note = {"annotations": {"a": "b"}}
    assert http("PATCH", JOB, "one", {"metadata": note})[0] == 200
    old = {"resourceVersion": job["metadata"]["resourceVersion"], **note}
    assert http("PATCH", JOB, "one", {"metadata": {**old, "labels": {"c": "d"}}})[0] == 409


def test_a_second_of_the_same_name_is_told_so(http: Http) -> None:
    assert http("POST", JOB, body=a_job("one", suspend=True))[0] == 201
    code, told = http("POST", JOB, body=a_job("one", suspend=True))
    assert (code, told["reason"]) == (409, "AlreadyExists")
    assert told["message"] == 'jobs.batch "one" already exists'


def test_what_is_fixed_stays_and_what_is_nowhere_is_not_found(http: Http) -> None:
    http("POST", JOB, body=a_job("one", suspend=True))
    other = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 9}}}}
    code, told = http("PATCH", JOB, "one", other)
    assert (code, told["reason"]) == (422, "Invalid") and "immutable" in told["message"]
    path = http.path(POD).replace("namespaces/", "namespaces/not-")
    answer = http.client.post(path, json={**a_pod("x"), "apiVersion": "v1", "kind": "Pod"})
    assert answer.status_code == 404 and "namespaces" in answer.json()["message"]
    code, told = http("GET", JOB, fieldSelector="spec.suspend=true")
    assert code == 400 and "not supported" in told["message"]


# -- lists and watches ----------------------------------------------------------------------------


def test_a_list_in_pieces_is_one_list(http: Http) -> None:
    for number in range(5):
        http("POST", LEASE, body={"metadata": {"name": f"l{number}"}, "spec": {}})
    _, first = http("GET", LEASE, limit="2")
    http("DELETE", LEASE, "l4")  # too late: the list is of before
    names, versions, part = [], set(), first
    while True:
        names += [one["metadata"]["name"] for one in part["items"]]
        versions.add(part["metadata"]["resourceVersion"])
        if not part["metadata"].get("continue"):
            break
        _, part = http("GET", LEASE, limit="2", **{"continue": part["metadata"]["continue"]})
    assert names == [f"l{number}" for number in range(5)] and len(versions) == 1


def test_what_ceases_to_fit_a_selector_is_told_as_deleted(http: Http) -> None:
    for name, labels in (("in", {"fits": "yes"}), ("out", {})):
        http("POST", LEASE, body={"metadata": {"name": name, "labels": labels}, "spec": {}})
    _, found = http("GET", LEASE, labelSelector="fits=yes")
    version = found["metadata"]["resourceVersion"]
    http("PATCH", LEASE, "in", {"metadata": {"labels": {"fits": "no"}}})
    http("PATCH", LEASE, "out", {"metadata": {"labels": {"fits": "yes"}}})
    told = http.watch(LEASE, labelSelector="fits=yes", resourceVersion=version)
    seen = [next(told), next(told)]
    told.close()
    said = [(one["type"], one["object"]["metadata"]["name"]) for one in seen]
    assert said == [("DELETED", "in"), ("ADDED", "out")]
    assert int(seen[0]["object"]["metadata"]["resourceVersion"]) > int(version)


def test_a_watch_from_too_long_ago_is_granted_and_says_so(http: Http, cluster: AnyCluster) -> None:
    _, found = http("GET", POD)
    http("POST", LEASE, body={"metadata": {"name": "later"}, "spec": {}})
    cluster.compact()
    version = found["metadata"]["resourceVersion"]
    (told,) = http.watch(POD, resourceVersion=version)
    assert told["type"] == "ERROR"
    assert (told["object"]["code"], told["object"]["reason"]) == (410, "Expired")
    assert "too old resource version" in told["object"]["message"]


def test_a_quiet_watch_says_at_its_end_how_far_it_has_come(http: Http) -> None:
    """So that whoever goes on from there need not list everything anew."""
    _, found = http("GET", LEASE)
    version = found["metadata"]["resourceVersion"]
    asked = {"allowWatchBookmarks": "true", "timeoutSeconds": "6"}
    *_, mark = http.watch(LEASE, resourceVersion=version, **asked)
    assert mark["type"] == "BOOKMARK"
    assert int(mark["object"]["metadata"]["resourceVersion"]) >= int(version)


def test_a_busy_watch_ends_in_its_time_and_the_next_loses_nothing(http: Http) -> None:
    _, found = http("GET", LEASE)
    version, names = found["metadata"]["resourceVersion"], [f"l{number}" for number in range(80)]

    def write() -> None:
        for name in names:
            http("POST", LEASE, body={"metadata": {"name": name}, "spec": {}})

    seen: list[str] = []
    writing, watches = threading.Thread(target=write), 0
    writing.start()
    while len(seen) < len(names) and watches < 60:
        watches += 1
        asked = {"allowWatchBookmarks": "true", "timeoutSeconds": "1"}
        for event in http.watch(LEASE, resourceVersion=version, **asked):
            version = event["object"]["metadata"]["resourceVersion"]
            seen += [event["object"]["metadata"]["name"]] if event["type"] == "ADDED" else []
    writing.join()
    assert seen == names


# -- admission ------------------------------------------------------------------------------------


def test_over_a_quota_the_refusal_has_the_figures(http: Http, cluster: AnyCluster) -> None:
    cluster.set_quota(limits_memory="1536Mi", limits_cpu="1500m", pods="5")
    assert http("POST", POD, body=a_pod("one"))[0] == 201
    code, told = http("POST", POD, body=a_pod("two"))
    assert (code, told["reason"]) == (403, "Forbidden")
    assert told["message"] == (
        'pods "two" is forbidden: exceeded quota: quota, '
        "requested: limits.cpu=1,limits.memory=1Gi, "
        "used: limits.cpu=1,limits.memory=1Gi, limited: limits.cpu=1500m,limits.memory=1536Mi"
    )
    code, told = http("POST", POD, body=a_pod("three", resources={}))
    why = "failed quota: quota: must specify limits.cpu for: agent; limits.memory for: agent"
    assert (code, told["message"]) == (403, f'pods "three" is forbidden: {why}')


def test_what_a_quota_holds_is_free_again_when_a_pod_is_over(
    http: Http, cluster: AnyCluster
) -> None:
    cluster.set_quota(limits_memory="1Gi", limits_cpu="9")
    assert http("POST", POD, body=a_pod("one", "exit=0"))[0] == 201
    holds(cluster, lambda: http("POST", POD, body=a_pod("two"))[0] == 201)
    assert {one["metadata"]["name"] for one in cluster.pods()} == {"one", "two"}


def test_a_range_fills_in_what_is_not_said(http: Http) -> None:
    rule = {"type": "Container", "max": {"cpu": "2", "memory": "2Gi"}}
    rule |= {"default": {"memory": "1Gi"}, "defaultRequest": {"memory": "512Mi"}}
    _, limits = http("POST", LIMITS, body={"metadata": {"name": "l"}, "spec": {"limits": [rule]}})
    assert limits["spec"]["limits"][0]["default"] == {"cpu": "2", "memory": "1Gi"}
    said = {"limits": {"memory": "2Gi"}}
    _, pod = http("POST", POD, body=a_pod("one", resources=said))
    assert pod["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "2", "memory": "2Gi"},
        "requests": {"cpu": "2", "memory": "2Gi"},  # who names a limit asks for all of it
    }
    code, told = http("POST", POD, body=a_pod("two", resources={"limits": {"memory": "3Gi"}}))
    why = "maximum memory usage per Container is 2Gi, but limit is 3Gi"
    assert (code, told["message"]) == (403, f'pods "two" is forbidden: {why}')
    code, told = http("POST", POD, body=a_pod("three", resources={"requests": {"memory": "2Gi"}}))
    assert (code, told["reason"]) == (422, "Invalid")  # more than the limit that was filled in
    assert "must be less than or equal to memory limit" in told["message"]


def test_a_class_that_is_missing_is_known_when_the_pod_is_made(
    http: Http, cluster: AnyCluster
) -> None:
    code, told = http("POST", POD, body=a_pod("one", priorityClassName="nobody"))
    why = "no PriorityClass with name nobody was found"
    assert (code, told["message"]) == (403, f'pods "one" is forbidden: {why}')
    assert http("POST", JOB, body=a_job("two", pod={"priorityClassName": "nobody"}))[0] == 201
    about = "involvedObject.name=two,reason=FailedCreate"
    found = holds(cluster, lambda: http("GET", EVENT, fieldSelector=about)[1]["items"])
    assert "no PriorityClass with name nobody" in found[0]["message"]
    assert not cluster.pods()


# -- Jobs and pods --------------------------------------------------------------------------------


def test_a_job_says_what_it_aims_at_before_it_has_ended(http: Http, cluster: AnyCluster) -> None:
    http("POST", JOB, body=a_job("good", "exit=0"))
    http("POST", JOB, body=a_job("bad", "exit=3"))
    http("POST", JOB, body=a_job("late", "sleep=600", activeDeadlineSeconds=8))
    expected = {
        "good": [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")],
        "bad": [("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded")],
        "late": [("FailureTarget", "DeadlineExceeded"), ("Failed", "DeadlineExceeded")],
    }
    for name, told in expected.items():
        holds(cluster, lambda name=name: len(conditions(cluster, name)) == 2)
        assert conditions(cluster, name) == told


def test_a_suspended_job_has_not_failed(http: Http, cluster: AnyCluster) -> None:
    http("POST", JOB, body=a_job("one", "sleep=600"))
    holds(cluster, cluster.alive)
    http("PATCH", JOB, "one", {"spec": {"suspend": True}})
    holds(cluster, lambda: not cluster.pods())
    holds(cluster, lambda: conditions(cluster, "one"))
    assert conditions(cluster, "one") == [("Suspended", "JobSuspended")]
    assert not (cluster.find(JOB, "one") or {})["status"].get("failed")


def test_a_job_deleted_without_a_word_leaves_its_pod(http: Http, cluster: AnyCluster) -> None:
    http("POST", JOB, body=a_job("one", "sleep=600"))
    holds(cluster, cluster.alive)
    http("DELETE", JOB, "one")
    holds(cluster, lambda: cluster.find(JOB, "one") is None)
    (pod,) = cluster.pods()
    assert "deletionTimestamp" not in pod["metadata"] and cluster.alive() == 1
    http("POST", JOB, body=a_job("two", "sleep=600"))
    holds(cluster, lambda: cluster.alive() == 2)
    http("DELETE", JOB, "two", propagationPolicy="Background")
    holds(
        cluster,
        lambda: [one["metadata"]["uid"] for one in cluster.pods()] == [pod["metadata"]["uid"]],
    )


def test_an_eviction_asks_the_budget_first(http: Http, cluster: AnyCluster) -> None:
    http("POST", POD, body=a_pod("one", "sleep=600"))
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "one"}}}
    http("POST", BUDGET, body={"metadata": {"name": "keep"}, "spec": spec})
    holds(cluster, cluster.alive)
    about = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "one"}}
    path = http.path(POD, "one", "eviction")

    def refused() -> Object | None:
        told: Object = http.client.post(path, json=about).json()
        assert told["code"] == 429 and told["reason"] == "TooManyRequests"
        settled = "still being processed" not in json.dumps(told)
        return told if settled else None

    told = holds(cluster, refused)
    assert "would violate the pod's disruption budget" in told["message"]
    assert told["details"]["causes"][0]["reason"] == "DisruptionBudget"
    http("DELETE", BUDGET, "keep")
    cluster.evict("one")
    holds(cluster, lambda: not cluster.pods())


# -- AgentRuns ------------------------------------------------------------------------------------


def test_agent_runs_are_held_to_their_schema(http: Http, cluster: AnyCluster) -> None:
    cluster.define(crd())
    spec = {"command": ["true"], "nonsense": 1}
    _, made = http("POST", AGENT_RUNS, body={"metadata": {"name": "one"}, "spec": spec})
    assert made["spec"] == {"command": ["true"], "priority": "normal"}  # pruned, and filled in
    wrong = {"command": ["true"], "priority": "urgent"}
    with pytest.raises(Refusal, match="priority"):
        cluster.create(AGENT_RUNS, {"metadata": {"name": "two"}, "spec": wrong})
    http("PATCH", AGENT_RUNS, "one", {"status": {"state": "running"}})
    _, seen = http("GET", AGENT_RUNS, "one")
    assert "status" not in seen  # it is written at its own address only
    _, seen = http("PATCH", AGENT_RUNS, "one", {"status": {"state": "running"}}, sub="status")
    assert seen["status"] == {"state": "running"}
    code, told = http("PATCH", AGENT_RUNS, "one", {"status": {"state": "asleep"}}, sub="status")
    assert (code, told["reason"]) == (422, "Invalid")
    _, seen = http("PATCH", AGENT_RUNS, "one", {"spec": {"command": ["false"]}})
    assert seen["metadata"]["generation"] == 2
