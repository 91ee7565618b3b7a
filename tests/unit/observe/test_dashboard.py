"""The dashboard: Grafana's own shapes take it as it is, and every metric in it is one of ours."""

import json
import re
from itertools import combinations
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from paddock.observe.dashboard import COLUMNS, host_dashboard
from paddock.observe.metrics import METRICS

register_default_plugins()  # the kinds of panels, with all their options
DASHBOARD = host_dashboard()


def _targets() -> list[str]:
    return [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]


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


def test_grafanas_own_shapes_know_every_key_of_it() -> None:
    read = Dashboard.from_json(json.loads(json.dumps(DASHBOARD)))
    again = json.loads(JSONEncoder(sort_keys=True).encode(read))
    assert _missing(DASHBOARD, again) == []
    assert read.title == "paddock: one host"


def test_a_key_that_grafana_does_not_know_would_be_seen() -> None:
    wrong = json.loads(json.dumps(host_dashboard()))
    wrong["colour"] = "blue"
    wrong["panels"][1]["options"]["colour"] = "blue"
    read = Dashboard.from_json(json.loads(json.dumps(wrong)))
    lost = _missing(wrong, json.loads(JSONEncoder().encode(read)))
    assert lost == [".panels[1].options.colour", ".colour"]


def test_panels_have_ids_of_their_own_and_do_not_lie_on_each_other() -> None:
    panels = DASHBOARD["panels"]
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


def test_what_was_asked_for_is_on_it() -> None:
    """CPU, memory and workspace by agent, the queue, pressure (OBS-3)."""
    titles = {panel["title"] for panel in DASHBOARD["panels"]}
    wanted = {"CPU by agent", "Memory by agent", "Workspace by agent", "Queue", "Ladder"}
    assert wanted <= titles


def test_every_metric_with_a_use_is_shown_or_alerted_on() -> None:
    from paddock.observe.alerts import HOST

    used = " ".join([*_targets(), *(alert.expr for alert in HOST), str(DASHBOARD["templating"])])
    left = {name for name in METRICS if name not in used}
    # Facts to look up, or parts of what is shown.
    assert left == {
        "paddock_start_time_seconds",
        "process_open_fds",
        "paddock_host_cpus",
        "paddock_agents_without_series",
        "paddock_runs_waiting",
        "paddock_queue_limit",
        "paddock_attempts_started_total",
        "paddock_oom_kills_total",
        "paddock_agent_memory_peak_bytes",
    }


def test_every_variable_is_declared() -> None:
    declared = {one["name"] for one in DASHBOARD["templating"]["list"]}
    said = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(DASHBOARD))) - {"__rate_interval"}
    assert said - {"__all"} <= declared
