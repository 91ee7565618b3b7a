"""All twelve metrics, each with its target; what the data do not say is not known."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

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
    quota_refusals: int = 0
    ends: dict[str, int] = field(default_factory=lambda: {"succeeded": 100})
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


@dataclass
class Group:
    run_times: tuple[tuple[float, int], ...] = ((95.0, 50), (100.0, 50))
    crowded_run_times: tuple[tuple[float, int], ...] = ()


def scores(
    points: list[Point], ledger: list[Entry], groups: tuple[Group, ...] = (), **forecasts: int | str
) -> dict[str, Score]:
    known = Known(points=points, ledger=ledger, groups=groups, forecasts=forecasts)
    found = scorecard(known)
    assert len(found) == 12
    return {score.name: score for score in found}


def test_nothing_is_made_up_where_nothing_is_known() -> None:
    for score in scores([], []).values():
        assert score.stands is None and score.met is None and score.missing and score.target


FORECASTS = {"agents": 30, "memory": 30, "disk": 30}


def good(**changes: Any) -> dict[str, Score]:
    """A month that meets all of it, but for what is changed."""
    pressed = Entry("pressure", 0.0, 250.0, "true", {"rung": float(Rung.PREEMPT)})
    lives = [Entry("daemon", 0.0, 5e5, "stopped"), Entry("daemon", 6e5, 9e5)]
    ledger = changes.pop("ledger", [pressed, Entry("memory", verdict="true"), *lives])
    points = changes.pop("points", None)
    groups = changes.pop("groups", (Group(),))
    forecasts = changes.pop("forecasts", FORECASTS)
    points = [Point(**changes)] if points is None else points
    return scores(points, ledger, groups, **forecasts)


def test_a_good_month_meets_every_target() -> None:
    found = good()
    assert [score.name for score in found.values() if not score.met] == []
    assert all(score.data for score in found.values())


WIDE = ((50.0, 50), (150.0, 50))
SLOW = ((100.0, 50), (200.0, 50))  # of which the slow ones began on full cores
MISSED: dict[str, dict[str, Any]] = {
    "CPU use while agents are at work": {"cpu_percent": 20.0},
    "agents under memory pressure": {"pressed_s": 0.2 * 36000},
    "unused workspace storage": {"unused_workspace_bytes": 21 * GIB},
    "scaling follows the load": {"start_p95_s": 301.0},
    "out-of-memory kills": {"ooms": 1},
    "the controller's uptime": {
        "ledger": [Entry("daemon", 0.0, 1000.0), Entry("daemon", 1100.0, 2000.0)]
    },
    "quota violations that fail a run": {"quota_refusals": 1},
    "run times longer because of resources": {
        "groups": (Group(SLOW, crowded_run_times=((200.0, 50),)),)
    },
    "false alarms": {"ledger": [Entry("memory", verdict="false")]},
    "30-day forecast": {"forecasts": {**FORECASTS, "disk": 20}},
    "recovery after memory ran out": {
        "ledger": [Entry("pressure", 0.0, 400.0, "false", {"rung": float(Rung.EMERGENCY)})]
    },
    "memory saved by right-sizing": {"expected_bytes": 9.0},
}
NOT_KNOWN: dict[str, dict[str, Any]] = {
    "CPU use while agents are at work": {"cpu_percent": None},
    "agents under memory pressure": {"agents": 0.0},
    "unused workspace storage": {"workspace_bytes": None},
    "scaling follows the load": {"start_p95_s": None},
    "out-of-memory kills": {"points": []},
    "the controller's uptime": {"ledger": []},
    "quota violations that fail a run": {"ends": {}},
    "run times longer because of resources": {
        "groups": (Group(WIDE, crowded_run_times=((150.0, 10),)),)
    },
    "false alarms": {"ledger": [Entry("memory", verdict="unknown")]},
    "30-day forecast": {"forecasts": {**FORECASTS, "disk": "3 days of history"}},
    "recovery after memory ran out": {"ledger": []},
    "memory saved by right-sizing": {"limits_bytes": None},
}


def test_there_is_a_way_to_miss_each_and_to_know_nothing_of_each() -> None:
    assert list(MISSED) == list(NOT_KNOWN) == list(good())


@pytest.mark.parametrize("name", MISSED)
def test_each_target_can_be_missed(name: str) -> None:
    changes = dict(MISSED[name])
    if name == "memory saved by right-sizing":
        known = Known(points=[Point(**changes)], ledger=[], forecasts={}, possible_saving=0.3)
        score = next(score for score in scorecard(known) if score.name == name)
    else:
        score = good(**changes)[name]
    assert score.met is False and score.stands and score.data and not score.missing


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_each_can_be_not_known(name: str) -> None:
    score = good(**NOT_KNOWN[name])[name]
    assert score.met is None and score.stands is None and score.missing


VARIES = "run times longer because of resources"


def test_run_times_that_hardly_vary_cannot_vary_for_want_of_anything() -> None:
    score = good()[VARIES]
    assert score.stands == "3 %" and "within groups" in score.data


def test_run_times_may_vary_by_what_there_is_to_do() -> None:
    score = good(groups=(Group(WIDE),))[VARIES]
    assert (score.met, score.stands) == (True, "0 %")
    assert "run times vary by 50 % within groups, whatever the cause" in score.data


def test_standing_frozen_makes_every_run_longer() -> None:
    score = good(groups=(Group(WIDE),), frozen_s=0.2 * 36000)[VARIES]
    assert (score.met, score.stands) == (False, "20 %")
    score = good(groups=(), frozen_s=0.2 * 36000)[VARIES]  # none succeeded
    assert (score.met, score.stands) == (False, "at least 20 %")


def test_runs_on_full_cores_are_held_against_others_of_their_group() -> None:
    many = Group(((100.0, 1000), (110.0, 1000)), crowded_run_times=((110.0, 1000),))
    wide = Group(((10.0, 2000), (900.0, 2000)))  # makes the variation large, and was never crowded
    score = good(groups=(many, wide))[VARIES]
    assert score.met is True and score.stands is not None and "1000 runs" in score.data
    alike = Group(WIDE, crowded_run_times=((50.0, 25), (150.0, 25)))
    score = good(groups=(alike,))[VARIES]  # no longer, but so few that chance is larger than 10 %
    assert score.stands is None and "between 0 % and" in score.missing


def test_without_a_look_at_the_cores_nobody_knows_what_they_cost() -> None:
    score = good(groups=(Group(WIDE),), cpu_percent=None)[VARIES]
    assert score.stands is None and "between 0 % and 100 %" in score.missing
    assert "how busy the cores were could not be read" in score.missing
    score = good(groups=())[VARIES]
    assert score.stands is None and "of no run that succeeded" in score.missing


def test_an_alert_that_did_not_last_as_its_rule_asks_was_told_to_nobody() -> None:
    short = Entry("pressure", 0.0, 60.0, "false", {"rung": float(Rung.QUEUE)})
    long = Entry("pressure", 0.0, 700.0, "true", {"rung": float(Rung.QUEUE)})
    assert scores([], [short])["false alarms"].stands is None
    assert scores([], [short, long])["false alarms"].stands == "0 %"


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
