"""Controllers as processes, scraped by a real Prometheus as a PodMonitor has it done."""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from paddock.cluster.agent_run import crd
from paddock.observe.alerts import JOB
from paddock.observe.dashboard import cluster_dashboard
from paddock.observe.rules import kubernetes_rules
from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.controllers import a_controller, leader
from tests.kit.cluster.objects import Refusal
from tests.kit.cluster.replicas import AGENT_RUNS
from tests.kit.prometheus import Prometheus, a_prometheus, free_port, needs_prometheus
from tests.kit.waiting import until

SPACE = "agent-platform"
LONG_S = 180.0
OURS = ("paddock_", "process_", "up{")


def scraped(port: int) -> dict[str, float]:
    """Sums over all labels, by the sample's name."""
    url = f"http://127.0.0.1:{port}/metrics"
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            text = answer.read().decode()
    except urllib.error.URLError:
        return {}
    found: dict[str, float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
    return found


def submit(cluster: AnyCluster, name: str, *words: str, **spec: Any) -> None:
    wanted = {"metadata": {"name": name}, "spec": {"command": list(words), **spec}}
    cluster.create(AGENT_RUNS, wanted)


@pytest.mark.timeout(400)
def test_a_leader_says_how_its_fleet_stands_and_who_waits_says_that_it_waits(
    cluster: AnyCluster, tmp_path: Path
) -> None:
    cluster.define(crd())
    cluster.set_quota(limits_memory="4Gi", limits_cpu="100")
    ports = [free_port(), free_port()]
    with ExitStack() as stack:
        for number, port in enumerate(ports):
            place, at = tmp_path / str(number), f"127.0.0.1:{port}"
            process = stack.enter_context(a_controller(place, cluster, "--metrics", at))
            until(lambda: leader(cluster) is not None, LONG_S)
        assert leader(cluster) != process.pid
        until(lambda: scraped(ports[0]).get("paddock_leader") == 1, LONG_S)
        submit(cluster, "first", "sleep=600", memory="3G")
        submit(cluster, "second", "sleep=600", memory="2G")
        submit(cluster, "wrong", "exit=7", memory="1G")
        until(lambda: _stands(ports[0]) == (1, 1, 1), LONG_S)
        found = scraped(ports[0])
        assert found["paddock_runs_submitted_total"] == 3
        assert found["paddock_quota_used_ratio"] == pytest.approx(0.75, abs=0.03)
        assert found["paddock_store_trouble"] == 0
        until(lambda: scraped(ports[1]).get("paddock_leader") == 0, LONG_S)
        assert "paddock_queue_length" not in scraped(ports[1])
        _forbid_writing(cluster)
        submit(cluster, "third", "exit=0")
        until(lambda: scraped(ports[0]).get("paddock_store_trouble") == 1, LONG_S)
        cluster.no_hook()
        until(lambda: scraped(ports[0]).get("paddock_store_trouble") == 0, LONG_S)


def _stands(port: int) -> tuple[float, float, float]:
    """At work, waiting, ended."""
    found = scraped(port)
    names = ("paddock_agents", "paddock_runs_waiting", "paddock_runs_ended_total")
    return found.get(names[0], -1), found.get(names[1], -1), found.get(names[2], -1)


def _forbid_writing(cluster: AnyCluster) -> list[str]:
    """What is asked for in vain from now on."""
    asked: list[str] = []

    def refuse(verb: str, path: str) -> Refusal | None:
        if verb != "patch" or "agentruns" not in path:
            return None
        asked.append(path)
        return Refusal(403, "Forbidden", 'User "paddock" cannot patch\n"agentruns/status"')

    cluster.hook(refuse)
    return asked


@pytest.mark.timeout(400)
def test_every_line_of_its_log_is_json_also_with_quotes_in_it(
    cluster: AnyCluster, tmp_path: Path
) -> None:
    cluster.define(crd())
    with a_controller(tmp_path, cluster, "--json") as process:
        until(lambda: leader(cluster) == process.pid, LONG_S)
        asked = _forbid_writing(cluster)
        submit(cluster, "one", "exit=0")
        until(lambda: len(asked) > 1, LONG_S)  # so the first was told of
        process.terminate()
        _, text = process.communicate(timeout=60)
    said = [json.loads(line)["message"] for line in text.splitlines()]
    assert said[0].endswith("leads, term 1")
    assert any('cannot patch\n"agentruns/status"' in one for one in said)


def _scrape(ports: list[int]) -> dict[str, Any]:
    """With the labels that the operator gives the targets of a PodMonitor."""
    return {
        "job_name": "podMonitor/agent-platform/paddock-controller/0",
        "static_configs": [
            {
                "targets": [f"127.0.0.1:{port}"],
                "labels": {"job": JOB, "namespace": SPACE, "pod": f"paddock-controller-{number}"},
            }
            for number, port in enumerate(ports)
        ],
    }


def _unhurried() -> dict[str, Any]:
    spec: dict[str, Any] = kubernetes_rules(namespace=SPACE)["spec"]
    for group in spec["groups"]:
        for rule in group["rules"]:
            rule["for"] = "0s"
    return spec


def _has_data(prometheus: Prometheus, expr: str) -> bool:
    found = prometheus.query(expr.replace("$__rate_interval", "2m"))
    return any(not math.isnan(float(one["value"][1])) for one in found)


@needs_prometheus
@pytest.mark.timeout(600)
def test_every_panel_of_ours_has_data_and_alerts_fire_when_nobody_answers(
    cluster: AnyCluster, tmp_path: Path
) -> None:
    cluster.define(crd())
    cluster.set_quota(limits_memory="4Gi", limits_cpu="100")
    ports = [free_port(), free_port()]
    data = tmp_path / "prometheus"
    data.mkdir()
    with ExitStack() as stack:
        prometheus = stack.enter_context(
            a_prometheus(data, scrape=_scrape(ports), rules=_unhurried())
        )
        until(lambda: prometheus.alerts("PaddockDown"), LONG_S)  # nobody is there yet
        with ExitStack() as controllers:
            for number, port in enumerate(ports):
                place, at = tmp_path / str(number), f"127.0.0.1:{port}"
                controllers.enter_context(a_controller(place, cluster, "--metrics", at))
            until(lambda: _has_data(prometheus, "sum(paddock_leader) == 1"), LONG_S)
            until(lambda: not prometheus.alerts("PaddockDown"), LONG_S)
            for name in ("first", "second"):
                submit(cluster, name, "sleep=600", memory="3G")
            submit(cluster, "quick", "exit=0", memory="1G")
            until(lambda: _has_data(prometheus, "paddock_runs_ended_total == 1"), LONG_S)
            submit(cluster, "again", "exit=0", memory="1G")
            for panel in cluster_dashboard(SPACE)["panels"]:
                for target in panel.get("targets", []):
                    if any(word in target["expr"] for word in OURS):
                        expr = target["expr"]
                        until(lambda expr=expr: _has_data(prometheus, expr), LONG_S)  # type: ignore[misc]
            firing = {one["labels"]["alertname"] for one in prometheus.ask("alerts")["alerts"]}
            assert firing <= {"PaddockQueueNotMoving"}  # here nothing has to last
        until(lambda: prometheus.alerts("PaddockDown"), LONG_S)
