"""The controllers themselves: who they are, what they may do, how they are kept alive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from paddock.cluster.labels import GROUP, digest
from paddock.config.tier_list import words_of

from .limits import HEALTH_PORT, METRICS_PORT
from .objects import CONTROLLER, Object, an_object, controller_labels
from .values import CONTROLLER_CLASS, HIGH, LOW, STANDARD, Values

SETTINGS_FILE: Final = "config.yaml"
SETTINGS_OF: Final = f"{GROUP}/settings"  # of which settings it was started; others start it anew
METRICS: Final = "metrics"  # the port
AGENT_ACCOUNT: Final = "paddock-agent"
RBAC: Final = "rbac.authorization.k8s.io"
LOOK: Final = ["get", "list", "watch"]
# All that the controllers may do, and nothing outside their own namespace.
MAY: Final = (
    (GROUP, ["agentruns"], [*LOOK, "create", "update", "patch", "delete"]),
    (GROUP, ["agentruns/status"], ["get", "update", "patch"]),
    ("batch", ["jobs"], [*LOOK, "create", "patch", "delete"]),
    ("", ["pods"], [*LOOK, "patch", "delete"]),
    ("", ["pods/log"], ["get"]),
    ("", ["persistentvolumeclaims"], [*LOOK, "create", "delete"]),
    ("", ["configmaps", "secrets"], [*LOOK, "create", "update", "patch", "delete"]),
    ("", ["resourcequotas", "limitranges"], LOOK),
    ("", ["events"], [*LOOK, "create", "patch"]),
    ("coordination.k8s.io", ["leases"], ["get", "create", "update", "patch"]),
    ("metrics.k8s.io", ["pods"], ["get", "list"]),
)


def controllers(values: Values) -> Iterator[Object]:
    for name in (CONTROLLER, AGENT_ACCOUNT):
        yield an_object(values, "v1", "ServiceAccount", name, automountServiceAccountToken=False)
    yield role(values)
    yield binding(values)
    yield settings(values)
    yield deployment(values)
    yield disruption_budget(values)


def role(values: Values) -> Object:
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": verbs}
        for group, resources, verbs in MAY
    ]
    return an_object(values, f"{RBAC}/v1", "Role", CONTROLLER, rules=rules)


def binding(values: Values) -> Object:
    subject = {"kind": "ServiceAccount", "name": CONTROLLER, "namespace": values.namespace}
    ref = {"apiGroup": RBAC, "kind": "Role", "name": CONTROLLER}
    return an_object(
        values, f"{RBAC}/v1", "RoleBinding", CONTROLLER, roleRef=ref, subjects=[subject]
    )


def settings(values: Values) -> Object:
    """What the controllers read as the host's file: where agents live, and from which image."""
    return an_object(values, "v1", "ConfigMap", CONTROLLER, data={SETTINGS_FILE: _said(values)})


def _said(values: Values) -> str:
    said: dict[str, Any] = {
        "namespace": values.namespace,
        "image": values.agents_image,
        "high_priority_class": HIGH,
        "normal_priority_class": STANDARD,
        "low_priority_class": LOW,
        "storage_class": values.storage_class,
        "secret": values.secret,
        "tiers": [words_of(tier) for tier in values.tiers],
    }
    said = {key: value for key, value in said.items() if value} | dict(values.said)
    return json.dumps({"kubernetes": said}, indent=2) + "\n"  # YAML, too


def deployment(values: Values) -> Object:
    """Two of them: one leads, the other takes its place within seconds of its death."""
    return an_object(
        values,
        "apps/v1",
        "Deployment",
        CONTROLLER,
        spec={
            "replicas": values.replicas,
            "selector": {"matchLabels": controller_labels()},
            # One at a time, and only when the new one is ready: the other leads meanwhile.
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "revisionHistoryLimit": 5,  # what `kubectl rollout undo` can go back to
            "template": {
                "metadata": {
                    "labels": controller_labels(),
                    "annotations": {SETTINGS_OF: digest(_said(values))},
                },
                "spec": _pod(values),
            },
        },
    )


def _pod(values: Values) -> dict[str, Any]:
    apart = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": controller_labels()},
    }
    return {
        "serviceAccountName": CONTROLLER,
        "automountServiceAccountToken": True,
        "priorityClassName": CONTROLLER_CLASS,
        "terminationGracePeriodSeconds": 30,
        "topologySpreadConstraints": [apart],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 1000,
            "runAsGroup": 1000,
            "fsGroup": 1000,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(values)],
        "volumes": [
            {"name": "scratch", "emptyDir": {"sizeLimit": "256Mi"}},
            {"name": "settings", "configMap": {"name": CONTROLLER}},
        ],
    }


def _container(values: Values) -> dict[str, Any]:
    return {
        "name": "controller",
        "image": values.image,
        "command": ["paddock"],
        "args": [
            *("kubernetes", "controller", "--health", f"0.0.0.0:{HEALTH_PORT}"),
            *("--metrics", f"0.0.0.0:{METRICS_PORT}"),
        ],
        "env": [{"name": "HOME", "value": "/tmp"}],
        "ports": [
            {"name": "health", "containerPort": HEALTH_PORT},
            {"name": METRICS, "containerPort": METRICS_PORT},
        ],
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "1", "memory": "256Mi"},
        },
        "livenessProbe": _probe("/healthz", first_s=10, failures=3),
        "readinessProbe": _probe("/readyz", first_s=1, failures=2),
        "volumeMounts": [
            {"name": "scratch", "mountPath": "/tmp"},
            {"name": "settings", "mountPath": "/etc/paddock", "readOnly": True},
        ],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }


def _probe(path: str, *, first_s: int, failures: int) -> dict[str, Any]:
    return {
        "httpGet": {"path": path, "port": "health"},
        "initialDelaySeconds": first_s,
        "periodSeconds": 10,
        "timeoutSeconds": 5,
        "failureThreshold": failures,
    }


def disruption_budget(values: Values) -> Object:
    spec = {"minAvailable": 1, "selector": {"matchLabels": controller_labels()}}
    return an_object(values, "policy/v1", "PodDisruptionBudget", CONTROLLER, spec=spec)
