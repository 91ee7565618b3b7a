"""A namespace as its owner would size it: quota, defaults, classes, and two controllers in it."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

NAMESPACE = "agent-platform"
CLASSES = {
    "agent-high-priority": 1000,
    "agent-standard-priority": 500,
    "agent-low-priority": 100,
}


def quota() -> Object:
    """Of everything in the namespace: also the controllers count."""
    hard = {
        "requests.cpu": "20",
        "requests.memory": "80Gi",
        "limits.cpu": "40",
        "limits.memory": "160Gi",
        "requests.storage": "500Gi",
        "persistentvolumeclaims": "20",
        "pods": "30",
        "services": "10",
        "configmaps": "50",
        "secrets": "30",
    }
    return _an_object("v1", "ResourceQuota", "agent-platform-quota", spec={"hard": hard})


def limit_range() -> Object:
    containers = {
        "type": "Container",
        "default": {"cpu": "2000m", "memory": "8Gi"},
        "defaultRequest": {"cpu": "1000m", "memory": "4Gi"},
    }
    volumes = {
        "type": "PersistentVolumeClaim",
        "max": {"storage": "100Gi"},
        "min": {"storage": "1Gi"},
    }
    spec = {"limits": [containers, volumes]}
    return _an_object("v1", "LimitRange", "agent-platform-limits", spec=spec)


def controllers() -> Object:
    """Two, which say no sizes of their own: they get the defaults."""
    pod = {"containers": [{"name": "controller", "image": "controller:1"}]}
    spec = {"replicas": 2, "template": {"spec": pod}}
    return _an_object("apps/v1", "Deployment", "coderun-controller", spec=spec)


def _an_object(version: str, kind: str, name: str, **rest: Any) -> Object:
    meta = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **rest}
