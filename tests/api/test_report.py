"""`paddock report` against a served past: text, JSON and a page; refusals in one line."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from paddock.cli.main import main
from tests.kit.desk import ServedDesk
from tests.kit.past import GROUPS, a_past


@pytest.fixture
def report(desk: ServedDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """Runs the command in a project of its own; gives its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    @contextmanager
    def door(*, start: bool) -> Any:  # noqa: ARG001
        with desk.client() as client:
            yield client

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["report", *words], door=door)
        return code, *capsys.readouterr()

    return run


def with_prices(directory: Path) -> None:
    (directory / ".paddock").mkdir()
    prices = "cost: {memory_gib_hour: 0.01, core_hour: 0.05, currency: CHF}\n"
    (directory / ".paddock/config.yaml").write_text(prices, encoding="utf-8")


def test_everything_in_words(report: Any, desk: ServedDesk, tmp_path: Path) -> None:
    a_past(desk.store, days=60, now_at=time.time())
    with_prices(tmp_path)
    code, out, _ = report("--cost", "--scorecard")
    assert code == 0
    assert "Forecast of agents: " in out and "(trend, weekly)" in out
    assert "is not reached until" in out or "reached" in out
    for name in GROUPS:
        assert name in out
    assert "CHF for 30 days" in out and "less memory" in out
    assert out.count("met") + out.count("missed") + out.count("not known") >= 12


def test_everything_as_json(report: Any, desk: ServedDesk) -> None:
    a_past(desk.store, days=60, now_at=time.time())
    code, out, _ = report("--json")
    found = json.loads(out)
    assert code == 0 and len(found["scorecard"]) == 12 and found["cost"] is None
    agents, memory, disk = found["forecast"]
    assert (agents["what"], memory["what"], disk["what"]) == ("agents", "memory", "disk")
    assert len(agents["days"]) == 30 and 58 <= agents["forecast"]["known_days"] <= 61
    for _, expected, low, high in agents["days"]:
        assert low <= expected <= high
    # It grew by a tenth of an agent a day in its level, and by 1.5 GiB a day on the disk.
    assert disk["forecast"]["per_day"] == pytest.approx(1.5 * 2**30, rel=0.05)
    assert {one["change"] for one in found["sizing"]} == {"lower"}
    assert found["saving_share"] > 0.2


def test_little_history_says_so(report: Any, desk: ServedDesk) -> None:
    a_past(desk.store, days=5, now_at=time.time())
    code, out, _ = report("--scorecard")
    assert code == 0
    assert out.count("days of history; a forecast needs 14") >= 3


def test_no_history_at_all_is_no_error(report: Any) -> None:
    code, out, _ = report("--cost", "--scorecard")
    assert code == 0
    assert "Nothing was recorded" in out and "no prices are set" in out
    assert out.count("not known") == 12


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]


def test_a_page_with_plots_that_fetches_nothing(
    report: Any, desk: ServedDesk, tmp_path: Path
) -> None:
    a_past(desk.store, days=60, now_at=time.time())
    code, _, told = report("--html", "page.html")
    assert code == 0 and "page.html" in told
    tags = Tags()
    tags.feed((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert tags.found.count("svg") >= 6 and tags.found.count("polygon") == 3
    assert "script" not in tags.found and tags.fetched == []


def test_a_hostile_group_is_harmless(report: Any, desk: ServedDesk, tmp_path: Path) -> None:
    from paddock.ports import Rollup
    from paddock.storage.rollup import DAY_S, GroupSpan, packed

    now_at = time.time()
    span = packed(GroupSpan(seconds=5.0, limits_s=5.0, limit_bytes=64 << 20, peaks={100: 30}))
    name = "<script>alert(1)</script>\x1b[31m"
    desk.store.record([Rollup(DAY_S, int(now_at // DAY_S * DAY_S), name, span)], now_at=now_at)
    code, out, _ = report("--html", "page.html")
    assert code == 0
    assert "<script>" not in (tmp_path / "page.html").read_text(encoding="utf-8")
    code, out, _ = report()
    assert code == 0 and "\x1b" not in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--since", "1s"), "--since"),
        (("--since", "400d"), "--since"),
        (("--forecast", "1h"), "--forecast"),
        (("--html", "/no/such/place.html"), "cannot be written"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    report: Any, words: tuple[str, ...], told: str
) -> None:
    code, _, err = report(*words)
    assert code != 0 and told in err and len(err.strip().splitlines()) == 1
