"""What may differ from one cluster to the next; everything else is the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from paddock.cluster.tiers import Tier
from paddock.observe.rules import RUNBOOKS

NAMESPACE: Final = "agent-platform"
IMAGE: Final = "paddock:latest"

# What a namespace may ask for in all, with the fifth above expected use in it.
COMPUTE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "requests.cpu": "20",
        "requests.memory": "80Gi",
        "limits.cpu": "40",
        "limits.memory": "160Gi",
        "pods": "30",
    }
)
OBJECTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "requests.storage": "500Gi",
        "persistentvolumeclaims": "20",
        "services": "10",
        "configmaps": "50",
        "secrets": "30",
    }
)
# In the order of paddock's own priorities: critical and high share the first.
HIGH, STANDARD, LOW = "agent-high-priority", "agent-standard-priority", "agent-low-priority"
CONTROLLER_CLASS: Final = "paddock-controller"
PRIORITIES: Final[Mapping[str, tuple[int, str]]] = MappingProxyType(
    {
        HIGH: (1000, "Critical and high priority: gives way last"),
        STANDARD: (500, "Normal priority: what a run gets that says nothing"),
        LOW: (100, "Low priority: testing, development, heartbeats; gives way first"),
        CONTROLLER_CLASS: (10_000, "paddock's controllers: no agent takes their place"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    namespace: str = NAMESPACE
    image: str = IMAGE  # of the controllers
    agents_image: str = IMAGE  # with the agents' programs and /bin/sh
    replicas: int = 2
    compute: Mapping[str, str] = field(default_factory=lambda: COMPUTE)
    objects: Mapping[str, str] = field(default_factory=lambda: OBJECTS)
    tiers: tuple[Tier, ...] = ()  # of one's own, before those that are built in
    storage_class: str | None = None  # of agents' volumes; None: what paddock takes by itself
    secret: str | None = None  # whose keys become variables of agents
    said: Mapping[str, Any] = field(default_factory=dict)  # what else was set under `kubernetes:`
    argo_namespace: str = "argo"
    argo: bool = False  # an Argo Workflows server that is there already is scaled and protected
    monitoring: bool = True  # PodMonitor, PrometheusRule and dashboard: need their operator
    vertical: bool = True  # VerticalPodAutoscaler: needs its controller
    runbooks: str = RUNBOOKS  # where whoever reads an alert finds docs/operate/alerts
    # Where agents must not reach: the cluster itself, and what clouds tell their machines.
    closed: tuple[str, ...] = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16")
    labels: Mapping[str, str] = field(default_factory=dict)
