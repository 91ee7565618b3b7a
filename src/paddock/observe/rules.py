"""The alerts as files: rules for a Prometheus, or a PrometheusRule for its operator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from .alerts import HOST, Alert, cluster, controllers

RUNBOOKS: Final = "docs/operate/alerts"  # in the repository: nobody serves them for everybody
NAMESPACE: Final = "agent-platform"
CONTAINER: Final = "agent"


def host_rules(*, runbooks: str = RUNBOOKS) -> dict[str, Any]:
    """For `rule_files` of a Prometheus that scrapes paddock."""
    return {"groups": [_group("paddock", HOST, runbooks)]}


def kubernetes_rules(
    *,
    namespace: str = NAMESPACE,
    container: str = CONTAINER,
    runbooks: str = RUNBOOKS,
    pods_only: bool = False,
) -> dict[str, Any]:
    """Agents as pods, by what the kubelet and kube-state-metrics tell; and the controllers, unless
    a daemon elsewhere has sent the agents there."""
    groups = [_group("paddock.pods", cluster(namespace, container), runbooks)]
    if not pods_only:
        groups.append(_group("paddock", controllers(namespace), runbooks))
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
            **_runbook(f"{runbooks.rstrip('/')}/{alert.name}.md"),
        },
    }


def _runbook(page: str) -> dict[str, str]:
    """A link only where it leads somewhere: from an alert no path does."""
    if "://" in page:
        return {"runbook_url": page}
    return {"runbook": f"{page} in paddock's repository"}
