"""Alert rules, tried by promtool: each fires when it should, only then, and not a minute early."""

import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from paddock.observe.alerts import HOST, cluster, controllers
from paddock.observe.metrics import OF_CONTROLLERS
from paddock.observe.rules import as_yaml, host_rules, kubernetes_rules
from tests.architecture.source import PROJECT
from tests.kit.promtool import failures, needs_promtool, promtool
from tests.unit.observe.cases import CONTROLLER_CASES, HOST_CASES, KUBERNETES_CASES


@needs_promtool
def test_alerts_of_a_host_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    assert failures(host_rules(), HOST_CASES, tmp_path) == ""


@needs_promtool
def test_alerts_of_a_cluster_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    cases = (*KUBERNETES_CASES, *CONTROLLER_CASES)
    assert failures(kubernetes_rules()["spec"], cases, tmp_path) == ""


def test_every_alert_of_controllers_asks_for_what_they_serve() -> None:
    """Those of a host did not: eleven of them could never fire in a cluster."""
    for alert in controllers("x"):
        asked = set(re.findall(r"\bpaddock_[a-z_]+?(?=_count\{|_bucket\{|\{)", alert.expr))
        assert asked <= OF_CONTROLLERS, alert.name
        assert asked or "up{" in alert.expr, alert.name


def test_agents_of_a_daemon_elsewhere_need_no_controllers() -> None:
    [group] = kubernetes_rules(pods_only=True)["spec"]["groups"]
    assert group["name"] == "paddock.pods"


@needs_promtool
def test_a_case_that_comes_out_otherwise_is_told(tmp_path: Path) -> None:
    wrong = [case for case in HOST_CASES if case.alert == "PaddockDown" and case.firing][:1]
    assert wrong and "PaddockDown" in failures({"groups": []}, wrong, tmp_path)


def test_every_alert_has_cases_for_firing_for_not_firing_and_for_its_edge() -> None:
    for alerts, cases in (
        (HOST, HOST_CASES),
        (cluster("x", "y"), KUBERNETES_CASES),
        (controllers("x"), CONTROLLER_CASES),
    ):
        found = Counter((case.alert, bool(case.firing)) for case in cases)
        for alert in alerts:
            assert found[alert.name, True] >= 1, alert.name
            assert found[alert.name, False] >= 2, alert.name
        assert {case.alert for case in cases} == {alert.name for alert in alerts}


@needs_promtool
@pytest.mark.parametrize("form", ["host", "kubernetes"])
def test_promtool_takes_the_files_as_they_are_written(tmp_path: Path, form: str) -> None:
    written = as_yaml(host_rules() if form == "host" else kubernetes_rules())
    rules = yaml.safe_load(written)
    if form == "kubernetes":
        assert (rules["kind"], rules["apiVersion"]) == (
            "PrometheusRule",
            "monitoring.coreos.com/v1",
        )
        rules = rules["spec"]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump(rules), encoding="utf-8")
    done = promtool("check", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout


def test_every_alert_leads_to_a_runbook_that_is_there() -> None:
    groups = [*host_rules()["groups"], *kubernetes_rules()["spec"]["groups"]]
    for rule in (rule for group in groups for rule in group["rules"]):
        assert "runbook_url" not in rule["annotations"]  # a path would be a link to nowhere
        path = rule["annotations"]["runbook"].removesuffix(" in paddock's repository")
        page = PROJECT / path
        assert page.is_file(), rule["alert"]
        assert page.read_text(encoding="utf-8").startswith(f"# {rule['alert']}\n"), rule["alert"]


def test_runbooks_may_lie_elsewhere() -> None:
    [group] = host_rules(runbooks="https://wiki.example/paddock/")["groups"]
    assert group["rules"][0]["annotations"]["runbook_url"] == (
        "https://wiki.example/paddock/AgentHighCPUUsage.md"
    )


def test_the_rules_of_a_cluster_are_those_of_its_namespace() -> None:
    rules = kubernetes_rules(namespace="elsewhere", container="worker")
    assert rules["metadata"]["namespace"] == "elsewhere"
    for rule in [rule for group in rules["spec"]["groups"] for rule in group["rules"]]:
        assert 'namespace="elsewhere"' in rule["expr"] and "agent-platform" not in rule["expr"]


def test_severities_and_durations_are_those_that_were_asked_for() -> None:
    asked = {
        "AgentHighCPUUsage": ("warning", "10m", "> 0.8"),
        "AgentHighMemoryUsage": ("warning", "5m", "> 0.85"),
        "AgentOOMKilled": ("critical", "0m", ""),
        "PaddockQuotaHigh": ("warning", "5m", "> 0.8"),
        "NamespaceResourceQuotaHigh": ("warning", "5m", "> 0.8"),
    }
    for alert in (*HOST, *cluster("x", "y")):
        if alert.name in asked:
            severity, lasts, threshold = asked[alert.name]
            assert (alert.severity, alert.lasts) == (severity, lasts)
            assert alert.expr.endswith(threshold)
