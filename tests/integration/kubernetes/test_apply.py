"""`paddock kubernetes apply`: from nothing, again, half way, and beside others."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest

from paddock.cluster.agent_run import crd
from tests.kit.cluster.objects import (
    BUDGET,
    CONFIG,
    CRD,
    DEPLOYMENT,
    JOB,
    LEASE,
    NAMESPACE,
    POD,
    PRIORITY,
    QUOTA,
    ROLE,
    SCALER,
    VOLUME,
    Kind,
    Refusal,
)
from tests.kit.cluster.replicas import AGENT_RUNS
from tests.kit.cluster.site import CONTROLLER, SPACE, Site

VPA = Kind("autoscaling.k8s.io", "v1", "verticalpodautoscalers", "VerticalPodAutoscaler")
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
ALPHA = Kind("paddock.dev", "v1alpha1", "agentruns", "AgentRun", has_status=True)


def a_kind(kind: Kind) -> dict[str, Any]:
    """A definition that takes anything."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": kind.version, "served": True, "storage": True}
    notes = {"api-approved.kubernetes.io": "unapproved, a test's"}  # for a group of Kubernetes' own
    return {
        "metadata": {"name": kind.full_name, "annotations": notes},
        "spec": {
            "group": kind.group,
            "scope": "Namespaced",
            "names": {"plural": kind.plural, "kind": kind.kind},
            "versions": [{**version, "schema": {"openAPIV3Schema": anything}}],
        },
    }


def counts(site: Site, *words: str) -> Counter[str]:
    told = site.apply(*words, "--json")
    return Counter(told.json()["counts"])


def test_from_nothing_to_agents_that_run_in_one_command(site: Site) -> None:
    told = site.apply("--no-vpa", "--no-monitoring")
    assert told.code == 0, told.err
    assert "created    Namespace agent-platform" in told.out
    assert told.out.index("Namespace") < told.out.index("CustomResourceDefinition")
    assert told.out.index("Role ") < told.out.index("Deployment")
    site.controllers_ready()
    site.submit("good", "print=hello", "exit=0", role="quality")
    site.submit("after", "exit=0", needs=["good"])
    site.ended("good", "after")
    assert [site.status(name)["outcome"] for name in ("good", "after")] == ["succeeded"] * 2


def test_controllers_may_do_all_that_they_do(site: Site) -> None:
    """Their Role is all that they have: whatever it lacks is refused, as a cluster would."""
    site.apply("--quota", "limits.memory=6Gi", "--quota", "requests.memory=6Gi")
    site.controllers_ready()
    site.submit("good", "exit=0", memory="1G")
    site.submit("bad", "exit=3", memory="1G")
    site.submit("soft", "sleep=600", memory="1G", soft_timeout="1s", timeout="3s")
    site.ended("good", "bad", "soft")
    site.submit("busy", "sleep=600", memory="1G")
    site.submit("large", "exit=0", memory="6G")
    site.until(lambda: site.status("busy").get("state") == "running")
    site.until(lambda: "quota" in site.status("large").get("because", ""))
    site.submit("wide", "exit=0", memory="1G", cpu=8)  # more than a container may have
    site.until(lambda: "maximum cpu" in site.status("wide").get("because", ""))
    site.change(AGENT_RUNS, "wide", {"spec": {"cancel": True}})
    leader = site.the(LEASE, CONTROLLER)["spec"]["holderIdentity"]
    site.delete(POD, leader)
    site.until(lambda: site.the(LEASE, CONTROLLER)["spec"]["holderIdentity"] not in ("", leader))
    site.change(AGENT_RUNS, "busy", {"spec": {"cancel": True}})
    site.ended("busy", "large", "wide")
    renewals = site.cluster.calls["update leases"]
    site.until(lambda: site.cluster.calls["update leases"] > renewals + 1)
    assert site.cluster.refused() == []


def test_a_second_time_changes_nothing(site: Site) -> None:
    assert counts(site)["created"] >= 20
    before = [site.all(kind) for kind in (PRIORITY, ROLE, CONFIG, NAMESPACE)]
    again = counts(site)
    assert set(again) == {"unchanged", "left out"}
    assert [site.all(kind) for kind in (PRIORITY, ROLE, CONFIG, NAMESPACE)] == before


def test_what_changed_is_shown_and_only_that(site: Site) -> None:
    site.apply()
    told = site.apply("--quota", "pods=40", "--at-once")
    changed = [line for line in told.out.splitlines() if line.startswith("changed")]
    assert changed == [
        "changed    ResourceQuota agent-platform/agent-platform-quota: spec.hard.pods 30 → 40"
    ]


