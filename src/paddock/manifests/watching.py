"""What a Prometheus operator and a Grafana are given: whom to scrape, alerts, a dashboard."""

from __future__ import annotations

import json
from collections.abc import Iterator

from paddock.observe.dashboard import cluster_dashboard
from paddock.observe.rules import kubernetes_rules

from .controller import METRICS
from .objects import CONTROLLER, NAME, Object, an_object, controller_labels
from .values import Values


def watching(values: Values) -> Iterator[Object]:
    yield monitor(values)
    rules = kubernetes_rules(namespace=values.namespace, runbooks=values.runbooks)
    name = rules["metadata"]["name"]
    yield an_object(values, rules["apiVersion"], rules["kind"], name, spec=rules["spec"])
    found = an_object(
        values,
        "v1",
        "ConfigMap",
        "paddock-dashboard",
        data={"paddock.json": json.dumps(cluster_dashboard(values.namespace), indent=1)},
    )
    found["metadata"]["labels"]["grafana_dashboard"] = "1"  # what Grafana's sidecar looks for
    yield found


def monitor(values: Values) -> Object:
    """All replicas: one that waits for its turn says so. The job is named as the rules ask for."""
    return an_object(
        values,
        "monitoring.coreos.com/v1",
        "PodMonitor",
        CONTROLLER,
        spec={
            "jobLabel": NAME,
            "selector": {"matchLabels": controller_labels()},
            "podMetricsEndpoints": [{"port": METRICS, "path": "/metrics", "interval": "15s"}],
        },
    )
