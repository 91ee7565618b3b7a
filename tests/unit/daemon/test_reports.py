"""Reports on a schedule: made when due, kept within bounds, and no reason to fail."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from paddock.config.places import Places
from paddock.daemon.reports import Plan, Reports, drop_old, is_due

# Does what `paddock report --html FILE --json` does, as far as files go.
WRITES = "import sys; open(sys.argv[2], 'w').write('<p>'); print('{}')"
FAILS = "import sys; sys.exit('paddock: no daemon')"


def made_by(script: str, directory: Path) -> Reports:
    command = (sys.executable, "-c", script)
    return Reports(Places(directory / "state"), command=command, look_s=0.01)


def test_a_page_and_its_json_are_made(tmp_path: Path) -> None:
    plan = Plan(3600.0, tmp_path / "reports", 30)
    assert is_due(plan)
    asyncio.run(made_by(WRITES, tmp_path).make_one(plan))
    names = sorted(path.suffix for path in plan.directory.iterdir())
    assert names == [".html", ".json"]
    assert not is_due(plan)


def test_one_that_failed_leaves_nothing_and_says_why(tmp_path: Path) -> None:
    plan = Plan(3600.0, tmp_path / "reports", 30)
    with pytest.raises(OSError, match="no daemon"):
        asyncio.run(made_by(FAILS, tmp_path).make_one(plan))
    assert list(plan.directory.iterdir()) == []


def test_the_newest_file_tells_when_the_next_is_due(tmp_path: Path) -> None:
    plan = Plan(3600.0, tmp_path, 30)
    page = tmp_path / "report-2026-01-01T0000.html"
    page.touch()
    for age_s, due in ((10.0, False), (3601.0, True), (-500.0, True)):
        at = time.time() - age_s
        os.utime(page, (at, at))
        assert is_due(plan) is due


def test_the_oldest_go_and_strangers_stay(tmp_path: Path) -> None:
    for day in range(1, 6):
        for end in ("html", "json"):
            (tmp_path / f"report-2026-01-0{day}T0000.{end}").touch()
    (tmp_path / "notes.txt").touch()
    drop_old(Plan(3600.0, tmp_path, 2))
    assert sorted(path.name for path in tmp_path.glob("*.html")) == [
        "report-2026-01-04T0000.html",
        "report-2026-01-05T0000.html",
    ]
    assert len(list(tmp_path.glob("*.json"))) == 2 and (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize(
    ("written", "plan"),
    [
        ("", None),
        ("report: {every: 24h}", Plan(86400.0, Path("STATE/reports"), 30)),
        ("report: {every: 2h, directory: /srv/r, keep: 5}", Plan(7200.0, Path("/srv/r"), 5)),
        ("report: {every: 1s}", None),  # out of range: `config check` says so
    ],
)
def test_the_plan_is_what_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, plan: Plan | None
) -> None:
    (tmp_path / "paddock").mkdir()
    (tmp_path / "paddock/config.yaml").write_text(written, encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert Reports(Places(Path("STATE"))).plan() == plan


def test_it_is_made_while_the_daemon_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "paddock").mkdir()
    (tmp_path / "paddock/config.yaml").write_text("report: {every: 1h}", encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    reports = made_by(WRITES, tmp_path)

    async def live() -> None:
        making = asyncio.ensure_future(reports.make())
        while not list((tmp_path / "state/reports").glob("*.json")):
            await asyncio.sleep(0.01)
        making.cancel()

    asyncio.run(asyncio.wait_for(live(), 60))


class Surprised(Reports):
    """By its own plan, the first few times."""

    surprises = 3

    def plan(self) -> Plan | None:
        if self.surprises:
            self.surprises -= 1
            raise KeyError("report")
        return Plan(3600.0, self._places.state / "reports", 30)


def test_a_bug_in_it_is_told_once_and_it_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    command = (sys.executable, "-c", WRITES)
    places = Places(tmp_path / "state")
    reports = Surprised(places, command=command, look_s=0.01, again_s=0.01)

    async def live() -> None:
        making = asyncio.ensure_future(reports.make())
        while not list((tmp_path / "state/reports").glob("*.json")):
            assert not making.done()
            await asyncio.sleep(0.01)
        making.cancel()

    asyncio.run(asyncio.wait_for(live(), 60))
    assert [one.getMessage() for one in caplog.records] == ["no capacity report: 'report'"]