def test_a_dry_run_asks_the_cluster_and_leaves_nothing(site: Site) -> None:
    told = site.apply("--dry-run")
    assert told.code == 0, told.err
    assert "nothing was changed" in told.err
    assert "created" in told.out
    assert site.find(NAMESPACE, SPACE) is None
    assert site.all(CRD) == []
    site.apply()
    told = site.apply("--dry-run", "--quota", "pods=40", "--at-once")
    assert "spec.hard.pods 30 → 40" in told.out
    assert site.the(QUOTA, "agent-platform-quota")["spec"]["hard"]["pods"] == "30"


def test_kinds_that_the_cluster_lacks_are_left_out_with_one_line_each(site: Site) -> None:
    told = site.apply("--argo")
    left = [line for line in told.out.splitlines() if line.startswith("left out")]
    assert told.code == 0
    assert len(left) == 5
    assert any("VerticalPodAutoscaler" in line and "--no-vpa" in line for line in left)
    for kind in ("PrometheusRule", "PodMonitor"):
        assert any(kind in line and "--no-monitoring" in line for line in left)
    assert any("there is no namespace argo" in line for line in left)
    site.make(CRD, a_kind(VPA))
    site.make(NAMESPACE, {"metadata": {"name": "argo"}})
    told = site.apply("--argo")
    assert "created    VerticalPodAutoscaler" in told.out
    assert site.find(BUDGET, "argo-server", "argo") is not None


def test_what_somebody_else_has_set_is_one_line_and_theirs_until_forced(site: Site) -> None:
    site.apply()
    hard = {"spec": {"hard": {"pods": "12"}}}
    edit(site, QUOTA, "agent-platform-quota", hard, manager="kubectl-edit")
    told = site.apply("--quota", "pods=40", "--at-once")
    assert told.code == 1
    (refused,) = [line for line in told.out.splitlines() if line.startswith("refused")]
    assert refused.endswith(".spec.hard.pods was set by kubectl-edit: --force takes it over")
    assert site.the(QUOTA, "agent-platform-quota")["spec"]["hard"]["pods"] == "12"
    assert site.apply("--quota", "pods=40", "--at-once", "--force").code == 0
    assert site.the(QUOTA, "agent-platform-quota")["spec"]["hard"]["pods"] == "40"
    assert counts(site, "--quota", "pods=40") == counts(site, "--quota", "pods=40")


def test_replicas_that_an_autoscaler_has_set_are_left_to_it(site: Site) -> None:
    site.apply()
    edit(site, DEPLOYMENT, CONTROLLER, {"spec": {"replicas": 3}}, manager="kube-controller-manager")
    told = site.apply()
    assert told.code == 0, told.out
    assert site.the(DEPLOYMENT, CONTROLLER)["spec"]["replicas"] == 3


def test_cut_off_half_way_it_is_simply_said_again(site: Site) -> None:
    def cut(verb: str, path: str) -> Refusal | None:
        if verb == "patch" and "deployments" in path:
            return Refusal(403, "Forbidden", 'User "me" cannot patch resource "deployments"')
        return None

    site.cluster.hook(cut)
    told = site.apply()
    assert told.code == 1
    assert "for want of rights" in told.out
    assert site.find(DEPLOYMENT, CONTROLLER) is None
    assert site.revisions() == []
    site.cluster.no_hook()
    told = site.apply()
    assert told.code == 0
    assert "created    Deployment" in told.out
    assert [one["state"] for one in site.revisions()] == ["current"]


def test_without_a_namespace_nothing_else_is_tried(site: Site) -> None:
    def deny(verb: str, path: str) -> Refusal | None:
        if verb == "patch" and path.endswith(f"/namespaces/{SPACE}"):
            return Refusal(403, "Forbidden", 'User "me" cannot patch resource "namespaces"')
        return None

    site.cluster.hook(deny)
    told = site.apply()
    assert told.code == 1
    assert len(told.out.splitlines()) == 2
    assert "everything else: needs Namespace agent-platform" in told.out


def test_no_cluster_is_one_line(site: Site) -> None:
    site.cluster.go_down()
    told = site.apply()
    assert told.code == 69
    assert told.out == "" and told.err.count("\n") == 1
    assert "cannot be reached" in told.err
    site.cluster.come_up()


