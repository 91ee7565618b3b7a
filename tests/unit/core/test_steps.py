"""Runs in steps: each is done once, in order, and what is not known is said to be in doubt."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from paddock.core.actions import StartAttempt
from paddock.core.events import CheckpointDeclined, PolicyChanged
from paddock.core.invariants import violations
from paddock.core.restore import owed
from paddock.core.run import Ended, Outcome, Priority, Queued, RunSpec, Starting, StepDone, Stopping
from paddock.core.units import GIB
from tests.kit.factories import a_policy, a_spec
from tests.kit.yard import Yard

NAMES = ("build", "test", "ship")


def in_steps(name: str = "a", **facts: Any) -> RunSpec:
    return structs.replace(a_spec(name), steps=NAMES, **facts)


def the_start(yard: Yard) -> StartAttempt:
    return [action for action in yard.all_actions if isinstance(action, StartAttempt)][-1]


def wait_for_its_turn(yard: Yard) -> None:
    at = yard.in_state("a", Queued).not_before_at
    assert at is not None
    yard.advance(at - yard.now)


def begun(**facts: Any) -> Yard:
    yard = Yard()
    yard.run(in_steps(**facts))
    return yard


def test_one_after_the_other_each_in_an_attempt_of_its_own() -> None:
    yard = Yard()
    [first] = yard.submit(in_steps())
    assert isinstance(first, StartAttempt) and first.step == 0
    for number in (1, 2):
        yard.confirm()
        yard.end("a")
        start = the_start(yard)
        assert (start.step, start.attempt.number) == (number, number + 1)
        assert not start.resume and not start.in_doubt
    yard.confirm()
    yard.end("a")
    assert yard.outcome("a") is Outcome.SUCCEEDED and yard["a"].steps_done == 3


def test_one_that_has_grown_too_large_for_the_fleet_between_two_steps_does_not_wait_for_ever() -> (
    None
):
    """Found by the properties: the wall was lowered while the first step ran."""
    yard = begun(limit_bytes=10 * GIB)
    yard.tell(PolicyChanged(yard.now, a_policy(reserve="8G")))
    yard.end("a")
    assert yard.outcome("a") is Outcome.REFUSED and yard["a"].steps_done == 1
    because = yard.in_state("a", Ended).because
    assert because.startswith("step build is done (1 of 3); test is next; its limit of 10 GiB can")


def test_a_step_that_is_done_is_told_with_what_it_left_in_the_step_that_begins_the_next() -> None:
    yard = begun()
    yard.end("a", output_digest="sha256:1", commit="c0ffee")
    assert yard.fleet.steps_done == [
        StepDone("a", 0, "build", yard.now, 1, 0, "sha256:1", "c0ffee")
    ]
    assert isinstance(yard.state("a"), Starting)
    assert [change.because for change in yard.fleet.changes] == [
        "step build is done (1 of 3); test is next",
        "there is room for it",
    ]


def test_a_step_that_fails_ends_the_run_and_says_which() -> None:
    yard = begun()
    yard.end("a")
    yard.confirm()
    yard.end("a", 3)
    assert yard.in_state("a", Ended).because == "step test: ended with exit code 3"
    assert yard["a"].steps_done == 1


def test_a_step_that_is_tried_again_is_the_same_and_goes_on() -> None:
    yard = begun(retries=1)
    yard.end("a")
    yard.confirm()
    yard.end("a", 3)
    wait_for_its_turn(yard)
    start = the_start(yard)
    assert (start.step, start.attempt.number, start.resume, start.in_doubt) == (1, 3, True, False)
    yard.confirm()
    yard.end("a")
    assert (the_start(yard).step, the_start(yard).resume) == (2, False)


def test_a_step_of_which_nobody_knows_the_end_may_be_done() -> None:
    yard = begun()
    yard.end("a")
    yard.confirm()
    yard.lose("a")
    wait_for_its_turn(yard)
    start = the_start(yard)
    assert (start.step, start.in_doubt) == (1, True)
    yard.confirm()
    yard.end("a")
    assert not the_start(yard).in_doubt


def test_doubt_stays_until_the_step_is_done() -> None:
    yard = begun(retries=1)
    yard.lose("a")
    wait_for_its_turn(yard)
    yard.confirm()
    yard.end("a", 1)
    wait_for_its_turn(yard)
    assert yard["a"].in_doubt and yard["a"].steps_done == 0


def test_what_is_owed_after_a_crash_names_the_step() -> None:
    yard = begun()
    yard.end("a")
    assert owed(yard.reborn().fleet) == [StartAttempt(yard.attempt("a"), 2 * GIB, step=1)]


def full_of_one() -> Yard:
    """One run fills the fleet; another, more urgent, asks for its place."""
    yard = Yard(a_policy(max_agents=1, min_run_s=0.0))
    yard.run(in_steps())
    yard.submit(a_spec("urgent", priority=Priority.CRITICAL))
    assert yard.stopping == ["a"]
    return yard


def test_asked_to_make_room_a_step_that_ends_well_has_made_it_with_its_work_done() -> None:
    yard = full_of_one()
    yard.end("a")
    assert isinstance(yard.state("a"), Queued) and yard["a"].steps_done == 1
    assert yard.live == ["urgent"]
    yard.confirm()
    yard.end("urgent")
    assert (the_start(yard).step, the_start(yard).resume) == (1, False)


def test_who_knows_nothing_of_checkpoints_is_told_to_stop_at_once() -> None:
    yard = full_of_one()
    yard.tell(CheckpointDeclined(yard.now, yard.attempt("a")))
    yard.end("a", None, signal=15)
    assert isinstance(yard.state("a"), Queued) and yard["a"].steps_done == 0
    yard.confirm()
    yard.end("urgent")
    assert (the_start(yard).step, the_start(yard).resume) == (0, True)


def test_a_cancelled_run_does_not_go_on_though_its_step_came_to_a_good_end() -> None:
    yard = begun()
    yard.cancel("a", force=True)
    yard.end("a")
    assert yard.outcome("a") is Outcome.CANCELLED and yard["a"].steps_done == 1


def test_a_run_that_goes_on_with_another_begins_where_that_one_stood() -> None:
    yard = Yard()
    [start] = yard.submit(in_steps(first_step=2, first_in_doubt=True))
    assert isinstance(start, StartAttempt) and (start.step, start.in_doubt) == (2, True)
    yard.confirm()
    yard.end("a")
    assert yard.outcome("a") is Outcome.SUCCEEDED


@pytest.mark.parametrize("first", [-1, 3, 7])
def test_a_step_that_is_not_there_is_refused(first: int) -> None:
    yard = Yard()
    yard.submit(in_steps(first_step=first))
    assert "a" not in yard.fleet.runs


def test_what_cannot_be_is_found() -> None:
    yard = begun()
    run = structs.replace(yard["a"], state=Ended(1.0, Outcome.SUCCEEDED, "done"), steps_done=1)
    yard.fleet.runs["a"] = run
    assert any("steps that are not done" in line for line in violations(yard.fleet))


def test_a_sentence_says_at_which_step_it_is() -> None:
    yard = begun()
    yard.end("a")
    yard.confirm()
    assert yard.why("a") == "running for 0 s, step 2 of 3 (test)"


def test_a_step_that_took_too_long_is_tried_again_where_the_run_has_retries() -> None:
    yard = begun(retries=1, hard_timeout_s=100.0)
    yard.end("a")
    yard.confirm()
    _take_too_long(yard)
    wait_for_its_turn(yard)
    start = the_start(yard)
    assert (start.step, start.resume, start.in_doubt) == (1, True, False)
    yard.confirm()
    _take_too_long(yard)
    assert yard.outcome("a") is Outcome.TIMEOUT_EXCEEDED and yard["a"].steps_done == 1


def test_without_retries_or_without_steps_a_timeout_is_the_end() -> None:
    yard = begun(hard_timeout_s=100.0)
    _take_too_long(yard)
    assert yard.outcome("a") is Outcome.TIMEOUT_EXCEEDED
    plain = Yard()
    plain.run(a_spec("a", retries=3, hard_timeout_s=100.0))
    _take_too_long(plain)
    assert plain.outcome("a") is Outcome.TIMEOUT_EXCEEDED


def _take_too_long(yard: Yard) -> None:
    yard.advance(101.0)
    assert isinstance(yard.state("a"), Stopping)
    yard.end("a", None, signal=15)
