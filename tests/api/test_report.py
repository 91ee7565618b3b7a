"""`paddock report` against a served past: text, JSON and a page; refusals in one line."""

from __future__ import annotations

import json
import re
import time
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.cli.main import main
from paddock.cluster.tiers import OTHER
from paddock.config.cluster_settings import TIERS
from paddock.config.layers import load_settings
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


def a_young_past(desk: ServedDesk, *, minutes: int, now_at: float) -> float:
    """One agent since so many minutes, as they are kept; gives when that was."""
    from paddock.ports import Rollup
    from paddock.storage.rollup import DAY_S, HOUR_S, MINUTE_S, FleetSpan, GroupSpan, packed

    first = int(now_at // MINUTE_S - minutes) * MINUTE_S
    held = 4 << 30

    def seen(seconds: float) -> bytes:
        span = FleetSpan(seconds=seconds, readable_s=seconds, agents_max=1, agents_s=seconds)
        span.limits_s = span.expected_s = held * seconds
        return packed(span)

    hours: dict[int, float] = {}
    for at in range(first, first + minutes * MINUTE_S, MINUTE_S):
        desk.store.record([Rollup(MINUTE_S, at, None, seen(60.0))], now_at=now_at)
        hours[at // HOUR_S * HOUR_S] = hours.get(at // HOUR_S * HOUR_S, 0.0) + 60.0
    rollups = [Rollup(HOUR_S, at, None, seen(seconds)) for at, seconds in hours.items()]
    group = GroupSpan(seconds=60.0, limits_s=held * 60.0, limit_bytes=held, attempts=1)
    rollups.append(Rollup(DAY_S, int(now_at // DAY_S * DAY_S), "coder", packed(group)))
    desk.store.record(rollups, now_at=now_at)
    return first


def test_minutes_of_history_are_not_judged_as_if_they_were_months(
    report: Any, desk: ServedDesk, tmp_path: Path
) -> None:
    first = a_young_past(desk, minutes=25, now_at=time.time())
    with_prices(tmp_path)
    code, out, _ = report("--cost", "--scorecard")
    assert code == 0
    assert time.strftime("From %Y-%m-%d %H:%M to ", time.localtime(first)) in out
    assert "What advice would save is not known" in out and "less memory" not in out
    assert "Cost for 30 days: not known (0.42 h of history, 24 h are needed)" in out
    assert "what advice would have saved: not known" in out
    assert "1 attempt ended; 20 are needed" in out
    [saved] = [line for line in out.splitlines() if line.startswith("memory saved by")]
    assert "not known" in saved and "missed" not in saved
    assert "0 out-of-memory kills, 0 preemptions" in out


def test_the_first_hours_are_drawn_by_minutes_and_the_first_minutes_not_at_all(
    report: Any, desk: ServedDesk, tmp_path: Path
) -> None:
    a_young_past(desk, minutes=2, now_at=time.time())
    assert report("--html", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "too little history yet for plots" in page and "<svg" not in page
    a_young_past(desk, minutes=25, now_at=time.time())
    assert report("--html", "page.html")[0] == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    agents = page.split("<svg")[1].split("</svg>")[0]
    curve = agents.split("points=")[1].split('"')[1]
    assert len(curve.split()) >= 25
    along = re.findall(r">(\w{3} \d\d \d\d:\d\d)<", agents)
    assert len(set(along)) == len(along) == 5


def test_on_a_narrow_terminal_the_reasons_stand_below(
    report: Any, desk: ServedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_past(desk.store, days=60, now_at=time.time())
    whole = " ".join(report("--scorecard")[1].split())
    monkeypatch.setattr("paddock.cli.report.terminal_width", lambda: 80)
    out = report("--scorecard")[1]
    assert max(map(len, out.splitlines())) <= 80
    for reason in re.findall(r"largest of \d+ peaks|against their limits; the advice \w+", whole):
        assert reason in " ".join(out.split())
    assert "largest of" in whole and "against their limits; the advice would" in whole


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


# -- tiers of a cluster ---------------------------------------------------------------------------


def test_the_advice_by_role_is_shown_as_tiers_ready_to_be_written(
    report: Any, desk: ServedDesk
) -> None:
    a_past(desk.store, days=60, now_at=time.time())
    code, out, _ = report("--tiers")
    assert code == 0
    shown = out[out.index("kubernetes:\n  tiers:\n") :]
    tiers = yaml.safe_load(shown)["kubernetes"]["tiers"]
    assert [tier["role"] for tier in tiers] == ["implement", "review"]
    code, out, _ = report("--json")
    told = {one["role"]: one for one in json.loads(out)["tiers"]}
    assert told["review"]["change"] == "lower" and told["review"]["confidence"] == "high"
    assert told["review"]["groups"] == ["coder/web/review"]


def test_it_is_written_into_the_users_file_and_counts_from_then_on(
    report: Any, desk: ServedDesk, tmp_path: Path
) -> None:
    a_past(desk.store, days=60, now_at=time.time())
    file = tmp_path / "config/paddock/config.yaml"
    file.parent.mkdir(parents=True)
    said = "# mine\nkubernetes:\n  image: agents:1  # ours\n"
    file.write_text(said, encoding="utf-8")
    code, _, err = report("--tiers", "--write")
    assert code == 0 and f"{file}: kubernetes.tiers: [" in err
    text = file.read_text(encoding="utf-8")
    assert text.startswith("# mine\n") and "image: agents:1  # ours" in text
    tiers = load_settings(None)[TIERS]
    assert [tier.role for tier in tiers] == ["implement", "review"]
    assert all(tier.memory_limit_bytes < OTHER.memory_limit_bytes for tier in tiers)
    code, out, _ = report("--tiers")
    assert code == 0 and "The tiers stay as they are: all of them fit." in out
    code, _, err = report("--tiers", "--write")
    assert code == 3 and "nothing is written" in err
    assert file.read_text(encoding="utf-8") == text


def test_without_history_there_is_nothing_to_write(report: Any) -> None:
    code, out, _ = report("--tiers")
    assert code == 0 and "no run of a role that is known has ended" in out
    assert report("--tiers", "--write")[0] == 3
    code, _, err = report("--write")
    assert code == 2 and "--write: found without --tiers" in err
