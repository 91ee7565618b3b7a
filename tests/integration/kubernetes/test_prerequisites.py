"""`paddock kubernetes check --cluster`: what is there, what is missing, and what to do about it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.kubernetes.test_apply import VPA, a_kind
from tests.kit.cluster.objects import CRD, NAMESPACE, PRIORITY, Kind, Refusal
from tests.kit.cluster.site import IMAGES, SPACE, Site
from tests.kit.cluster.standin import Cluster

ACCOUNT = Kind("", "v1", "serviceaccounts", "ServiceAccount")
RULE = Kind("monitoring.coreos.com", "v1", "prometheusrules", "PrometheusRule")
PLAIN = ("--no-vpa", "--no-monitoring")


def look(site: Site, *words: str) -> dict[str, list[dict[str, Any]]]:
    """By name."""
    told = site.paddock("check", "--cluster", *IMAGES, *words, "--json")
    found: dict[str, list[dict[str, Any]]] = {}
    for one in told.json():
        found.setdefault(one["name"], []).append(one)
    assert told.code == (1 if any(one["verdict"] == "missing" for one in told.json()) else 0)
    return found


def only(found: dict[str, list[dict[str, Any]]], name: str) -> dict[str, Any]:
    (one,) = found[name]
    return one


def test_an_empty_cluster_lacks_what_apply_brings_and_every_line_says_so(site: Site) -> None:
    found = look(site)
    assert only(found, "version")["verdict"] == "good"
    assert only(found, "AgentRun")["mend"] == "paddock kubernetes apply"
    assert only(found, "namespace")["verdict"] == "missing"
    assert only(found, "priority classes")["verdict"] == "missing"
    assert only(found, "rights")["verdict"] == "good"
    assert only(found, "vertical autoscaler")["verdict"] == "note"
    assert only(found, "storage class")["mend"].startswith("kubernetes.storage_class")
    every = [one for ones in found.values() for one in ones]
    assert all(one["mend"] for one in every if one["verdict"] != "good")
    assert all("\n" not in one["what"] + one["mend"] for one in every)


def test_after_apply_nothing_is_missing(site: Site) -> None:
    site.add_storage()
    site.apply(*PLAIN)
    site.controllers_ready()
    told = site.paddock("check", "--cluster", *IMAGES, *PLAIN)
    assert told.code == 0, told.out
    assert "good     AgentRun: is served as v1" in told.out
    assert "good     controllers: 2 serve" in told.out
    assert "nothing is missing" in told.err


def test_the_storage_class_is_the_one_that_is_configured(site: Site) -> None:
    site.add_storage("slow", default=True)
    assert only(look(site), "storage class")["what"] == "there is no fast-ssd"
    site.config(storage_class="slow")
    assert only(look(site), "storage class")["verdict"] == "good"
    site.config(storage_class="default")
    assert "slow" in only(look(site), "storage class")["what"]


def test_rights_that_are_lacking_are_named_by_kind_and_verb(stand_in: Site) -> None:
    """Roles only ever allow: a real cluster cannot let somebody do everything but this."""
    site = stand_in
    assert isinstance(site.cluster, Cluster)
    denied = {("create", "namespaces"), ("patch", "resourcequotas"), ("get", "pods/log")}
    api = site.cluster.api
    site.cluster.call(lambda: api.rights.denied.update(denied))
    told = {one["what"] for one in look(site)["rights"]}
    assert told == {
        "you may not create namespaces, which are the whole cluster's",
        f"you may not patch resourcequotas in {SPACE}",
        f"you may not get pods/log in {SPACE}",
    }


def test_somebody_without_any_right_is_told_so_and_nothing_else_breaks(site: Site) -> None:
    site.become_nobody()
    found = look(site)
    assert {one["verdict"] for one in found["rights"]} == {"missing"}
    told = [one["what"] for one in found["rights"]]
    assert "you may not get, create, patch namespaces, which are the whole cluster's" in told
    assert f"you may not list, watch, create, patch, delete jobs.batch in {SPACE}" in told
    assert "could not be looked at" in only(found, "capacity")["what"]
    told_by_apply = site.apply()
    assert told_by_apply.code == 3 and told_by_apply.err.count("\n") == 1
    assert "for want of rights" in told_by_apply.err


def test_metrics_and_operators_are_looked_for_where_something_needs_them(stand_in: Site) -> None:
    """Where nobody serves metrics; the tests' nodes do so for a real API server."""
    site = stand_in
    assert isinstance(site.cluster, Cluster)
    api = site.cluster.api
    site.cluster.call(lambda: setattr(api, "metrics", False))
    site.make(CRD, a_kind(VPA))
    found = look(site, "--argo", "--no-monitoring")
    assert only(found, "metrics server")["verdict"] == "note"
    assert only(found, "external metrics")["verdict"] == "note"
    assert only(found, "vertical autoscaler")["verdict"] == "good"
    assert "Prometheus operator" not in found


