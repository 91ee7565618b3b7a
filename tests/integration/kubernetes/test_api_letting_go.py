"""What an API server keeps of what is over or deleted, as paddock relies on it: said of both."""

from __future__ import annotations

from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.objects import CONFIG, JOB, NAMESPACE, POD, VOLUME, Object
from tests.kit.cluster.plainly import Http, a_job, a_pod, conditions, holds

WORK = {"name": "work", "persistentVolumeClaim": {"claimName": "work"}}


def a_claim(http: Http, *finalizers: str) -> None:
    size = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    meta: Object = {"name": "work"}
    if finalizers:
        meta["finalizers"] = list(finalizers)
    code, _ = http("POST", VOLUME, body={"metadata": meta, "spec": size})
    assert code == 201


def is_going(cluster: AnyCluster) -> bool:
    claim = cluster.find(VOLUME, "work")
    return claim is not None and "deletionTimestamp" in claim["metadata"]


def test_a_claim_outlives_its_deletion_while_it_is_used(http: Http, cluster: AnyCluster) -> None:
    a_claim(http)
    http("POST", POD, body=a_pod("one", volumes=[WORK]))
    holds(cluster, cluster.alive)
    http("DELETE", VOLUME, "work")
    assert is_going(cluster)
    http("DELETE", POD, "one")
    holds(cluster, lambda: cluster.find(VOLUME, "work") is None)


def test_a_pod_that_is_over_holds_its_claim_and_a_quota_counts_it(
    http: Http, cluster: AnyCluster
) -> None:
    cluster.set_quota(persistentvolumeclaims="1")
    a_claim(http)
    http("POST", JOB, body=a_job("one", "exit=0", pod={"volumes": [WORK]}))
    holds(cluster, lambda: ("Complete", "CompletionsReached") in conditions(cluster, "one"))
    http("DELETE", VOLUME, "work")
    code, told = http("POST", VOLUME, body={"metadata": {"name": "next"}, "spec": _size()})
    assert code == 403 and "exceeded quota" in told["message"]
    assert is_going(cluster)
    http("PATCH", JOB, "one", {"spec": {"ttlSecondsAfterFinished": 1}})  # though it has ended
    holds(cluster, lambda: cluster.find(JOB, "one") is None)
    holds(cluster, lambda: cluster.find(VOLUME, "work") is None)


def _size() -> Object:
    return {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}


def test_a_namespace_that_is_deleted_takes_nothing_in_and_waits_for_what_is_held(
    http: Http, cluster: AnyCluster
) -> None:
    a_claim(http, "example.com/held")
    name = cluster.namespace
    code, _ = http("DELETE", NAMESPACE, name)
    assert code in (200, 202)
    code, told = http("POST", CONFIG, body={"metadata": {"name": "late"}, "data": {}})
    assert code == 403 and "because it is being terminated" in told["message"]
    holds(cluster, lambda: is_going(cluster))
    code, _ = http("DELETE", NAMESPACE, name)  # once more is no mistake
    assert code in (200, 202)
    assert cluster.find(NAMESPACE, name) is not None
    http("PATCH", VOLUME, "work", {"metadata": {"finalizers": None}})
    holds(cluster, lambda: cluster.find(NAMESPACE, name) is None)
