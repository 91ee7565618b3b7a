"""One attempt's way: started, timed, frozen, stopped, ended."""

from __future__ import annotations

import math
from typing import Any

import pytest

from paddock.core.actions import (
    FreezeAttempt,
    KillAttempt,
    Refuse,
    StartAttempt,
    TerminateAttempt,
    ThawAttempt,
    WarnAttempt,
)
from paddock.core.events import (
    Emptied,
    Exited,
    FreezeRequested,
    LimitPassed,
    Noticed,
    Sampled,
    Started,
    ThawRequested,
)
from paddock.core.run import (
    Attempt,
    Ended,
    Exit,
    Outcome,
    Queued,
    Running,
    Starting,
    StopPhase,
    Stopping,
)
from paddock.core.units import GIB
from tests.kit.factories import a_host, a_policy, a_spec
from tests.kit.yard import Yard, only


def running(**facts: Any) -> Yard:
    yard = Yard()
    yard.run(a_spec(**facts))
    return yard


def test_a_run_starts_runs_and_ends() -> None:
    yard = Yard()
    assert yard.submit(a_spec()) == [StartAttempt(Attempt("a", 1), 2 * GIB)]
    yard.in_state("a", Starting)
    yard.confirm()
    yard.in_state("a", Running)
    yard.end("a")
    assert yard.outcome("a") is Outcome.SUCCEEDED


def test_told_twice_that_it_runs_it_runs_once() -> None:
    yard = running()
    before = yard["a"]
    yard.advance(5)
    yard.confirm("a")
    assert yard["a"] is before


def test_an_exit_may_come_before_the_start_is_confirmed() -> None:
    yard = Yard()
    yard.submit(a_spec())
    yard.end("a")
    assert yard.outcome("a") is Outcome.SUCCEEDED


def test_a_start_that_nobody_confirms_is_given_up() -> None:
    yard = Yard()
    yard.submit(a_spec())
    assert len(only(yard.advance(60), KillAttempt)) == 1
    yard.confirm("a")  # too late
    stopping = yard.in_state("a", Stopping)
    assert stopping.because == "no sign of a start for 1 min"
    yard.empty("a")
    assert yard.in_state("a", Queued).not_before_at is not None


def test_the_soft_timeout_warns_once() -> None:
    yard = running(hard_timeout_s=100.0)
    assert yard.advance(49) == []
    assert yard.advance(1) == [WarnAttempt(Attempt("a", 1))]
    assert yard.advance(49) == []


def test_the_hard_timeout_tells_and_five_seconds_later_kills() -> None:
    yard = running(hard_timeout_s=100.0)
    told = yard.advance(100)[-1]
    assert told == TerminateAttempt(Attempt("a", 1), "ran into its hard timeout of 1 min 40 s")
    assert yard.advance(4) == []
    assert len(only(yard.advance(1), KillAttempt)) == 1
    yard.end("a", None, signal=9)
    assert yard.outcome("a") is Outcome.TIMEOUT_EXCEEDED


def test_a_run_may_have_no_timeout() -> None:
    yard = running(hard_timeout_s=math.inf)
    assert yard.fleet.next_deadline is None


def test_a_cancel_tells_and_ten_seconds_later_kills() -> None:
    yard = running()
    assert yard.cancel("a") == [TerminateAttempt(Attempt("a", 1), "cancelled on request")]
    assert yard.advance(9) == []
    assert len(only(yard.advance(1), KillAttempt)) == 1
    yard.end("a", 0)
    assert yard.outcome("a") is Outcome.CANCELLED


def test_a_forced_cancel_kills_at_once() -> None:
    yard = running()
    assert yard.cancel("a", force=True) == [KillAttempt(Attempt("a", 1), "killed on request")]


def test_force_can_follow_and_asking_again_prolongs_nothing() -> None:
    yard = running()
    yard.cancel("a")
    yard.advance(8)
    assert yard.cancel("a") == []
    assert yard.fleet.next_deadline == 10.0
    assert len(only(yard.cancel("a", force=True), KillAttempt)) == 1


