"""The alerts as files: rules for a Prometheus, or a PrometheusRule for its operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .alerts import HOST, Alert, cluster

RUNBOOKS: Final = "docs/operate/alerts"
NAMESPACE: Final = "agent-platform"
CONTAINER: Final = "agent"


def host_rules(*, runbooks: str = RUNBOOKS) -> dict[str, Any]:
    """For `rule_files` of a Prometheus that scrapes paddock."""
    return {"groups": [_group("paddock", HOST, runbooks)]}


def kubernetes_rules(
    *, namespace: str = NAMESPACE, container: str = CONTAINER, runbooks: str = RUNBOOKS
) -> dict[str, Any]:
    """Agents as pods, and paddock itself where it is scraped."""
    pods = cluster(namespace, container)
    known = {alert.name for alert in pods}
    own = [alert for alert in HOST if alert.name not in known and alert.name.startswith("Paddock")]
    groups = [_group("paddock.pods", pods, runbooks), _group("paddock", own, runbooks)]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": "paddock",
            "namespace": namespace,
            "labels": {"app.kubernetes.io/name": "paddock"},
        },
        "spec": {"groups": groups},
    }


def as_yaml(rules: dict[str, Any]) -> str:
    import yaml

    return yaml.safe_dump(rules, sort_keys=False, width=1000, allow_unicode=True)


def _group(name: str, alerts: Iterable[Alert], runbooks: str) -> dict[str, Any]:
    return {"name": name, "rules": [_rule(alert, runbooks) for alert in alerts]}


def _rule(alert: Alert, runbooks: str) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expr,
        "for": alert.lasts,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": f"{runbooks.rstrip('/')}/{alert.name}.md",
        },
    }
