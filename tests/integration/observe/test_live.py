"""A running fleet, scraped by a real Prometheus: every panel has data, and alerts fire."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from paddock.observe.dashboard import host_dashboard
from paddock.observe.rules import host_rules
from paddock.wire.run_request import RunRequest
from tests.kit.house import PADDOCK, House, a_house, shell
from tests.kit.prometheus import Prometheus, a_prometheus, free_port, needs_prometheus
from tests.kit.repositories import a_repository
from tests.kit.waiting import until

# One place fewer than there are agents, so that one waits. Failures open a breaker at once.
CONFIG = "performance_profile: high\nperformance:\n  max_concurrent_agents: 4\n"
MIB = 1 << 20
HOLD = """
import time
held = bytearray(%d)
for n in range(10_000):
    sum(range(50_000))
    print("still here", n, flush=True)
    time.sleep(0.05)
"""
LONG_S = 120.0  # on a machine that is busy with other things


def _python(name: str, text: str, **more: Any) -> RunRequest:
    return RunRequest(name=name, command=(sys.executable, "-c", text), **more)


@contextmanager
def a_listening_house(directory: Path, port: int) -> Iterator[House]:
    with a_house(directory, config=CONFIG) as house:
        command = [*PADDOCK, "daemon", "run", "--listen", f"127.0.0.1:{port}"]
        log = (directory / "daemon.out").open("wb")
        with (
            log,
            subprocess.Popen(
                command, env=house.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            ) as daemon,
        ):
            try:
                until(lambda: house.paddock("daemon", "status").returncode == 0, within_s=60)
                yield house
            finally:
                house.go_home()
                daemon.wait(60)


def _unhurried(rules: dict[str, Any]) -> dict[str, Any]:
    """The rules as they ship, but that nothing has to last."""
    for group in rules["groups"]:
        for rule in group["rules"]:
            rule["for"] = "0s"
    return rules


def _scrape(house: House, port: int) -> dict[str, Any]:
    """As the page on observing says."""
    return {
        "job_name": "paddock",
        "authorization": {"credentials_file": str(house.places.token)},
        "static_configs": [{"targets": [f"127.0.0.1:{port}"]}],
    }


def _submit_a_fleet(house: House, repository: Path, prometheus: Prometheus) -> None:
    house.submit(
        _python("near-its-wall", HOLD % (112 * MIB), memory_bytes=128 * MIB),
        _python("busy", HOLD % MIB, memory_bytes=128 * MIB),
        RunRequest(
            name="in-a-workspace",
            command=("sh", "-c", "while :; do echo working; sleep 0.2; done"),
            memory_bytes=64 * MIB,
            repo=str(repository),
            ready_marker="READY",
        ),
    )
    wrong = house.submit(*[shell(f"wrong-{n}", "exit 1", group="broken") for n in range(3)])
    house.ended([run.id for run in wrong.runs], within_s=LONG_S)
    hog = _python("hog", "held = bytearray(300 << 20)", memory_bytes=64 * MIB, group="hogs")
    house.ended([run.id for run in house.submit(hog).runs], within_s=LONG_S)
    _end_another(house, prometheus)
    house.submit(*[shell(f"later-{n}", "sleep 1000") for n in range(3)])


def _has_data(prometheus: Prometheus, expr: str) -> bool:
    return any(not math.isnan(float(one["value"][1])) for one in prometheus.query(expr))


def _of(expr: str, port: int) -> str:
    """With what Grafana would put in."""
    put = {"$instance": f"127.0.0.1:{port}", "$group": ".*", "$__rate_interval": "2m"}
    for name, value in put.items():
        expr = expr.replace(name, value)
    return expr


def _end_another(house: House, prometheus: Prometheus) -> None:
    """A series that comes into the world with its first end has not risen yet, for a `rate`."""
    ended = 'paddock_attempt_duration_seconds_count{group="hogs"}'
    until(lambda: _has_data(prometheus, ended), within_s=LONG_S)
    again = _python("small", "pass", memory_bytes=64 * MIB, group="hogs")
    house.ended([run.id for run in house.submit(again).runs], within_s=LONG_S)


@needs_prometheus
@pytest.mark.timeout(400)
def test_every_panel_has_data_and_a_real_hog_makes_its_alert_fire(tmp_path: Path) -> None:
    port = free_port()
    home, data = tmp_path / "home", tmp_path / "prometheus"
    home.mkdir()
    data.mkdir()
    repository = a_repository(tmp_path / "repository")
    with a_listening_house(home, port) as house:
        scrape, rules = _scrape(house, port), _unhurried(host_rules())
        with a_prometheus(data, scrape=scrape, rules=rules) as prometheus:
            # Counters are seen at 0 first, as on any day.
            until(lambda: _has_data(prometheus, "paddock_build_info"), within_s=LONG_S)
            _submit_a_fleet(house, repository, prometheus)
            until(lambda: prometheus.alerts("AgentOOMKilled"), within_s=LONG_S)
            [killed] = prometheus.alerts("AgentOOMKilled")
            assert killed["labels"]["group"] == "hogs"
            assert killed["labels"]["severity"] == "critical"
            assert "of the group hogs was killed for memory" in killed["annotations"]["description"]
            until(lambda: prometheus.alerts("AgentHighMemoryUsage"), within_s=LONG_S)
            [close] = prometheus.alerts("AgentHighMemoryUsage")
            assert close["labels"]["name"] == "near-its-wall"
            until(lambda: prometheus.alerts("PaddockBreakerOpen"), within_s=LONG_S)
            assert prometheus.alerts("PaddockDown") == []
            panels = [panel for panel in host_dashboard()["panels"] if panel["type"] != "row"]
            for panel in panels:
                for target in panel["targets"]:
                    expr = _of(target["expr"], port)
                    until(lambda expr=expr: _has_data(prometheus, expr), within_s=LONG_S)  # type: ignore[misc]
            house.go_home()
            until(lambda: prometheus.alerts("PaddockDown"), within_s=LONG_S)
