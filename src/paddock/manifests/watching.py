"""What a Prometheus operator and a Grafana beside it are given: alerts, a dashboard."""

from __future__ import annotations

import json
from collections.abc import Iterator

from paddock.observe.dashboard import cluster_dashboard
from paddock.observe.rules import kubernetes_rules

from .objects import Object, an_object
from .values import Values


def watching(values: Values) -> Iterator[Object]:
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
