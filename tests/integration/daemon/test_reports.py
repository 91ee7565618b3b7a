"""A real daemon makes a real capacity report, on its schedule."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tests.kit.house import a_house
from tests.kit.waiting import until

OLD = "report-2026-01-01T0000"


def put_old_one(directory: Path) -> Path:
    directory.mkdir()
    for end in ("html", "json"):
        (directory / f"{OLD}.{end}").touch()
    return directory / f"{OLD}.html"


@pytest.mark.timeout(300)
def test_a_daemon_writes_a_report_when_one_is_due(tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    old = put_old_one(reports)
    config = f"report: {{every: 1h, directory: {reports}, keep: 1}}\n"
    with a_house(tmp_path, config=config) as house:
        done = house.paddock("run", "--memory", "64M", "--", "sh", "-c", "sleep 0.2")
        assert done.returncode == 0, done.stderr
        assert house.paddock("daemon", "stop").returncode == 0
        assert [path.stem for path in reports.glob("*.html")] == [OLD]  # not due yet
        an_hour_ago = time.time() - 3601
        os.utime(old, (an_hour_ago, an_hour_ago))
        house.start()
        until(lambda: not old.exists(), within_s=240)  # it goes when another one is there
        log = house.log()
    [page] = reports.glob("*.html")
    [data] = reports.glob("*.json")
    assert page.stem == data.stem and f"a capacity report is in {page}" in log
    found = json.loads(data.read_bytes())
    assert found["use"]["starts"] == 1 and len(found["scorecard"]) == 12
    assert [one["group"] for one in found["sizing"]]
    assert "<html" in page.read_text(encoding="utf-8")
    assert sorted(path.name for path in reports.iterdir()) == [page.name, data.name]
