"""How much agents may take of a cluster: namespace, quotas, defaults, priorities, networks."""

from __future__ import annotations

from collections.abc import Iterator

from paddock.cluster.labels import AGENT
from paddock.cluster.quantities import cpu_text, size_text
from paddock.cluster.tiers import in_force

from .objects import Object, an_object, controller_labels
from .values import CONTROLLER_CLASS, PRIORITIES, Values

HEALTH_PORT, METRICS_PORT = 8081, 8082
# As the operator labels the pods of a Prometheus, and its Helm chart does.
PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}
LARGEST_VOLUME, SMALLEST_VOLUME = "100Gi", "1Gi"


def limits(values: Values) -> Iterator[Object]:
    yield namespace(values)
    yield from priority_classes(values)
    yield from quotas(values)
    yield limit_range(values)
    yield from networks(values)


def namespace(values: Values) -> Object:
    found = an_object(values, "v1", "Namespace", values.namespace, namespace=None)
    # Agents run as the strictest of Kubernetes' own standards asks, and so do controllers.
    found["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "restricted"
    return found


def priority_classes(values: Values) -> Iterator[Object]:
    """None is the default of the whole cluster: that would change everybody's pods."""
    for name, (value, about) in PRIORITIES.items():
        yield an_object(
            values,
            "scheduling.k8s.io/v1",
            "PriorityClass",
            name,
            namespace=None,
            value=value,
            globalDefault=False,
            description=about,
        )


def quotas(values: Values) -> Iterator[Object]:
    """Two, because what is counted by priority can be nothing but pods: without that, the
    controllers' own pods eat what two agents could have."""
    agents = [name for name in PRIORITIES if name != CONTROLLER_CLASS]
    scope = {"operator": "In", "scopeName": "PriorityClass", "values": agents}
    yield an_object(
        values,
        "v1",
        "ResourceQuota",
        "agent-platform-quota",
        spec={
            "hard": dict(values.compute),
            "scopeSelector": {"matchExpressions": [scope]},
        },
    )
    spec = {"hard": dict(values.objects)}
    yield an_object(values, "v1", "ResourceQuota", "agent-platform-objects", spec=spec)


def limit_range(values: Values) -> Object:
    """A default limit below what somebody asks for without one would refuse that pod: so the
    defaults are the limits of the largest tier."""
    tiers = list(in_force(values.tiers))
    most = {
        "cpu": cpu_text(max(tier.cpu_limit for tier in tiers)),
        "memory": size_text(max(tier.memory_limit_bytes for tier in tiers)),
    }
    containers = {
        "type": "Container",
        "default": most,
        "defaultRequest": {"cpu": "1", "memory": "4Gi"},
        "max": dict(most),
    }
    volumes = {
        "type": "PersistentVolumeClaim",
        "max": {"storage": LARGEST_VOLUME},
        "min": {"storage": SMALLEST_VOLUME},
    }
    spec = {"limits": [containers, volumes]}
    return an_object(values, "v1", "LimitRange", "agent-platform-limits", spec=spec)


def networks(values: Values) -> Iterator[Object]:
    """Nobody speaks to an agent. Agents speak to names and to the world, not to the cluster.
    Controllers answer probes, and a Prometheus of any namespace."""
    api = "networking.k8s.io/v1"
    names = {
        "to": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}],
        "ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}],
    }
    world = {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": list(values.closed)}}]}
    yield an_object(
        values,
        api,
        "NetworkPolicy",
        "agents",
        spec={
            "podSelector": {"matchExpressions": [{"key": AGENT, "operator": "Exists"}]},
            "policyTypes": ["Ingress", "Egress"],
            "egress": [names, world],
        },
    )
    yield an_object(
        values,
        api,
        "NetworkPolicy",
        "controller",
        spec={
            "podSelector": {"matchLabels": controller_labels()},
            "policyTypes": ["Ingress"],
            "ingress": [
                {"ports": [{"protocol": "TCP", "port": HEALTH_PORT}]},
                {
                    "from": [{"namespaceSelector": {}, "podSelector": {"matchLabels": PROMETHEUS}}],
                    "ports": [{"protocol": "TCP", "port": METRICS_PORT}],
                },
            ],
        },
    )
