"""The figures that were asked for (K8S-3), where no rule of the check holds them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.manifests.test_rendering import OBJECTS, the


def share(value: int) -> dict[str, Any]:
    return {"type": "Percent", "value": value, "periodSeconds": 60}


def test_controllers_scale_up_after_five_minutes_and_down_after_fifteen() -> None:
    spec = the("HorizontalPodAutoscaler", "paddock-controller")["spec"]
    assert spec["behavior"] == {
        "scaleUp": {"stabilizationWindowSeconds": 300, "policies": [share(100)]},
        "scaleDown": {"stabilizationWindowSeconds": 900, "policies": [share(50)]},
    }
    assert (
        spec["scaleTargetRef"]["name"]
        == the("Deployment", "paddock-controller")["metadata"]["name"]
    )


def test_the_workflow_server_scales_by_its_cpu_and_by_what_runs() -> None:
    spec = the("HorizontalPodAutoscaler", "argo-server")["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 8)
    cpu, running = spec["metrics"]
    assert cpu["resource"]["target"] == {"type": "Utilization", "averageUtilization": 60}
    assert running["external"] == {
        "metric": {
            "name": "argo_workflows_gauge",
            "selector": {"matchLabels": {"phase": "Running"}},
        },
        "target": {"type": "AverageValue", "averageValue": "20"},
    }


def test_right_sizing_stays_within_its_bounds_and_puts_nobody_out() -> None:
    spec = the("VerticalPodAutoscaler", "paddock-controller")["spec"]
    [container] = spec["resourcePolicy"]["containerPolicies"]
    assert container["minAllowed"] == {"cpu": "100m", "memory": "128Mi"}
    assert container["maxAllowed"] == {"cpu": "8", "memory": "32Gi"}
    assert container["controlledResources"] == ["cpu", "memory"]
    assert spec["updatePolicy"] == {"updateMode": "Initial"}


@pytest.mark.parametrize(("name", "least"), [("paddock-controller", 1), ("argo-server", "50%")])
def test_somebody_is_always_there(name: str, least: int | str) -> None:
    assert the("PodDisruptionBudget", name)["spec"]["minAvailable"] == least


def test_a_budget_of_controllers_selects_them() -> None:
    chosen = the("PodDisruptionBudget", "paddock-controller")["spec"]["selector"]["matchLabels"]
    pod = the("Deployment", "paddock-controller")["spec"]["template"]["metadata"]
    assert chosen and chosen.items() <= pod["labels"].items()


def test_there_are_two_controllers_and_each_is_asked_how_it_is() -> None:
    spec = the("Deployment", "paddock-controller")["spec"]
    assert spec["replicas"] == 2
    [container] = spec["template"]["spec"]["containers"]
    named = {one["name"] for one in container["ports"]}
    paths = {"livenessProbe": "/healthz", "readinessProbe": "/readyz"}
    for probe, path in paths.items():
        assert container[probe]["httpGet"]["path"] == path
        assert container[probe]["httpGet"]["port"] in named


def test_who_says_nothing_asks_for_a_core_and_4g_and_volumes_have_their_sizes() -> None:
    container, volume = the("LimitRange", "agent-platform-limits")["spec"]["limits"]
    assert container["defaultRequest"] == {"cpu": "1", "memory": "4Gi"}
    # The source's 2 CPU and 8Gi refuse who asks for more and names no limit: decision 0015.
    assert container["default"] == {"cpu": "4", "memory": "16Gi"} == container["max"]
    assert (volume["type"], volume["min"], volume["max"]) == (
        "PersistentVolumeClaim",
        {"storage": "1Gi"},
        {"storage": "100Gi"},
    )


def test_no_priority_of_ours_is_everybodys() -> None:
    found = [one["globalDefault"] for one in OBJECTS if one["kind"] == "PriorityClass"]
    assert found == [False] * 4