@pytest.mark.parametrize("there", [True, False])
def test_of_each_prerequisite_it_is_said_whether_it_is_there(
    stand_in: Site, *, there: bool
) -> None:
    """All that K8S-6 names, but capacity, which every cluster has some of."""
    site = stand_in
    assert isinstance(site.cluster, Cluster)
    api = site.cluster.api
    site.cluster.call(lambda: setattr(api, "metrics", there))
    if there:
        site.add_storage()
        for kind in (VPA, RULE):
            site.make(CRD, a_kind(kind))
    found = look(site)
    named = ("metrics server", "vertical autoscaler", "Prometheus operator", "storage class")
    verdicts = [only(found, name)["verdict"] for name in named]
    assert verdicts == (["good"] * 4 if there else ["note", "note", "note", "missing"])
    if not there:
        assert "--no-monitoring" in only(found, "Prometheus operator")["mend"]


def test_a_class_of_the_same_name_and_another_value_is_a_conflict(site: Site) -> None:
    site.make(PRIORITY, {"metadata": {"name": "agent-low-priority"}, "value": 7})
    other = {"metadata": {"name": "everybody"}, "value": 600, "globalDefault": True}
    site.make(PRIORITY, other)
    told = [one["what"] for one in look(site)["priority classes"]]
    assert "agent-low-priority is 7, not 100" in told
    assert any(
        "everybody (600) is everybody's default, above agent-standard" in one for one in told
    )


def test_capacity_and_quotas_are_held_against_each_other(site: Site) -> None:
    assert [one["verdict"] for one in look(site)["capacity"]] == ["good", "good"]
    found = look(site, "--quota", "limits.memory=300Gi", "--quota", "requests.cpu=100")
    assert [one["verdict"] for one in found["capacity"]] == ["missing", "note"]
    site.apply("--quota", "limits.memory=4Gi", "--quota", "requests.memory=4Gi")
    site.controllers_ready()
    site.submit("one", "sleep=600", memory="4G")
    site.until(lambda: site.status("one").get("state") == "running")
    told = [one["what"] for one in look(site)["quotas"]]
    assert "agent-platform-quota: 4Gi of 4Gi limits.memory are used" in told


def test_pull_secrets_and_pods_that_cannot_pull(site: Site) -> None:
    site.make(NAMESPACE, {"metadata": {"name": SPACE}})
    account = {"metadata": {"name": "default"}, "imagePullSecrets": [{"name": "registry"}]}
    assert only(look(site), "image pull secret")["verdict"] == "note"
    site.put(ACCOUNT, account)
    assert only(look(site), "image pull secret")["verdict"] == "missing"


def test_what_may_not_be_looked_at_keeps_no_other_back(site: Site) -> None:
    def hide(verb: str, path: str) -> Refusal | None:
        hidden = "nodes" in path and verb == "list"
        return (
            Refusal(403, "Forbidden", 'User "me" cannot list resource "nodes"') if hidden else None
        )

    site.cluster.hook(hide)
    found = look(site)
    assert "could not be looked at" in only(found, "capacity")["what"]
    assert "quotas" in found


@pytest.mark.parametrize("words", [("a.yaml",), ("--version", "1.36")])
def test_files_and_clusters_are_two_questions(site: Site, words: tuple[str, ...]) -> None:
    told = site.paddock("check", "--cluster", *words)
    assert told.code == 2
    assert "--cluster looks at a cluster" in told.err