def test_a_waiting_run_is_cancelled_at_once() -> None:
    yard = Yard(sampled=False)
    yard.submit(a_spec())
    assert yard.cancel("a") == []
    assert yard.why("a") == "cancelled: cancelled while it waited"


def test_a_cancel_counts_more_than_the_stop_it_finds() -> None:
    """It was being preempted, and would have come back."""
    yard = running()
    yard.tell(LimitPassed(yard.now, yard.attempt("a"), "throttled for 30 s"))
    yard.cancel("a")
    yard.end("a", None, signal=15)
    assert yard.outcome("a") is Outcome.CANCELLED


def test_what_is_killed_and_still_there_is_killed_again() -> None:
    yard = running()
    yard.cancel("a", force=True)
    assert len(only(yard.advance(30), KillAttempt)) == 3


def test_a_limit_passed_without_a_kill_stops_it() -> None:
    yard = running()
    actions = yard.tell(LimitPassed(yard.now, yard.attempt("a"), "throttled for 30 s"))
    assert actions == [TerminateAttempt(Attempt("a", 1), "throttled for 30 s")]
    yard.end("a", 0)
    assert yard.outcome("a") is Outcome.MEMORY_LIMIT_EXCEEDED


def test_what_is_noticed_is_in_its_story_and_decides_nothing() -> None:
    yard = running()
    before = yard["a"]
    assert yard.tell(Noticed(yard.now, yard.attempt("a"), "left its cgroup")) == []
    assert yard["a"] == before
    assert [change.because for change in yard.fleet.changes] == ["left its cgroup"]
    yard.tell(Noticed(yard.now, Attempt("a", 9), "of another attempt"))
    assert yard.fleet.changes == []


def test_a_soft_limit_is_held_by_sampling() -> None:
    yard = running(soft_limit_bytes=1 * GIB)
    assert yard.sample(a="1G") == []
    (told,) = only(yard.sample(a="1.5G"), TerminateAttempt)
    assert told.because == "used 1.5 GiB, over its soft limit of 1 GiB"
    assert yard.sample(a="1.6G") == []


def test_strays_hold_the_memory_until_the_last_is_gone() -> None:
    yard = Yard()
    yard.run(a_spec("a", memory="12G"))
    yard.submit(a_spec("b", memory="12G"))
    yard.end("a", 0, empty=False)
    stopping = yard.in_state("a", Stopping)
    assert stopping.phase is StopPhase.KILLED
    assert "left processes behind" in stopping.because
    assert yard.queued == ["b"]
    yard.empty("a")
    assert yard.outcome("a") is Outcome.SUCCEEDED
    assert yard.live == ["b"]


def test_a_cancel_does_not_rewrite_an_end_the_agent_chose() -> None:
    yard = running()
    yard.end("a", 0, empty=False)
    yard.cancel("a", force=True)
    yard.empty("a")
    assert yard.outcome("a") is Outcome.SUCCEEDED


def test_gone_without_a_known_exit_is_lost_not_guessed() -> None:
    yard = running()
    yard.empty("a")
    assert "nobody knows how it ended" in yard.in_state("a", Queued).because
    assert yard["a"].losses == 1


@pytest.mark.parametrize("event", ["Emptied", "AttemptLost"])
def test_gone_while_it_was_stopped_is_what_paddock_wanted(event: str) -> None:
    yard = running()
    yard.cancel("a")
    if event == "Emptied":
        yard.empty("a")
    else:
        yard.lose("a")
    assert yard.outcome("a") is Outcome.CANCELLED


def test_a_frozen_run_does_not_age() -> None:
    yard = running(hard_timeout_s=100.0)
    yard.advance(10)
    assert yard.tell(FreezeRequested(yard.now, "a")) == [FreezeAttempt(Attempt("a", 1))]
    assert yard.fleet.next_deadline is None
    yard.advance(1000)
    assert yard.tell(ThawRequested(yard.now, "a")) == [ThawAttempt(Attempt("a", 1))]
    state = yard.in_state("a", Running)
    assert (state.soft_at, state.hard_at) == (1050.0, 1100.0)


