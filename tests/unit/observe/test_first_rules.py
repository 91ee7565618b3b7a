"""Why alerts are not written as they were first asked for: four expressions, how each fails.

Each test shows the first form doing the wrong thing, and ours doing the right one with the very
same series.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from paddock.observe.rules import kubernetes_rules
from tests.kit.promtool import Case, failures, needs_promtool

pytestmark = needs_promtool

# Word for word, but for the line breaks.
FIRST = {
    "AgentHighCPUUsage": (
        'rate(container_cpu_usage_seconds_total{namespace="agent-platform",container="agent"}[5m])'
        " > 0.8",
        "10m",
    ),
    "AgentHighMemoryUsage": (
        'container_memory_working_set_bytes{namespace="agent-platform",container="agent"} / '
        "container_spec_memory_limit_bytes > 0.85",
        "5m",
    ),
    "AgentOOMKilled": (
        'increase(kube_pod_container_status_restarts_total{namespace="agent-platform"}[5m]) > 0 '
        'and on(pod) kube_pod_container_status_last_terminated_reason{reason="OOMKilled"} == 1',
        "0m",
    ),
    "NamespaceResourceQuotaHigh": (
        'kube_resourcequota{namespace="agent-platform",type="used"} / '
        'kube_resourcequota{namespace="agent-platform",type="hard"} > 0.8',
        "5m",
    ),
}
POD = 'namespace="agent-platform",pod="p",container="agent"'
QUOTA = 'namespace="agent-platform",resourcequota="q",resource="limits.memory"'


def _first_rules() -> dict[str, Any]:
    rules = [{"alert": name, "expr": expr, "for": lasts} for name, (expr, lasts) in FIRST.items()]
    return {"groups": [{"name": "first", "rules": rules}]}


def _fires(
    rules: dict[str, Any], alert: str, series: Mapping[str, str], at: str, directory: Path
) -> bool:
    def goes(firing: int) -> bool:
        case = Case(alert=alert, says="tried", series=series, at=at, firing=firing)
        return failures(rules, [case], directory) == ""

    fires, does_not = goes(1), goes(0)
    assert fires != does_not, "neither one nor none"
    return fires


def _both(alert: str, series: Mapping[str, str], at: str, directory: Path) -> tuple[bool, bool]:
    """The first form, and ours."""
    ours = kubernetes_rules()["spec"]
    return (
        _fires(_first_rules(), alert, series, at, directory),
        _fires(ours, alert, series, at, directory),
    )


def test_the_quota_alert_could_never_fire(tmp_path: Path) -> None:
    """The two sides of the division differ in the label `type`, so no pair of them is alike."""
    series = {
        f'kube_resourcequota{{{QUOTA},type="used"}}': "99x20",
        f'kube_resourcequota{{{QUOTA},type="hard"}}': "100x20",
    }
    assert _both("NamespaceResourceQuotaHigh", series, "9m", tmp_path) == (False, True)


def test_the_memory_alert_fired_where_no_limit_is_set(tmp_path: Path) -> None:
    """The kubelet says 0 for no limit: anything of it is +Inf, which is above 85 %."""
    series = {
        f"container_memory_working_set_bytes{{{POD}}}": "1000x20",
        f"container_spec_memory_limit_bytes{{{POD}}}": "0x20",
    }
    assert _both("AgentHighMemoryUsage", series, "9m", tmp_path) == (True, False)


def test_the_cpu_alert_fired_for_one_core_of_four(tmp_path: Path) -> None:
    """It compared cores with 0.8, not a part of the limit."""
    series = {
        f"container_cpu_usage_seconds_total{{{POD}}}": "0+60x30",
        f'kube_pod_container_resource_limits{{{POD},resource="cpu"}}': "4x30",
    }
    assert _both("AgentHighCPUUsage", series, "20m", tmp_path) == (True, False)


def test_the_cpu_alert_never_fired_where_the_limit_is_below_a_core(tmp_path: Path) -> None:
    series = {
        f"container_cpu_usage_seconds_total{{{POD}}}": "0+30x30",
        f'kube_pod_container_resource_limits{{{POD},resource="cpu"}}': "0.5x30",
    }
    assert _both("AgentHighCPUUsage", series, "20m", tmp_path) == (False, True)


def test_the_oom_alert_took_pods_of_the_same_name_for_each_other(tmp_path: Path) -> None:
    """Joined on the name of the pod alone, it met one of another namespace."""
    series = {
        f"kube_pod_container_status_restarts_total{{{POD}}}": "0x5 1x20",
        'kube_pod_container_status_last_terminated_reason{namespace="other",pod="p",'
        'container="agent",reason="OOMKilled"}': "1x20",
    }
    assert _both("AgentOOMKilled", series, "7m", tmp_path) == (True, False)


def test_the_oom_alert_missed_pods_that_are_not_started_again(tmp_path: Path) -> None:
    """An agent is a job: killed once, it stays so, and nothing restarts."""
    series = {
        f"kube_pod_container_status_restarts_total{{{POD}}}": "0x30",
        f'kube_pod_container_status_terminated_reason{{{POD},reason="OOMKilled"}}': "_x5 1x20",
    }
    assert _both("AgentOOMKilled", series, "6m", tmp_path) == (False, True)