def test_what_is_rendered_no_more_goes_where_that_is_said(site: Site) -> None:
    site.make(NAMESPACE, {"metadata": {"name": "argo"}})
    site.apply("--argo")
    assert site.find(BUDGET, "argo-server", "argo") is not None
    assert "removed" not in site.apply().out
    told = site.apply("--prune")
    removed = [line for line in told.out.splitlines() if line.startswith("removed")]
    assert len(removed) == 2
    assert site.find(BUDGET, "argo-server", "argo") is None
    assert site.find(SCALER, CONTROLLER) is not None
    assert site.find(CONFIG, "paddock-sizes") is not None


def test_a_class_whose_value_is_another_is_refused_and_keeps_no_other_back(site: Site) -> None:
    wanted = {"metadata": {"name": "agent-low-priority"}, "value": 7}
    site.make(PRIORITY, wanted)
    told = site.apply()
    assert told.code == 1
    assert "refused    PriorityClass agent-low-priority" in told.out
    assert "its value is 7, not 100, and may not be changed" in told.out
    told = site.apply("--force")
    assert told.code == 1 and "may not be changed" in told.out
    assert site.find(DEPLOYMENT, CONTROLLER) is not None


def test_agent_runs_of_an_older_stored_version_are_written_anew(site: Site) -> None:
    """A cluster of an earlier paddock, whose kind was v1alpha1 and knew less."""
    older = copy.deepcopy(crd())
    (version,) = older["spec"]["versions"]
    version["name"] = ALPHA.version
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["cancel"]
    known = {"apiVersion": CRD.api_version, "kind": CRD.kind, **older}
    edit(site, CRD, older["metadata"]["name"], known, manager="paddock", how=APPLY)
    site.make(NAMESPACE, {"metadata": {"name": SPACE}})
    spec = {"command": ["exit=0"]}
    site.until(lambda: is_served(site, ALPHA))
    site.make(ALPHA, {"metadata": {"name": "old"}, "spec": spec})
    site.until(lambda: site.the(CRD, crd()["metadata"]["name"]).get("status"))
    told = site.apply()
    assert told.code == 0, told.out
    definition = site.the(CRD, crd()["metadata"]["name"])
    assert definition["status"]["storedVersions"] == ["v1"]
    assert [one["name"] for one in definition["spec"]["versions"]] == ["v1"]
    assert [one["apiVersion"] for one in site.all(AGENT_RUNS)] == ["paddock.dev/v1"]
    site.submit("new", "exit=0")
    site.ended("old", "new")


def test_a_server_refuses_to_forget_a_stored_version(site: Site) -> None:
    """Without that the test above would show nothing."""
    older = copy.deepcopy(crd())
    older["spec"]["versions"][0]["name"] = ALPHA.version
    site.make(CRD, older)
    name = crd()["metadata"]["name"]
    site.until(lambda: site.the(CRD, name).get("status"))
    with pytest.raises(Refusal, match=r"must remain in spec\.versions"):
        edit(site, CRD, name, {"spec": crd()["spec"]}, manager="kubectl")


def is_served(site: Site, kind: Kind) -> bool:
    import httpx2

    where = f"{site.cluster.url}/apis/{kind.group}/{kind.version}/{kind.plural}"
    return httpx2.get(where).status_code == 200


def edit(  # noqa: PLR0913 - each by name
    site: Site, kind: Kind, name: str, patch: dict[str, Any], *, manager: str, how: str = MERGE
) -> None:
    """As somebody with another program would, over HTTP."""
    import httpx2

    space = f"namespaces/{SPACE}/" if kind.namespaced else ""
    root = f"apis/{kind.group}/{kind.version}" if kind.group else f"api/{kind.version}"
    answer = httpx2.patch(
        f"{site.cluster.url}/{root}/{space}{kind.plural}/{name}",
        params={"fieldManager": manager},
        headers={"content-type": how},
        json=patch,
    )
    if answer.is_error:
        told = answer.json()
        raise Refusal(answer.status_code, told["reason"], told["message"])


def test_controllers_do_with_agents_what_a_daemon_of_these_settings_would(site: Site) -> None:
    said = {"access_mode": "ReadWriteMany", "user": 1234, "volumes": True, "keep_finished": "2d"}
    site.config(**said, start_timeout="20m")
    site.apply()
    site.controllers_ready()
    site.submit("one", "sleep=600", memory="1G")
    site.until(lambda: site.status("one").get("state") == "running")
    (job,), (claim,) = site.all(JOB), site.all(VOLUME)
    assert job["spec"]["ttlSecondsAfterFinished"] == 2 * 86_400
    assert job["spec"]["template"]["spec"]["securityContext"]["runAsUser"] == 1234
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    site.config(volumes=False)
    site.apply()
    assert site.settings()["volumes"] is False and "user" not in site.settings()