def test_freezing_twice_counts_the_whole_pause() -> None:
    yard = running(hard_timeout_s=100.0)
    yard.tell(FreezeRequested(yard.now, "a"))
    yard.advance(10)
    assert yard.tell(FreezeRequested(yard.now, "a")) == []
    yard.advance(10)
    yard.tell(ThawRequested(yard.now, "a"))
    assert yard.in_state("a", Running).hard_at == 120.0
    assert yard.tell(ThawRequested(yard.now, "a")) == [Refuse("a", "it is not frozen")]


def test_what_does_not_run_cannot_be_frozen_and_is_told_so() -> None:
    yard = Yard(a_policy(max_agents=1))
    yard.submit(a_spec("a"), a_spec("b"))
    refused = [Refuse("b", "only a running run can be frozen")]
    assert yard.tell(FreezeRequested(yard.now, "b")) == refused


def test_the_hard_timeout_sentence_leaves_out_the_time_it_stood_still() -> None:
    yard = running(hard_timeout_s=100.0)
    yard.tell(FreezeRequested(yard.now, "a"))
    yard.advance(1000)
    yard.tell(ThawRequested(yard.now, "a"))
    yard.advance(100)
    assert yard.in_state("a", Stopping).because == "ran into its hard timeout of 1 min 40 s"


def test_a_frozen_run_is_thawed_to_hear_that_it_must_stop() -> None:
    yard = running()
    yard.tell(FreezeRequested(yard.now, "a"))
    assert [type(a) for a in yard.cancel("a")] == [ThawAttempt, TerminateAttempt]
    yard = running()
    yard.tell(FreezeRequested(yard.now, "a"))
    assert [type(a) for a in yard.cancel("a", force=True)] == [KillAttempt]


def test_news_of_an_old_attempt_changes_nothing() -> None:
    yard = running(retries=1)
    old = yard.attempt("a")
    yard.end("a", 1)
    yard.advance(6)
    yard.confirm()
    before = yard["a"]
    for event in (
        Exited(yard.now, old, Exit(0)),
        Emptied(yard.now, old),
        Started(yard.now, old),
        Sampled(yard.now, a_host(), {old: 9 * GIB}),
    ):
        assert yard.tell(event) == []
    assert yard["a"] is before
    assert yard.fleet.demand.used_by("a") == 0


def test_news_of_nobody_changes_nothing() -> None:
    yard = running()
    assert yard.tell(Exited(yard.now, Attempt("nobody", 1), Exit(0))) == []


def test_an_event_from_the_past_does_not_turn_the_clock_back() -> None:
    yard = running()
    yard.advance(100)
    yard.tell(Exited(1.0, yard.attempt("a"), Exit(0)))
    assert yard.in_state("a", type(yard.state("a"))).since_at == 100.0


def test_the_peak_of_a_run_is_the_largest_of_all_its_attempts() -> None:
    yard = running(retries=2)
    yard.sample(a="1G")
    yard.end("a", 1, peak_bytes=GIB // 2)  # less than was sampled
    assert (yard["a"].attempts, yard["a"].peak_bytes) == (1, GIB)
    yard.advance(60)
    yard.confirm("a")
    yard.end("a", 1, peak_bytes=GIB * 3 // 2)  # between two samples
    yard.advance(60)
    yard.confirm("a")
    yard.sample(a="64M")
    yard.end("a", 0)
    assert (yard["a"].attempts, yard["a"].peak_bytes) == (3, GIB * 3 // 2)
    assert yard.in_state("a", Ended).peak_bytes == 64 << 20  # of the last one alone


def test_durations_of_good_runs_are_learned() -> None:
    yard = Yard(a_policy())
    for number in range(10):
        yard.run(a_spec(f"r{number}"))
        yard.advance(800)
        yard.end(f"r{number}")
    yard.run(a_spec("next"))
    state = yard.in_state("next", Running)
    assert state.hard_at == yard.now + 2400.0
