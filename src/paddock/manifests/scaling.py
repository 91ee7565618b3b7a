"""What grows and shrinks by itself: replicas of servers, requests of the controllers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from .objects import CONTROLLER, Object, an_object
from .values import Values

ARGO: Final = "argo-server"  # its name, and its label `app`, in Argo's own manifests
RUNNING: Final = "argo_workflows_gauge"
UP_S, DOWN_S = 300, 900


def scaling(values: Values) -> Iterator[Object]:
    yield controllers_hpa(values)
    if values.vertical:
        yield controllers_vpa(values)
    if values.argo:
        yield argo_hpa(values)
        yield argo_budget(values)


def controllers_hpa(values: Values) -> Object:
    return _hpa(
        values,
        CONTROLLER,
        most=10,
        metrics=[_resource("cpu", 70), _resource("memory", 80)],
        why="Only the leader works, and more replicas are more that stand by: this keeps two of "
        "them there, and more where a node is so busy that standing by is hard. It shares no work.",
        behavior={
            "scaleUp": _pace(UP_S, percent=100),
            "scaleDown": _pace(DOWN_S, percent=50),
        },
    )


def argo_hpa(values: Values) -> Object:
    running = {
        "type": "External",
        "external": {
            "metric": {"name": RUNNING, "selector": {"matchLabels": {"phase": "Running"}}},
            "target": {"type": "AverageValue", "averageValue": "20"},
        },
    }
    return _hpa(
        values,
        ARGO,
        namespace=values.argo_namespace,
        most=8,
        metrics=[_resource("cpu", 60), running],
    )


def argo_budget(values: Values) -> Object:
    return an_object(
        values,
        "policy/v1",
        "PodDisruptionBudget",
        ARGO,
        namespace=values.argo_namespace,
        spec={"minAvailable": "50%", "selector": {"matchLabels": {"app": ARGO}}},
    )


def controllers_vpa(values: Values) -> Object:
    """Of the controllers. Each attempt of an agent is a Job of its own, which no VPA can follow;
    what agents should ask for is in `paddock report`."""
    bounds = {
        "containerName": "controller",
        "minAllowed": {"cpu": "100m", "memory": "128Mi"},
        "maxAllowed": {"cpu": "8", "memory": "32Gi"},
        "controlledResources": ["cpu", "memory"],
        "controlledValues": "RequestsOnly",
    }
    return an_object(
        values,
        "autoscaling.k8s.io/v1",
        "VerticalPodAutoscaler",
        CONTROLLER,
        spec={
            "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": CONTROLLER},
            # Counts for pods that begin: nobody is put out for it.
            "updatePolicy": {"updateMode": "Initial"},
            "resourcePolicy": {"containerPolicies": [bounds]},
        },
    )


def _hpa(  # noqa: PLR0913 - what an HPA says
    values: Values,
    name: str,
    *,
    most: int,
    metrics: list[dict[str, Any]],
    namespace: str = "",
    why: str = "",
    **rest: Any,
) -> Object:
    return an_object(
        values,
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        name,
        namespace=namespace,
        why=why,
        spec={
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 2,
            "maxReplicas": most,
            "metrics": metrics,
            **rest,
        },
    )


def _resource(name: str, percent: int) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def _pace(window_s: int, *, percent: int) -> dict[str, Any]:
    policy = {"type": "Percent", "value": percent, "periodSeconds": 60}
    return {"stabilizationWindowSeconds": window_s, "policies": [policy]}
