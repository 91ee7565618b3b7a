"""From a fleet at one moment to a page: everything asked for is on it, and it stays bounded."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from paddock.core.breaker import Open
from paddock.core.pressure import Rung
from paddock.core.run import Attempt
from paddock.logs.free_room import Space
from paddock.logs.intake import Counted
from paddock.observe.metric import MOST_AGENTS
from paddock.observe.metrics import METRICS, OF_CONTROLLERS
from paddock.observe.page import Page
from paddock.observe.reading import Aside, CpuUse, Reading
from paddock.ports import Guarantees
from tests.unit.observe.small_fleet import SmallFleet

WALLS = Guarantees(
    name="local", hard_memory_wall=True, kills_whole_tree=True, can_freeze=False,
    survives_daemon=True,
)  # fmt: skip


Found = dict[str, list[tuple[dict[str, str], float]]]


def _read(one: SmallFleet, **more: Any) -> Found:
    return _found(_reading(one, **more).page())


def _reading(one: SmallFleet, **more: Any) -> Reading:
    return Reading(
        version="1.2.3",
        started_at=1000.0,
        fleet=one.fleet,
        counts=one.counts,
        wall=lambda at: 1_000_000 + at,
        **more,
    )


def _found(page: Page) -> Found:
    found: Found = {}
    for family in text_string_to_metric_families(page.text().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def _at_work(**policy: Any) -> SmallFleet:
    one = SmallFleet(**policy)
    one.submit("a", at=5.0)
    one.started("a", at=10.0)
    one.look(at=11.0, used={Attempt("a", 1): 500})
    return one


def test_an_agent_at_work_has_all_its_series() -> None:
    found = _read(
        _at_work(),
        cpu={Attempt("a", 1): CpuUse(3.5, 2.0)},
        written=lambda _: (77, 1_000_012.0),
        weights={"a": 4096},
    )
    labels = {"run": "a", "name": "a", "group": "g"}
    expected = {
        "paddock_agent_memory_bytes": 500,
        "paddock_agent_memory_limit_bytes": 2 << 30,
        "paddock_agent_memory_peak_bytes": 500,
        "paddock_agent_cpu_seconds_total": 3.5,
        "paddock_agent_cpu_limit_cores": 2.0,
        "paddock_agent_output_bytes_total": 77,
        "paddock_agent_last_output_timestamp_seconds": 1_000_012.0,
        "paddock_agent_start_time_seconds": 1_000_010.0,
        "paddock_agent_frozen": 0,
        "paddock_agent_workspace_bytes": 4096,
    }
    assert {name for name, metric in METRICS.items() if metric.is_per_agent} == set(expected)
    for name, value in expected.items():
        assert found[name] == [(labels, value)], name


def test_one_that_never_wrote_is_quiet_since_its_start() -> None:
    found = _read(_at_work(), cpu={Attempt("a", 1): CpuUse(0.0)})
    [(_, quiet_since)] = found["paddock_agent_last_output_timestamp_seconds"]
    assert quiet_since == 1_000_010.0
    assert "paddock_agent_cpu_limit_cores" not in found


def test_an_agent_that_has_ended_leaves_no_series_of_its_own() -> None:
    one = _at_work()
    one.exited("a", at=20.0, code=0)
    found = _read(one)
    assert [name for name in found if name.startswith("paddock_agent_")] == []
    assert found["paddock_runs_ended_total"] == [({"group": "g", "outcome": "succeeded"}, 1.0)]


def test_agents_beyond_the_most_are_counted_and_have_none() -> None:
    one = SmallFleet(queue_depth=5000)
    for number in range(MOST_AGENTS + 3):
        one.submit(f"r{number}", at=1.0 + number, memory="8M")
        one.look(at=1.0 + number)
    assert len(one.fleet.live) == MOST_AGENTS + 3
    found = _read(one)
    assert len(found["paddock_agent_memory_bytes"]) == MOST_AGENTS
    assert found["paddock_agents_without_series"] == [({}, 3.0)]
    assert found["paddock_agent_memory_bytes"][0][0]["run"] == "r0"


def test_what_is_limited_has_its_part_and_what_is_not_has_none() -> None:
    one = _at_work(max_agents=4, queue_depth=10)
    aside = Aside(workspaces={"taken": 2, "idle": 3})
    found = _read(one, aside=aside, most_workspaces=10)
    parts = {labels["resource"]: value for labels, value in found["paddock_quota_used_ratio"]}
    assert parts == pytest.approx(
        {"memory": 500 / (12 << 30), "agents": 0.25, "queue": 0.0, "workspaces": 0.2}
    )
    others = {labels["resource"] for labels, _ in _read(_at_work())["paddock_quota_used_ratio"]}
    assert "agents" not in others and "workspaces" not in others


def test_a_breaker_that_was_found_open_is_shown_by_name() -> None:
    one = _at_work()
    one.fleet.set_breaker("old", Open(99.0, (1.0, 2.0, 3.0), 60.0))
    found = _read(one)
    states = {labels["group"]: value for labels, value in found["paddock_breaker_state"]}
    assert states == {"old": 2.0, "g": 0.0}
    assert found["paddock_breakers_open"] == [({}, 1.0)]


def test_every_metric_of_the_table_can_appear_and_no_other() -> None:
    one = _at_work(max_agents=4)
    one.submit("b", at=12.0)
    one.started("b", at=12.5)
    one.exited("b", at=13.0, signal=9, oom=True)
    found = _read(
        one,
        cpu={Attempt("a", 1): CpuUse(0.0, 1.0)},
        host_cpus=2.0,
        weights={"a": 1},
        most_workspaces=3,
        drivers={"local": WALLS},
        output=Counted(written_bytes=5),
        aside=Aside(disks={"state": Space(100, 50)}),
    )
    assert set(found) == _samples(set(METRICS) - {"paddock_leader"})  # here everybody leads


def _samples(names: Set[str]) -> Set[str]:
    parts = ("bucket", "sum", "count")
    wide = {name for name in names if METRICS[name].kind == "histogram"}
    return names - wide | {f"{name}_{part}" for name in wide for part in parts}


def test_the_controller_that_leads_serves_what_the_table_says_and_no_other() -> None:
    one = _at_work()
    one.submit("b", at=12.0)
    one.started("b", at=12.5)
    one.exited("b", at=13.0, signal=9, oom=True)
    reading = _reading(one, leads=True, lines={"limits.memory": 0.5})
    found = _found(reading.controllers_page())
    assert set(found) == _samples(OF_CONTROLLERS)
    assert found["paddock_leader"] == [({}, 1.0)]
    assert found["paddock_quota_used_ratio"] == [({"resource": "limits.memory"}, 0.5)]
    states = {labels["state"]: value for labels, value in found["paddock_agents"]}
    assert states == {"starting": 0.0, "running": 1.0, "frozen": 0.0, "stopping": 0.0}


def test_one_that_waits_for_its_turn_says_nothing_of_runs_but_its_counters_are_there() -> None:
    found = _found(_reading(SmallFleet()).controllers_page())
    assert found["paddock_leader"] == [({}, 0.0)]
    assert not {"paddock_agents", "paddock_queue_length", "paddock_runs_waiting"} & set(found)
    assert {value for _, value in found["paddock_preemptions_total"]} == {0.0}
    assert {value for _, value in found["paddock_queue_wait_seconds_count"]} == {0.0}


def test_promises_of_the_drivers_are_told_one_by_one() -> None:
    found = _read(_at_work(), drivers={"local": WALLS})
    told = {labels["promise"]: value for labels, value in found["paddock_containment"]}
    assert told == {"memory_wall": 1.0, "fleet_wall": 0.0, "whole_tree": 1.0, "freeze": 0.0}


def test_memory_that_cannot_be_read_is_not_said_to_be_free() -> None:
    one = _at_work()
    one.look(at=12.0, used_percent=None)
    found = _read(one)
    assert "paddock_host_memory_available_bytes" not in found
    assert found["paddock_pressure_step"] == [({}, float(Rung.QUEUE))]
