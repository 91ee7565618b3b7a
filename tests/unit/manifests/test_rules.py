"""Each rule, by a form that people have really written, and by ours, which passes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from paddock.manifests import rendering
from paddock.manifests.checking import UnknownVersion, check
from paddock.manifests.problems import rules
from paddock.manifests.values import Values

OURS = rendering.all_of(rendering.render(Values(argo=True)))

# Forms that looked right and were not: an API server refused them, or they did nothing.
FIRST_FORMS = {
    "hpa-metrics": """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: argo-server, namespace: argo}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: argo-server}
  minReplicas: 2
  maxReplicas: 8
  metrics:
    - {type: Custom, custom: {metric: {name: running}, target: {type: Value, value: "20"}}}
""",
    "hpa-target": """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: argo-workflows-server-hpa, namespace: argo}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: argo-workflows-server}
  maxReplicas: 8
""",
    "vpa-target": """
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata: {name: agent-pods-vpa, namespace: agent-platform}
spec:
  targetRef: {apiVersion: v1, kind: Pod, selector: {matchLabels: {app: coderun}}}
  updatePolicy: {updateMode: Auto}
""",
    "pdb-selects": """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: argo-workflows-pdb, namespace: argo}
spec:
  selector: {matchLabels: {app: argo-workflows-server}}
  minAvailable: "50%"
""",
    "no-global-default": """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: agent-standard-priority}
value: 500
globalDefault: true
""",
    "default-limit-fits": """
apiVersion: v1
kind: LimitRange
metadata: {name: agent-platform-limits, namespace: agent-platform}
spec:
  limits:
    - type: Container
      default: {cpu: 2000m, memory: 8Gi}
      defaultRequest: {cpu: 1000m, memory: 4Gi}
""",
    "scoped-quota": """
apiVersion: v1
kind: ResourceQuota
metadata: {name: another, namespace: agent-platform}
spec:
  hard: {requests.cpu: "20", limits.memory: 160Gi, pods: "30"}
""",
    "quantities": """
apiVersion: v1
kind: ResourceQuota
metadata: {name: another, namespace: elsewhere}
spec:
  hard: {requests.memory: 4Gb}
""",
    "scope-counts-pods": """
apiVersion: v1
kind: ResourceQuota
metadata: {name: another, namespace: agent-platform}
spec:
  hard: {pods: "30", requests.storage: 500Gi, secrets: "30"}
  scopeSelector:
    matchExpressions: [{operator: In, scopeName: PriorityClass, values: [agent-high-priority]}]
""",
    "hpa-of-a-leader": """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: again, namespace: agent-platform}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: paddock-controller}
  maxReplicas: 10
""",
    "names-fit": """
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: lost, namespace: agent-platform}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: nobody}
""",
    "alerts-are-fed": """
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: first, namespace: agent-platform}
spec:
  groups:
    - name: first
      rules: [{alert: PaddockHostPressed, expr: "paddock_pressure_step >= 2"}]
""",
    "tight-pods": """
apiVersion: v1
kind: Pod
metadata: {name: agent, namespace: agent-platform}
spec:
  containers: [{name: agent, image: agent}]
""",
}
FIRST_ALERTS = {
    "quota": 'kube_resourcequota{namespace="a",type="used"} / '
    'kube_resourcequota{namespace="a",type="hard"} > 0.8',
    "memory": 'container_memory_working_set_bytes{namespace="a"} / '
    "container_spec_memory_limit_bytes > 0.85",
    "cores": 'rate(container_cpu_usage_seconds_total{namespace="a",container="agent"}[5m]) > 0.8',
    "oom": 'increase(kube_pod_container_status_restarts_total{namespace="a"}[5m]) > 0 and on(pod) '
    'kube_pod_container_status_last_terminated_reason{reason="OOMKilled"} == 1',
}


def told(objects: list[Any]) -> set[str]:
    """By the rules alone: schemas take their time, and know less."""
    return {problem.rule for problem in check(objects, versions=[])}


def test_ours_have_no_problem() -> None:
    assert check(OURS) == []


@pytest.mark.parametrize("name", sorted(FIRST_FORMS))
def test_a_form_that_was_not_right_is_told(name: str) -> None:
    first = yaml.safe_load(FIRST_FORMS[name])
    assert told([*OURS, first]) == {name}


@pytest.mark.parametrize("name", sorted(FIRST_ALERTS))
def test_an_alert_that_cannot_fire_as_meant_is_told(name: str) -> None:
    rule = {"alert": name, "expr": FIRST_ALERTS[name]}
    first = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "first", "namespace": "agent-platform"},
        "spec": {"groups": [{"name": "first", "rules": [rule]}]},
    }
    assert told([*OURS, first]) == {"alerts-can-fire"}


@pytest.mark.parametrize("change", ["none", "labels", "port"])
def test_controllers_that_nothing_scrapes_are_told(change: str) -> None:
    """Without it an alert that they are gone fires in every cluster."""
    objects = copy.deepcopy(OURS)
    [monitor] = [one for one in objects if one["kind"] == "PodMonitor"]
    if change == "none":
        objects.remove(monitor)
    elif change == "labels":
        monitor["spec"]["selector"] = {"matchLabels": {"app": "paddock"}}
    else:
        monitor["spec"]["podMetricsEndpoints"] = [{"port": "web"}]
    problems = check(objects, versions=[])
    assert {one.rule for one in problems} == {"alerts-are-fed"}
    assert any("PaddockDown" in one.where for one in problems)
    assert not any("AgentOOMKilled" in one.where for one in problems)


def test_alerts_of_a_namespace_without_controllers_are_nobodys_business_here() -> None:
    rules = [one for one in OURS if one["kind"] == "PrometheusRule"]
    assert check(rules, versions=[]) == []


def test_every_rule_has_a_form_that_it_catches() -> None:
    assert set(rules()) == {*FIRST_FORMS, "alerts-can-fire"}


def test_a_key_that_kubernetes_does_not_know_is_told_with_its_place() -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    [problem] = check([{**quota, "spec": {"hart": {}}}], versions=["1.36"])
    assert problem.rule == "schema"
    assert "hart" in problem.what and "at spec" in problem.what


@pytest.mark.parametrize("one", [None, 3, "text", [], {}, {"kind": "Pod"}, {"apiVersion": 1}])
def test_what_is_no_object_is_told_as_that(one: Any) -> None:
    [problem] = check([one])
    assert problem.rule == "object"


@pytest.mark.parametrize("kind", ["ResourceQuota", "LimitRange", "PodDisruptionBudget"])
def test_one_without_its_spec_is_no_crash(kind: str) -> None:
    api = "policy/v1" if kind == "PodDisruptionBudget" else "v1"
    check([{"apiVersion": api, "kind": kind, "metadata": {"name": "q"}}])


def test_a_version_that_is_not_known_is_said() -> None:
    with pytest.raises(UnknownVersion, match=r"9\.9"):
        check(OURS, versions=["9.9"])
