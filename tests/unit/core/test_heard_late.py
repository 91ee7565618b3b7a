"""What ended before it was stopped ended as it did, however late that is heard or understood."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec import structs

from paddock.core.restore import restore, with_time_to_be_heard
from paddock.core.run import Outcome, Queued, Run, Running, RunSpec, Starting, Stopping
from tests.kit.factories import a_spec
from tests.kit.yard import Yard

HARD_S = 10.0


def timed(*steps: str, **facts: Any) -> RunSpec:
    return structs.replace(a_spec("a"), steps=steps, hard_timeout_s=HARD_S, retries=1, **facts)


def stopped_after_its_end(spec: RunSpec) -> tuple[Yard, float]:
    """It ended; while that was looked at its time was over."""
    yard = Yard()
    yard.run(spec)
    yard.advance(HARD_S - 1.0)
    heard_at = yard.now
    yard.advance(2.0)
    assert yard.in_state("a", Stopping).outcome is Outcome.TIMEOUT_EXCEEDED
    return yard, heard_at


@pytest.mark.parametrize("empty", [True, False])
def test_who_ended_in_time_has_not_timed_out(*, empty: bool) -> None:
    yard, heard_at = stopped_after_its_end(timed())
    yard.end("a", heard_at=heard_at, empty=empty)
    if not empty:
        yard.empty("a")
    assert yard.outcome("a") is Outcome.SUCCEEDED


def test_who_ended_badly_in_time_has_failed() -> None:
    yard, heard_at = stopped_after_its_end(structs.replace(timed(), retries=0))
    yard.end("a", 3, heard_at=heard_at)
    assert yard.outcome("a") is Outcome.FAILED


def test_a_step_that_was_done_in_time_is_not_done_again() -> None:
    yard, heard_at = stopped_after_its_end(timed("one", "two"))
    yard.end("a", heard_at=heard_at)
    assert yard["a"].steps_done == 1 and isinstance(yard.state("a"), Starting)


def test_who_ended_because_it_was_told_to_has_timed_out() -> None:
    yard, _ = stopped_after_its_end(structs.replace(timed(), retries=0))
    yard.end("a", heard_at=yard.now)
    assert yard.outcome("a") is Outcome.TIMEOUT_EXCEEDED


def test_what_somebody_asked_for_stands() -> None:
    yard = Yard()
    yard.run(timed("one", "two"))
    heard_at = yard.now
    yard.advance(1.0)
    yard.cancel("a")
    yard.end("a", heard_at=heard_at)
    assert yard.outcome("a") is Outcome.CANCELLED


# -- a daemon that comes late ---------------------------------------------------------------------


def late(yard: Yard, *, by_s: float) -> Yard:
    now = yard.now + by_s
    runs: list[Run] = [with_time_to_be_heard(run, now) for run in yard.fleet.runs.values()]
    return Yard(fleet=restore(yard.fleet.policy, runs, now=now), sampled=False)


def test_a_deadline_that_passed_meanwhile_waits_until_the_driver_is_heard() -> None:
    yard = Yard()
    yard.run(timed())
    yard = late(yard, by_s=3600.0)
    yard.advance(5.0)
    assert isinstance(yard.state("a"), Running)
    yard.end("a")
    assert yard.outcome("a") is Outcome.SUCCEEDED


def test_and_rings_when_it_says_nothing() -> None:
    yard = Yard()
    yard.run(timed())
    yard = late(yard, by_s=3600.0)
    yard.advance(20.0)
    assert yard.in_state("a", Stopping).outcome is Outcome.TIMEOUT_EXCEEDED


def test_a_start_of_which_nobody_heard_is_not_begun_twice() -> None:
    yard = Yard()
    yard.submit(timed())
    yard = late(yard, by_s=3600.0)
    yard.advance(5.0)
    yard.confirm()
    assert isinstance(yard.state("a"), Running) and yard["a"].attempts == 1


def test_what_is_far_away_stays_where_it_is() -> None:
    yard = Yard()
    yard.run(timed(), structs.replace(a_spec("b"), hard_timeout_s=math.inf))
    yard.submit(structs.replace(a_spec("c"), needs=("a",)))
    runs = list(yard.fleet.runs.values())
    assert [with_time_to_be_heard(run, yard.now - 60.0) for run in runs] == runs
    assert isinstance(yard.state("c"), Queued)
