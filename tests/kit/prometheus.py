"""A real Prometheus in a test: on loopback, with its own data, ended with the test."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit.waiting import until

needs_prometheus = pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="needs prometheus (Debian: prometheus)"
)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


class Prometheus:
    def __init__(self, port: int) -> None:
        self._at = f"http://127.0.0.1:{port}"

    def ask(self, path: str, **query: str) -> Any:
        words = urllib.parse.urlencode(query)
        with urllib.request.urlopen(f"{self._at}/api/v1/{path}?{words}", timeout=30) as answer:
            return json.load(answer)["data"]

    def query(self, expr: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ask("query", query=expr)["result"]
        return found

    def alerts(self, name: str) -> list[dict[str, Any]]:
        """Those of that name that fire."""
        known = self.ask("alerts")["alerts"]
        firing = [one for one in known if one["state"] == "firing"]
        return [one for one in firing if one["labels"]["alertname"] == name]

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._at}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@contextmanager
def a_prometheus(
    directory: Path, *, scrape: Mapping[str, Any], rules: Mapping[str, Any]
) -> Iterator[Prometheus]:
    """It looks every second. `scrape`: the one job; see `scrape_configs`."""
    port = free_port()
    (directory / "rules.yml").write_text(yaml.safe_dump(dict(rules)), encoding="utf-8")
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": [dict(scrape)],
    }
    file = directory / "prometheus.yml"
    file.write_text(yaml.safe_dump(config), encoding="utf-8")
    words = [
        "prometheus",
        f"--config.file={file}",
        f"--storage.tsdb.path={directory / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--log.level=warn",
    ]
    with (directory / "prometheus.log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        found = Prometheus(port)
        until(lambda: found.is_ready() or process.poll() is not None, within_s=60)
        assert process.poll() is None, (directory / "prometheus.log").read_text(encoding="utf-8")
        yield found
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
