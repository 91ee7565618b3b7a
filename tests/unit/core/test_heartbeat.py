"""SCH-5: periodic low-priority runs."""

from __future__ import annotations

from typing import Any

from paddock.core.events import HeartbeatDeclared, HeartbeatRemoved, TimePassed
from paddock.core.heartbeat import Heartbeat
from paddock.core.run import Priority, RunSpec
from tests.kit.factories import a_host, a_policy, a_spec
from tests.kit.yard import Yard, refusals


def beating(every_s: float = 60.0, **facts: Any) -> Yard:
    yard = Yard(a_policy(**facts))
    declare(yard, a_spec("tidy", memory="1G", priority=Priority.CRITICAL), every_s)
    return yard


def declare(yard: Yard, template: RunSpec, every_s: float) -> list[str]:
    return refusals(yard.tell(HeartbeatDeclared(yard.now, template, every_s)))


def the_beat(yard: Yard) -> Heartbeat:
    return yard.fleet.heartbeats["tidy"]


def test_each_beat_is_a_low_priority_run_of_its_own() -> None:
    yard = beating()
    assert yard.live == []
    yard.advance(60)
    assert yard.live == ["tidy.60"]
    assert yard["tidy.60"].priority is Priority.LOW
    assert yard["tidy.60"].spec.heartbeat == "tidy"
    yard.end("tidy.60")
    yard.advance(60)
    assert yard.live == ["tidy.120"]


def test_never_two_of_one_at_once_and_the_skipped_are_counted() -> None:
    yard = beating()
    yard.advance(60)
    yard.confirm()
    yard.advance(120)
    assert yard.live == ["tidy.60"]
    assert (the_beat(yard).skipped_busy, the_beat(yard).beats) == (2, 1)


def test_one_that_still_waits_is_not_doubled_either() -> None:
    yard = beating(max_agents=1)
    yard.run(a_spec("busy", hard_timeout_s=1e6))
    yard.advance(180)
    assert yard.queued == ["tidy.60"]
    assert the_beat(yard).skipped_busy == 2


def test_under_pressure_it_is_skipped_and_counted() -> None:
    yard = beating()
    yard.sample(a_host(used_percent=72.0))
    yard.advance(120)
    assert yard.queued == yard.live == []
    assert the_beat(yard).skipped_pressure == 2


def test_missed_beats_are_not_made_up_for() -> None:
    yard = beating()
    yard.tell(TimePassed(yard.now + 3601))
    assert yard.live == ["tidy.60"]
    assert the_beat(yard).next_at == 3660.0


def test_declared_again_it_keeps_its_count_and_takes_the_new_pace() -> None:
    yard = beating(86400.0)
    yard.advance(86400)
    yard.end("tidy.86400")
    assert declare(yard, a_spec("tidy", memory="2G"), 60.0) == []
    yard.advance(60)
    assert yard.live == ["tidy.86460"]
    assert the_beat(yard).beats == 2
    assert yard["tidy.86460"].limit_bytes == 2 * yard["tidy.86400"].limit_bytes


def test_removed_while_it_runs_and_declared_again_it_does_not_run_twice() -> None:
    yard = beating()
    yard.advance(60)
    yard.tell(HeartbeatRemoved(yard.now, "tidy"))
    declare(yard, a_spec("tidy", memory="1G"), 60.0)
    yard.confirm()
    yard.advance(60)
    assert yard.live == ["tidy.60"]
    assert the_beat(yard).skipped_busy == 1
    yard.end("tidy.60")
    yard.advance(60)
    assert yard.live == ["tidy.180"]


def test_a_full_queue_skips_it_and_counts_it() -> None:
    yard = beating(max_agents=1, queue_depth=1)
    yard.run(a_spec("busy", hard_timeout_s=1e6))
    yard.submit(a_spec("waiting"))
    yard.advance(60)
    assert the_beat(yard).skipped_pressure == 1
    assert yard.queued == ["waiting"]


def test_a_slower_pace_does_not_bring_the_next_beat_forward() -> None:
    yard = beating(60.0)
    declare(yard, a_spec("tidy", memory="1G"), 3600.0)
    assert the_beat(yard).next_at == 60.0


def test_removed_it_beats_no_more() -> None:
    yard = beating()
    yard.tell(HeartbeatRemoved(yard.now, "tidy"))
    assert yard.fleet.next_deadline is None
    assert refusals(yard.tell(HeartbeatRemoved(yard.now, "tidy"))) == [
        "there is no heartbeat of that name"
    ]


def test_one_that_could_never_run_is_refused() -> None:
    yard = Yard()
    assert "can never fit" in declare(yard, a_spec("huge", memory="13G"), 60.0)[0]
    assert declare(yard, a_spec("odd"), 0.0) == [
        "a heartbeat every 0 s cannot be kept; the shortest is 1 s"
    ]
    assert yard.fleet.heartbeats == {}
