"""`paddock kubernetes remove`: everything of ours goes, and no work that is nowhere else."""

from __future__ import annotations

from tests.kit.cluster.objects import (
    BINDING,
    CONFIG,
    CRD,
    DEPLOYMENT,
    JOB,
    NAMESPACE,
    POD,
    PRIORITY,
    QUOTA,
    ROLE,
    VOLUME,
    Kind,
    Refusal,
)
from tests.kit.cluster.replicas import AGENT_RUNS
from tests.kit.cluster.site import SPACE, Site

SECRET = Kind("", "v1", "secrets", "Secret")
STATEFUL = Kind("apps", "v1", "statefulsets", "StatefulSet")


def test_nothing_is_left_of_an_installation(site: Site) -> None:
    site.apply()
    site.controllers_ready()
    site.submit("one", "exit=0")
    site.ended("one")
    told = site.paddock("remove", "--dry-run")
    assert told.code == 0 and "removed" in told.out
    assert site.find(DEPLOYMENT, "paddock-controller") is not None
    told = site.paddock("remove")
    assert told.code == 0, told.out
    assert site.all(CRD) == []
    assert site.all(PRIORITY) == []
    site.until(lambda: site.find(NAMESPACE, SPACE) is None)
    for kind in (DEPLOYMENT, QUOTA, ROLE, BINDING, CONFIG, JOB):
        assert site.all(kind) == []
    site.until(lambda: site.all(POD) == [])
    again = site.paddock("remove")
    assert again.code == 0
    assert "nothing to do" in again.err


def test_volumes_of_runs_that_did_not_succeed_stay_with_their_namespace(site: Site) -> None:
    site.apply()
    site.controllers_ready()
    site.submit("bad", "exit=3")
    site.submit("good", "exit=0")
    site.ended("bad", "good")
    site.until(lambda: len(site.all(VOLUME)) == 1)
    told = site.paddock("remove")
    assert told.code == 0, told.out
    assert "may hold work that is nowhere else: --volumes" in told.out
    assert "kept       Namespace agent-platform: volumes are in it" in told.out
    (volume,) = site.all(VOLUME)
    assert not volume["metadata"].get("ownerReferences")
    assert site.all(AGENT_RUNS) == [] and site.all(CRD) == []
    told = site.paddock("remove", "--volumes")
    assert site.all(VOLUME) == []
    site.until(lambda: site.find(NAMESPACE, SPACE) is None)


def test_what_is_going_already_is_said_to_and_holds_nothing_up(site: Site) -> None:
    """A claim that something still holds, its namespace that waits for it, and one whose run has
    just succeeded."""
    site.apply()
    meta = {"name": "held", "labels": {"app.kubernetes.io/managed-by": "paddock"}}
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    held = {"metadata": {**meta, "finalizers": ["example.com/held"]}, "spec": spec}
    site.make(VOLUME, held)
    site.delete(VOLUME, "held")
    going = "it was going already, and goes when nothing holds it any more"
    told = site.paddock("remove", "--dry-run")
    assert f"PersistentVolumeClaim agent-platform/held: {going}" in told.out
    told = site.paddock("remove")
    assert told.code == 0, told.out
    assert f"removed    PersistentVolumeClaim agent-platform/held: {going}" in told.out
    assert "kept" not in told.out and "refused" not in told.out
    assert site.the(NAMESPACE, SPACE)["metadata"]["deletionTimestamp"]
    again = site.paddock("remove")
    assert again.code == 0, again.out
    assert f"removed    Namespace agent-platform: {going}" in again.out
    site.cluster.let_go(VOLUME, "held", SPACE)
    site.until(lambda: site.find(NAMESPACE, SPACE) is None)


def test_a_volume_that_goes_while_it_is_looked_at_is_no_trouble(site: Site) -> None:
    site.apply()
    site.controllers_ready()
    site.submit("bad", "exit=3")
    site.ended("bad")
    (volume,) = site.all(VOLUME)
    asked: list[str] = []

    def gone(verb: str, path: str) -> Refusal | None:
        if verb == "patch" and path.endswith(volume["metadata"]["name"]):
            asked.append(path)
            return Refusal(404, "NotFound", "not found")
        return None

    site.cluster.hook(gone)
    told = site.paddock("remove")
    assert told.code == 0, told.out
    assert asked and "it had gone by itself" in told.out


def test_agents_at_work_are_not_ended_unless_that_is_said(site: Site) -> None:
    site.apply()
    site.controllers_ready()
    site.submit("busy", "sleep=600")
    site.until(lambda: site.status("busy").get("state") == "running")
    told = site.paddock("remove")
    assert told.code == 3
    assert "1 agents are at work" in told.err and told.err.count("\n") == 1
    assert site.find(DEPLOYMENT, "paddock-controller") is not None
    told = site.paddock("remove", "--force")
    assert told.code == 0, told.out
    site.until(lambda: site.agents() == [])
    assert len(site.all(VOLUME)) == 1


def test_what_another_paddock_needs_stays(site: Site) -> None:
    site.apply()
    site.apply("--namespace", "others")
    told = site.paddock("remove")
    assert told.code == 0, told.out
    assert "paddock lives in others, too" in told.out
    assert len(site.all(PRIORITY)) == 4
    assert len(site.all(CRD)) == 1
    site.until(lambda: site.find(NAMESPACE, SPACE) is None)
    site.paddock("remove", "--namespace", "others")
    assert site.all(PRIORITY) == [] and site.all(CRD) == []


def test_a_namespace_with_other_things_in_it_stays(site: Site) -> None:
    site.apply()
    site.make(SECRET, {"metadata": {"name": "mine"}})
    told = site.paddock("remove")
    assert "Secret agent-platform/mine is in it, which is not paddock's" in told.out
    assert site.find(NAMESPACE, SPACE) is not None
    assert site.all(DEPLOYMENT) == []


def test_work_of_others_keeps_the_namespace_also_where_all_its_pods_have_an_owner(
    site: Site,
) -> None:
    site.apply()
    pod = {"containers": [{"name": "db", "image": "registry.example/db:1"}]}
    labels = {"app": "db"}
    spec = {
        "serviceName": "db",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    site.make(STATEFUL, {"metadata": {"name": "db"}, "spec": spec})
    told = site.paddock("remove")
    assert "StatefulSet agent-platform/db is in it, which is not paddock's" in told.out
    assert site.find(NAMESPACE, SPACE) is not None
