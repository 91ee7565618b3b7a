"""What is rendered: all that was asked for, with its values, as a stream and as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from paddock.cluster.tiers import TIERS
from paddock.config.settings import SETTINGS
from paddock.core.run import Attempt
from paddock.core.units import GIB
from paddock.drivers.kubernetes.manifests import Names, job_of
from paddock.drivers.kubernetes.settings import KubernetesSettings
from paddock.manifests import rendering
from paddock.manifests.values import Values
from paddock.observe.alerts import JOB
from paddock.ports import Launch

FILES = rendering.render(Values(argo=True))
OBJECTS = rendering.all_of(FILES)


def the(kind: str, name: str) -> dict[str, Any]:
    [found] = [one for one in OBJECTS if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


def test_the_kinds_are_those_that_were_asked_for() -> None:
    kinds = {one["kind"] for one in OBJECTS}
    assert kinds >= {
        *("Namespace", "PriorityClass", "ResourceQuota", "LimitRange", "NetworkPolicy"),
        *("ServiceAccount", "Role", "RoleBinding", "Deployment", "CustomResourceDefinition"),
        *("PodDisruptionBudget", "HorizontalPodAutoscaler", "VerticalPodAutoscaler"),
        *("PodMonitor", "PrometheusRule", "ConfigMap"),
    }


def test_a_prometheus_finds_the_controllers_and_is_let_in() -> None:
    pod = the("Deployment", "paddock-controller")["spec"]["template"]
    [container] = pod["spec"]["containers"]
    spec = the("PodMonitor", "paddock-controller")["spec"]
    [endpoint] = spec["podMetricsEndpoints"]
    assert spec["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    assert pod["metadata"]["labels"][spec["jobLabel"]] == JOB  # as the rules ask for it
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    port = ports[endpoint["port"]]
    words = container["args"]
    assert words[words.index("--metrics") + 1] == f"0.0.0.0:{port}"
    probes, scrapes = the("NetworkPolicy", "controller")["spec"]["ingress"]
    assert [one["port"] for one in probes["ports"]] == [ports["health"]] and "from" not in probes
    assert [one["port"] for one in scrapes["ports"]] == [port]
    [peer] = scrapes["from"]
    assert peer["namespaceSelector"] == {}  # of any namespace
    assert peer["podSelector"]["matchLabels"] == {"app.kubernetes.io/name": "prometheus"}


def test_alerts_lead_to_runbooks_where_they_are_served() -> None:
    said = rendering.render(Values(runbooks="https://wiki.example/x"))["monitoring.yaml"]
    [rules] = [one for one in said if one["kind"] == "PrometheusRule"]
    for rule in [rule for group in rules["spec"]["groups"] for rule in group["rules"]]:
        wanted = f"https://wiki.example/x/{rule['alert']}.md"
        assert rule["annotations"]["runbook_url"] == wanted


def test_quotas_are_those_of_the_source_in_two_parts() -> None:
    compute = the("ResourceQuota", "agent-platform-quota")["spec"]["hard"]
    objects = the("ResourceQuota", "agent-platform-objects")["spec"]["hard"]
    cpu = {"requests.cpu": "20", "limits.cpu": "40"}
    memory = {"requests.memory": "80Gi", "limits.memory": "160Gi"}
    assert compute == cpu | memory | {"pods": "30"}
    assert (objects["requests.storage"], objects["persistentvolumeclaims"]) == ("500Gi", "20")
    assert (objects["services"], objects["configmaps"], objects["secrets"]) == ("10", "50", "30")


def test_controllers_scale_from_two_to_ten_at_their_pace() -> None:
    spec = the("HorizontalPodAutoscaler", "paddock-controller")["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 10)
    found = {each["resource"]["name"]: each["resource"]["target"] for each in spec["metrics"]}
    assert found["cpu"]["averageUtilization"] == 70
    assert found["memory"]["averageUtilization"] == 80
    assert spec["behavior"]["scaleUp"]["stabilizationWindowSeconds"] == 300
    assert spec["behavior"]["scaleDown"]["policies"][0]["value"] == 50


def test_nobody_speaks_to_agents_and_they_speak_to_the_world_but_not_the_cluster() -> None:
    spec = the("NetworkPolicy", "agents")["spec"]
    launch = Launch(
        attempt=Attempt("a", 1),
        command=("true",),
        environment={},
        directory=Path("/"),
        limit_bytes=GIB,
    )
    job = job_of(launch, Names("0123456789abcdef"), KubernetesSettings(image="agents:1"))
    [rule] = spec["podSelector"]["matchExpressions"]
    assert rule["operator"] == "Exists"
    assert rule["key"] in job["spec"]["template"]["metadata"]["labels"]  # it does select them
    assert spec["policyTypes"] == ["Ingress", "Egress"] and "ingress" not in spec
    names, world = spec["egress"]
    assert {one["port"] for one in names["ports"]} == {53}
    assert world["to"] == [{"ipBlock": {"cidr": "0.0.0.0/0", "except": list(Values().closed)}}]
    assert {"10.0.0.0/8", "169.254.0.0/16"} <= set(Values().closed)


def test_the_three_priorities_of_agents_and_one_above_them() -> None:
    values = {
        one["metadata"]["name"]: one["value"] for one in OBJECTS if one["kind"] == "PriorityClass"
    }
    agents = ("agent-high-priority", "agent-standard-priority", "agent-low-priority")
    assert [values.pop(name) for name in agents] == [1000, 500, 100]
    assert values == {"paddock-controller": 10_000}


def test_every_tier_fits_what_a_container_may_have() -> None:
    [containers] = [
        part
        for part in the("LimitRange", "agent-platform-limits")["spec"]["limits"]
        if part["type"] == "Container"
    ]
    assert all(tier.cpu_limit <= float(containers["max"]["cpu"]) for tier in TIERS)
    most = int(containers["max"]["memory"].removesuffix("Gi")) << 30
    assert all(tier.memory_limit_bytes <= most for tier in TIERS)


def test_without_operators_nothing_asks_for_them() -> None:
    plain = rendering.all_of(rendering.render(Values(monitoring=False, vertical=False)))
    apis = {one["apiVersion"].split("/")[0] for one in plain}
    assert not apis & {"monitoring.coreos.com", "autoscaling.k8s.io"}
    assert all(one["metadata"].get("namespace") != "argo" for one in plain)


def test_a_kind_comes_first_and_a_namespace_before_what_is_in_it() -> None:
    assert [one["kind"] for one in OBJECTS[:2]] == ["CustomResourceDefinition", "Namespace"]


def test_what_controllers_read_is_a_configuration_without_a_mistake() -> None:
    text = the("ConfigMap", "paddock-controller")["data"]["config.yaml"]
    said = yaml.safe_load(text)["kubernetes"]
    known = {setting.name for setting in SETTINGS if setting.section == "kubernetes"}
    assert set(said) <= known
    assert said["high_priority_class"] in {
        one["metadata"]["name"] for one in OBJECTS if one["kind"] == "PriorityClass"
    }


def test_files_are_for_kustomize_and_hold_the_same(tmp_path: Path) -> None:
    written = list(rendering.write(FILES, tmp_path / "cluster"))
    table = yaml.safe_load((tmp_path / "cluster/kustomization.yaml").read_text(encoding="utf-8"))
    assert sorted(table["resources"]) == sorted(FILES)
    assert {path.name for path in written} == {*FILES, "kustomization.yaml"}
    read = [
        one
        for name in table["resources"]
        for one in yaml.safe_load_all((tmp_path / "cluster" / name).read_text(encoding="utf-8"))
    ]
    assert read == OBJECTS


def test_the_stream_reads_back() -> None:
    assert list(yaml.safe_load_all(rendering.stream(OBJECTS))) == OBJECTS
