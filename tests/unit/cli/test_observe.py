"""`paddock observe`: what Prometheus and Grafana take, as it is; and mistakes in one line."""

from __future__ import annotations

import pytest
import yaml

from paddock.observe.alerts import HOST
from paddock.observe.metrics import METRICS
from paddock.observe.reference import page
from tests.unit.cli.conftest import Paddock


def test_rules_are_yaml_with_every_alert(paddock: Paddock) -> None:
    [group] = yaml.safe_load(paddock("observe", "rules").out)["groups"]
    assert [rule["alert"] for rule in group["rules"]] == [alert.name for alert in HOST]


def test_rules_for_a_cluster_are_a_manifest_of_its_namespace(paddock: Paddock) -> None:
    words = ("--kubernetes", "--namespace", "agents", "--container", "worker")
    found = yaml.safe_load(paddock("observe", "rules", *words).out)
    assert (found["kind"], found["metadata"]["namespace"]) == ("PrometheusRule", "agents")
    expr = found["spec"]["groups"][0]["rules"][0]["expr"]
    assert 'namespace="agents",container="worker"' in expr


def test_rules_may_be_json_and_lead_to_runbooks_elsewhere(paddock: Paddock) -> None:
    found = paddock("observe", "rules", "--json", "--runbooks", "https://wiki.example/x/").json
    annotations = found["groups"][0]["rules"][0]["annotations"]
    assert annotations["runbook_url"] == "https://wiki.example/x/AgentHighCPUUsage.md"


def test_a_namespace_without_a_cluster_is_a_mistake(paddock: Paddock) -> None:
    called = paddock("observe", "rules", "--namespace", "agents")
    assert called.code == 2
    assert "are for --kubernetes" in called.err


def test_the_dashboard_is_json(paddock: Paddock) -> None:
    assert paddock("observe", "dashboard").json["uid"] == "paddock-host"


def test_metrics_are_a_table_for_people_and_a_list_for_scripts(paddock: Paddock) -> None:
    shown = paddock("observe", "metrics").out
    assert all(name in shown for name in METRICS)
    assert [one["name"] for one in paddock("observe", "metrics", "--json").json] == list(METRICS)
    assert paddock("observe", "metrics", "--markdown").out == page()


def test_now_is_what_the_daemon_says_word_for_word(paddock: Paddock) -> None:
    called = paddock("observe", "metrics", "--now")
    assert called.out == "# TYPE paddock_runs_waiting gauge\npaddock_runs_waiting 0\n"


def test_only_one_form_at_a_time(paddock: Paddock) -> None:
    called = paddock("observe", "metrics", "--now", "--json")
    assert called.code == 2 and "only one of" in called.err


def test_on_a_narrow_terminal_what_is_measured_stands_below_and_whole(
    paddock: Paddock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.cli.printing.terminal_width", lambda: 80)
    shown = paddock("observe", "metrics").out
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    for one in METRICS.values():
        labels = f" Labels: {', '.join(one.labels)}." if one.labels else ""
        assert one.name in words and f"{one.about}{labels}" in words
