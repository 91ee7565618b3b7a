"""What was done or begun and could not be remembered: judged by what is found."""

from __future__ import annotations

from dataclasses import replace

from paddock.core.events import (
    AttemptLost,
    CancelRequested,
    Exited,
    PolicyChanged,
    StartPutOff,
    StartTakesLonger,
    StopFound,
)
from paddock.core.run import (
    Ended,
    Exit,
    Outcome,
    Priority,
    Queued,
    Starting,
    Stopping,
)
from tests.kit.factories import a_host, a_spec
from tests.kit.yard import Yard


def test_a_kill_that_was_never_remembered_is_still_known_for_what_it_was() -> None:
    """The daemon killed under pressure, died before the commit, and the next one finds both."""
    yard = Yard()
    yard.run(a_spec("a"))
    attempt = yard.fleet.runs["a"].attempt
    yard.tell(StopFound(yard.now, attempt, Outcome.PREEMPTED, "96 % of memory is in use"))
    yard.tell(Exited(yard.now, attempt, Exit(signal=9)))
    run = yard.fleet.runs["a"]
    assert run.preemptions == 1
    assert run.failures == 0


def test_what_may_have_done_its_work_is_lost_and_not_done_again() -> None:
    yard = Yard()
    yard.run(a_spec("a", retries=3))
    attempt = yard.fleet.runs["a"].attempt
    yard.tell(AttemptLost(yard.now, attempt, "its keeper was killed", permanent=True))
    state = yard.fleet.runs["a"].state
    assert isinstance(state, Ended)
    assert state.outcome is Outcome.LOST
    assert "its keeper was killed" in state.because


def test_a_good_end_that_a_kill_came_too_late_for_is_a_good_end() -> None:
    """SIGKILL makes no exit code 0: the work is done, and is not done again."""
    yard = Yard()
    yard.run(a_spec("a", priority=Priority.LOW))
    yard.sample(a_host(used_percent=97.0), a="2G")
    attempt = yard.fleet.runs["a"].attempt
    assert isinstance(yard.fleet.runs["a"].state, Stopping)
    yard.tell(Exited(yard.now, attempt, Exit(code=0)))
    assert yard.outcome("a") is Outcome.SUCCEEDED


def test_a_start_that_could_not_be_remembered_is_put_off_and_counts_as_nothing() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    run = yard.fleet.runs["a"]
    assert isinstance(run.state, Starting)
    yard.tell(PolicyChanged(yard.now, replace(yard.fleet.policy, max_agents=0)))
    yard.tell(StartPutOff(yard.now, run.attempt, "no room"))
    after = yard.fleet.runs["a"]
    assert isinstance(after.state, Queued)
    assert (after.failures, after.losses) == (0, 0)


def test_one_that_was_stopped_before_its_start_could_be_remembered_is_gone() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    attempt = yard.fleet.runs["a"].attempt
    yard.tell(CancelRequested(yard.now, "a"))
    yard.tell(StartPutOff(yard.now, attempt, "no room"))
    assert yard.outcome("a") is Outcome.CANCELLED


def test_a_submission_that_could_not_be_remembered_is_refused_for_that_reason() -> None:
    yard = Yard()
    yard.submit(a_spec("a", needs=()))
    yard.tell(StartPutOff(yard.now, yard.fleet.runs["a"].attempt, "no room"))
    yard.tell(CancelRequested(yard.now, "a", refused="not taken: no room left"))
    run = yard.fleet.runs["a"]
    if isinstance(run.state, Stopping):
        yard.tell(StartPutOff(yard.now, run.attempt, "no room"))
    state = yard.fleet.runs["a"].state
    assert isinstance(state, Ended)
    assert (state.outcome, state.because) == (Outcome.REFUSED, "not taken: no room left")


def test_a_start_that_is_being_prepared_has_patience_anew() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    patience_s = yard.fleet.policy.timeouts.start_s
    for _ in range(3):
        yard.advance(patience_s - 1)
        yard.tell(StartTakesLonger(yard.now, yard.attempt("a"), "its repository is cloned"))
    assert isinstance(yard.state("a"), Starting)
    yard.advance(patience_s)
    assert isinstance(yard.state("a"), Stopping)
    yard.tell(StartTakesLonger(yard.now, yard.attempt("a"), "too late"))
    assert isinstance(yard.state("a"), Stopping)
