"""All twelve metrics, each with its target; what the data do not say is not known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from paddock.core.pressure import Rung
from paddock.core.units import GIB, KIB
from paddock.observe.scorecard import Known, Score, scorecard


@dataclass
class Point:
    seconds: float = 3600.0
    cpu_percent: float | None = 70.0
    agents: float | None = 10.0
    pressed_s: float = 0.0
    frozen_s: float = 0.0
    ooms: int = 0
    fleet_ooms: int = 0
    start_p95_s: float | None = 2.0
    expected_bytes: float | None = 5.0
    limits_bytes: float | None = 10.0
    workspace_bytes: int | None = 100 * GIB
    unused_workspace_bytes: int | None = 10 * GIB


@dataclass
class Entry:
    kind: str
    at: float = 0.0
    until_at: float | None = 100.0
    verdict: str = ""
    facts: dict[str, float] = field(default_factory=dict)


def scores(points: list[Point], ledger: list[Entry], **forecasts: str) -> dict[str, Score]:
    known = Known(points=points, ledger=ledger, forecasts=forecasts)
    found = scorecard(known)
    assert len(found) == 12
    return {score.name: score for score in found}


def test_nothing_is_made_up_where_nothing_is_known() -> None:
    for score in scores([], []).values():
        assert score.stands is None and score.met is None and score.missing and score.target


def test_a_good_month_meets_every_target() -> None:
    pressed = Entry("pressure", verdict="true", facts={"rung": float(Rung.PREEMPT)})
    lives = [Entry("daemon", 0.0, 5e5, "stopped"), Entry("daemon", 6e5, 9e5)]
    found = scores([Point()], [pressed, *lives], agents="", memory="", disk="")
    assert [score.name for score in found.values() if not score.met] == []
    assert all(score.data for score in found.values())


def test_each_target_can_be_missed() -> None:
    bad = Point(
        cpu_percent=20.0,
        pressed_s=0.2 * 36000,
        frozen_s=0.2 * 36000,
        ooms=1,
        start_p95_s=301.0,
        expected_bytes=9.0,
        unused_workspace_bytes=21 * GIB,
    )
    slow = Entry("pressure", 0.0, 400.0, "false", {"rung": float(Rung.EMERGENCY)})
    lives = [Entry("daemon", 0.0, 1000.0), Entry("daemon", 1100.0, 2000.0)]
    found = scores([bad], [slow, *lives], agents="3 days of history")
    met = [score.name for score in found.values() if score.met]
    assert met == ["quota violations that fail a run"]  # a host has none
    assert found["30-day forecast"].stands is None
    assert found["the controller's uptime"].stands == "95.00 %"


def test_a_daemon_that_was_stopped_on_purpose_was_not_down() -> None:
    lives = [Entry("daemon", 0.0, 1000.0, "stopped"), Entry("daemon", 9000.0, 10000.0)]
    assert scores([], lives)["the controller's uptime"].stands == "100.00 %"


def test_pressure_that_took_no_memory_from_anybody_is_no_exhaustion() -> None:
    mild = Entry("pressure", verdict="true", facts={"rung": float(Rung.QUEUE)})
    recovery = scores([Point()], [mild])["recovery after memory ran out"]
    assert recovery.stands is None and "nothing to recover from" in recovery.missing


def test_cpu_counts_only_while_agents_are_at_work() -> None:
    idle = replace(Point(), agents=0.0, cpu_percent=1.0)
    assert scores([Point(), idle], [])["CPU use while agents are at work"].stands == "70 %"


def test_a_few_bytes_that_are_kept_are_no_waste() -> None:
    small = Point(workspace_bytes=12 * KIB, unused_workspace_bytes=12 * KIB)
    found = scores([small], [])["unused workspace storage"]
    assert found.stands is None and found.met is None
    assert "12 KiB" in found.missing and "100 MiB is not judged" in found.missing
    large = Point(workspace_bytes=2 * GIB, unused_workspace_bytes=2 * GIB)
    assert scores([large], [])["unused workspace storage"].met is False


def test_nothing_saved_is_missed_only_where_something_could_be_known() -> None:
    name, whole = "memory saved by right-sizing", Point(expected_bytes=10.0)
    assert scores([whole], [])[name].stands is None
    known = Known(points=[whole], ledger=[], forecasts={}, possible_saving=0.3)
    found = next(score for score in scorecard(known) if score.name == name)
    assert (found.stands, found.met) == ("0 %", False)
