"""Alert rules tried by promtool: series go in minute by minute, alerts come out."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="needs promtool (Debian: prometheus)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`series`: as promtool writes them, `0+60x20` is 0, 60, 120 … one a minute."""

    alert: str
    says: str
    series: Mapping[str, str]
    at: str
    firing: int = 0  # how many


def promtool(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["promtool", *map(str, words)], capture_output=True, text=True, check=False, timeout=60
    )


def failures(rules: Mapping[str, Any], cases: Sequence[Case], directory: Path) -> str:
    """What promtool says of those that came out otherwise; empty if none did."""
    (directory / "rules.yml").write_text(yaml.safe_dump(dict(rules)), encoding="utf-8")
    tests = {
        "rule_files": ["rules.yml"],
        "evaluation_interval": "1m",
        "tests": [_test(case) for case in cases],
    }
    file = directory / "tests.yml"
    file.write_text(yaml.safe_dump(tests, width=1000), encoding="utf-8")
    done = promtool("test", "rules", file)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _test(case: Case) -> dict[str, Any]:
    """By the series that every alert makes: its labels and sentences are no part of the case."""
    found = [{"labels": "{}", "value": case.firing}] if case.firing else []
    asked = f'count(ALERTS{{alertname="{case.alert}",alertstate="firing"}})'
    return {
        "name": f"{case.alert}: {case.says}",
        "interval": "1m",
        "input_series": [{"series": one, "values": what} for one, what in case.series.items()],
        "promql_expr_test": [{"expr": asked, "eval_time": case.at, "exp_samples": found}],
    }
