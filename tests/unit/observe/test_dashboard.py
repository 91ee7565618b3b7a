"""The dashboards: Grafana's own shapes take them as they are, and every metric in them is there."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from paddock.observe.dashboard import COLUMNS, cluster_dashboard, host_dashboard
from paddock.observe.metrics import METRICS, OF_CONTROLLERS
from tests.kit.promtool import needs_promtool, promtool

register_default_plugins()  # the kinds of panels, with all their options
DASHBOARD = host_dashboard()
CLUSTER = cluster_dashboard("agent-platform")
BOTH = pytest.mark.parametrize(
    "dashboard", [pytest.param(DASHBOARD, id="host"), pytest.param(CLUSTER, id="cluster")]
)
# What the kubelet, kube-state-metrics and Prometheus itself tell of a cluster.
OF_A_CLUSTER = {
    *("container_cpu_usage_seconds_total", "container_memory_working_set_bytes"),
    *("container_spec_memory_limit_bytes", "kube_pod_status_phase", "kube_resourcequota"),
    *("kubelet_volume_stats_used_bytes", "kubelet_volume_stats_capacity_bytes", "up"),
}


def _targets(dashboard: dict[str, Any] = DASHBOARD) -> list[str]:
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]


def _missing(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """What of ours did not come back."""
    if isinstance(ours, dict):
        if not isinstance(theirs, dict):
            return [path]
        return [
            lost
            for key, value in ours.items()
            for lost in (
                _missing(value, theirs[key], f"{path}.{key}")
                if key in theirs
                # What is empty or false need not be said again.
                else ([f"{path}.{key}"] if value else [])
            )
        ]
    if isinstance(ours, list):
        if not isinstance(theirs, list) or len(ours) != len(theirs):
            return [path]
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [lost for n, (a, b) in pairs for lost in _missing(a, b, f"{path}[{n}]")]
    return [] if ours == theirs else [path]


@BOTH
def test_grafanas_own_shapes_know_every_key_of_it(dashboard: dict[str, Any]) -> None:
    read = Dashboard.from_json(json.loads(json.dumps(dashboard)))
    again = json.loads(JSONEncoder(sort_keys=True).encode(read))
    assert _missing(dashboard, again) == []
    assert read.title in ("paddock: one host", "paddock: a cluster")


def test_a_key_that_grafana_does_not_know_would_be_seen() -> None:
    wrong = json.loads(json.dumps(host_dashboard()))
    wrong["colour"] = "blue"
    wrong["panels"][1]["options"]["colour"] = "blue"
    read = Dashboard.from_json(json.loads(json.dumps(wrong)))
    lost = _missing(wrong, json.loads(JSONEncoder().encode(read)))
    assert lost == [".panels[1].options.colour", ".colour"]


@BOTH
def test_panels_have_ids_of_their_own_and_do_not_lie_on_each_other(
    dashboard: dict[str, Any],
) -> None:
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= COLUMNS
    for one, other in combinations((panel["gridPos"] for panel in panels), 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below, (one, other)


def test_every_metric_in_it_is_in_the_table() -> None:
    for expr in _targets():
        names = re.findall(r"\b((?:paddock|process)_\w+)\{", expr)
        assert names, expr
        for name in names:
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            assert family in METRICS, expr


def test_every_metric_of_the_clusters_is_served_there() -> None:
    for expr in _targets(CLUSTER):
        names = re.findall(r"\b([a-z_]+)\{", expr)
        assert names, expr
        for name in names:
            family = re.sub(r"_bucket$", "", name)
            assert family in OF_CONTROLLERS | OF_A_CLUSTER, expr
        assert expr.count('namespace="agent-platform"') == len(names), expr


@needs_promtool
@BOTH
def test_every_query_is_one_that_prometheus_can_read(
    dashboard: dict[str, Any], tmp_path: Path
) -> None:
    """As rules, because promtool reads those without a server."""
    told = [expr.replace("$__rate_interval", "2m") for expr in _targets(dashboard)]
    rules = [{"record": f"panel:{n}", "expr": expr} for n, expr in enumerate(told)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))
    done = promtool("check", "rules", "--lint=none", file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(told)} rules found" in done.stdout


def test_what_was_asked_for_is_on_the_clusters() -> None:
    """CPU and memory by agent (OBS-3), and what only paddock knows."""
    titles = {panel["title"] for panel in CLUSTER["panels"]}
    agents = {"CPU usage by agent", "Memory usage by agent", "Quota in use", "Workspaces in use"}
    assert agents | {"AgentRuns by state", "Queue", "AgentRuns that ended"} <= titles


def test_what_was_asked_for_is_on_it() -> None:
    """CPU, memory and workspace by agent, the queue, pressure (OBS-3)."""
    titles = {panel["title"] for panel in DASHBOARD["panels"]}
    wanted = {"CPU by agent", "Memory by agent", "Workspace by agent", "Queue", "Ladder"}
    assert wanted <= titles


def test_every_metric_with_a_use_is_shown_or_alerted_on() -> None:
    from paddock.observe.alerts import HOST

    asked = [*_targets(), *_targets(CLUSTER), *(alert.expr for alert in HOST)]
    used = " ".join([*asked, str(DASHBOARD["templating"])])
    left = {name for name in METRICS if name not in used}
    # Facts to look up, or parts of what is shown.
    assert left == {
        "paddock_start_time_seconds",
        "process_open_fds",
        "paddock_host_cpus",
        "paddock_agents_without_series",
        "paddock_queue_limit",
        "paddock_attempts_started_total",
        "paddock_oom_kills_total",
        "paddock_agent_memory_peak_bytes",
    }


@BOTH
def test_every_variable_is_declared(dashboard: dict[str, Any]) -> None:
    declared = {one["name"] for one in dashboard["templating"]["list"]}
    said = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(dashboard))) - {"__rate_interval"}
    assert said - {"__all"} <= declared
