"""RUN-5 and RUN-7: what an end means, and when a run is tried again."""

from __future__ import annotations

import pytest

from paddock.core.retry import Again, Verdict, again, judge, larger_limit
from paddock.core.run import Exit, Outcome, Queued, Run
from paddock.core.units import GIB, MIB
from tests.kit.factories import a_policy, a_run, a_spec, with_parts
from tests.kit.yard import Yard

POLICY = a_policy()
FAILED = Verdict(Outcome.FAILED, "exit code 1")
OOM = Verdict(Outcome.MEMORY_LIMIT_EXCEEDED, "out of memory", at_the_wall=True)


def delay(run: Run, verdict: Verdict = FAILED) -> float:
    retry = again(run, verdict, POLICY)
    assert retry is not None
    return retry.delay_s


@pytest.mark.parametrize(
    ("ended", "outcome"),
    [
        (Exit(0), Outcome.SUCCEEDED),
        (Exit(0, oom=True), Outcome.SUCCEEDED),  # a tool died, the agent lived on
        (Exit(1), Outcome.FAILED),
        (Exit(None, signal=11), Outcome.FAILED),
        (Exit(137), Outcome.FAILED),  # 137 alone is no proof of an OOM
        (Exit(137, oom=True), Outcome.MEMORY_LIMIT_EXCEEDED),
        (Exit(None, signal=9, oom=True, fleet_oom=True), Outcome.PREEMPTED),
        (Exit(75), Outcome.PREEMPTED),
        (Exit(1, retry_after_s=30.0), Outcome.PREEMPTED),
    ],
)
def test_what_an_exit_means(ended: Exit, outcome: Outcome) -> None:
    assert judge(a_run(), ended, POLICY).outcome is outcome


def test_a_success_over_a_dead_tool_has_a_note() -> None:
    because = judge(a_run(), Exit(0, oom=True), POLICY).because
    assert because == "exit code 0; one of its commands was killed at the memory wall"


def test_reasons_have_their_numbers() -> None:
    assert judge(a_run(), Exit(3), POLICY).because == "ended with exit code 3"
    assert judge(a_run(), Exit(None, signal=11), POLICY).because == "ended with signal 11"
    oom = judge(a_run(), Exit(None, signal=9, oom=True), POLICY)
    assert oom.because == "went over its memory limit of 2 GiB"
    known = judge(a_run(), Exit(signal=9, oom=True, victim="pytest (1.9 GiB)"), POLICY)
    assert known.because == f"{oom.because}: the kernel killed pytest (1.9 GiB)"


def test_without_retries_a_failure_is_the_end() -> None:
    assert again(a_run(), FAILED, POLICY) is None


def test_with_retries_it_is_tried_that_often() -> None:
    spec = a_spec(retries=2)
    assert again(a_run(spec, failures=1), FAILED, POLICY) is not None
    assert again(a_run(spec, failures=2), FAILED, POLICY) is None


def test_the_wait_doubles_up_to_its_maximum() -> None:
    spec = a_spec(retries=100)
    plain = with_parts(POLICY, retry={"jitter": 0.0})
    waits = [again(a_run(spec, failures=n), FAILED, plain) for n in (0, 1, 2, 20)]
    assert waits == [Again(s, 2 * GIB) for s in (5.0, 10.0, 20.0, 300.0)]


def test_the_wait_is_spread_but_the_same_each_time() -> None:
    spec = a_spec(retries=1)
    herd = {delay(a_run(a_spec(f"r{i}", retries=1), attempts=1)) for i in range(50)}
    assert len(herd) == 50
    assert all(5.0 <= wait <= 6.0 for wait in herd)
    assert delay(a_run(spec, attempts=1)) == delay(a_run(spec, attempts=1))
    assert delay(a_run(spec, attempts=1)) != delay(a_run(spec, attempts=2))


def test_an_out_of_memory_run_comes_back_larger() -> None:
    retry = again(a_run(a_spec(retries=1)), OOM, POLICY)
    assert retry is not None
    assert retry.limit_bytes == int(2 * GIB * 1.2)


def test_small_ones_grow_by_a_hundred_mib_at_least() -> None:
    assert larger_limit(100 * MIB, POLICY) == 200 * MIB


def test_no_larger_than_the_wall_and_then_it_is_over() -> None:
    assert larger_limit(11 * GIB, POLICY) == 12 * GIB
    assert larger_limit(12 * GIB, POLICY) is None
    assert again(a_run(a_spec(memory="12G", retries=5)), OOM, POLICY) is None
    ceiling = with_parts(POLICY, retry={"limit_ceiling_bytes": 2 * GIB})
    assert larger_limit(2 * GIB, ceiling) is None


def test_a_larger_limit_is_what_the_next_attempt_gets() -> None:
    yard = Yard()
    yard.run(a_spec(memory="10G", retries=3))
    yard.end("a", None, signal=9, oom=True)
    yard.advance(6)
    assert yard["a"].limit_bytes == 12 * GIB
    assert yard.live == ["a"]
    yard.end("a", None, signal=9, oom=True)
    assert yard.outcome("a") is Outcome.MEMORY_LIMIT_EXCEEDED


def test_exit_75_is_tried_later_and_is_no_failure() -> None:
    yard = Yard()
    yard.run(a_spec())
    yard.end("a", 75)
    assert yard.in_state("a", Queued).not_before_at == 60.0
    assert (yard["a"].failures, yard["a"].laters, yard["a"].preemptions) == (0, 1, 0)
    yard.advance(60)
    yard.end("a", 75)
    assert yard.in_state("a", Queued).not_before_at == 60.0 + 120.0


def test_a_stated_time_is_kept_to() -> None:
    yard = Yard()
    yard.run(a_spec())
    yard.end("a", 1, retry_after_s=7200.0)
    assert yard.in_state("a", Queued).not_before_at == 7200.0
    yard.advance(7199)
    assert yard.live == []
    yard.advance(1)
    assert yard.live == ["a"]


def test_later_is_not_for_ever() -> None:
    yard = Yard(with_parts(POLICY, retry={"laters": 2}))
    yard.run(a_spec())
    for wait_s in (60, 120):
        yard.end("a", 75)
        yard.advance(wait_s)
    yard.end("a", 75)
    assert yard.outcome("a") is Outcome.FAILED
    assert "asked to be tried later 2 times" in yard.why("a")


def test_a_lost_session_begins_afresh_at_once_and_is_no_failure() -> None:
    yard = Yard()
    yard.run(a_spec(agent="claude"))
    yard.end("a", 75)
    yard.advance(60)
    assert yard.last_start("a").resume
    yard.end("a", 1, session_lost=True)
    assert yard.live == ["a"] and not yard.last_start("a").resume
    assert (yard["a"].failures, yard["a"].laters) == (0, 2)
    yard.end("a", 1, retry_after_s=5.0)  # what it did since is gone on with again
    yard.advance(5)
    assert yard.last_start("a").resume
    yard.end("a", 1)
    assert yard.outcome("a") is Outcome.FAILED


def test_sessions_are_not_lost_for_ever() -> None:
    yard = Yard(with_parts(POLICY, retry={"laters": 3}))
    yard.run(a_spec(agent="claude"))
    for _ in range(3):
        yard.end("a", 1, session_lost=True)
        assert yard.live == ["a"]
    yard.end("a", 1, session_lost=True)
    assert yard.outcome("a") is Outcome.FAILED


def test_a_lost_session_of_a_step_begins_that_step_afresh() -> None:
    yard = Yard()
    yard.run(a_spec(agent="claude", steps=("one", "two")))
    yard.end("a", 0)
    yard.end("a", 75)
    yard.advance(60)
    assert (yard.last_start("a").step, yard.last_start("a").resume) == (1, True)
    yard.end("a", 1, session_lost=True)
    assert (yard.last_start("a").step, yard.last_start("a").resume) == (1, False)
    yard.end("a", 0)
    assert yard.outcome("a") is Outcome.SUCCEEDED and yard["a"].steps_done == 2


def test_a_failed_start_is_tried_twice_more_unless_it_cannot_help() -> None:
    yard = Yard(with_parts(POLICY, breaker={"failures": 99}))
    yard.submit(a_spec("a"))
    for _ in range(2):
        yard.fail_to_spawn("a")
        yard.advance(20)
    yard.fail_to_spawn("a")
    assert yard.outcome("a") is Outcome.SPAWN_FAILED
    assert yard["a"].attempts == 3
    yard.submit(a_spec("b"))
    yard.fail_to_spawn("b", permanent=True)
    assert yard.outcome("b") is Outcome.SPAWN_FAILED
    assert yard.why("b") == "spawn_failed: could not be started: no such file"


def test_a_lost_attempt_is_tried_again_three_times() -> None:
    yard = Yard()
    yard.submit(a_spec())
    for _ in range(3):
        yard.lose("a")
        yard.advance(60)
    yard.lose("a")
    assert yard.outcome("a") is Outcome.LOST
    assert yard.why("a") == "lost: nobody knows how it ended: the host was rebooted"


def test_one_killed_at_the_fleets_wall_goes_back_and_its_group_grows() -> None:
    yard = Yard()
    yard.run(a_spec())
    yard.end("a", None, signal=9, fleet_oom=True)
    assert yard["a"].failures == 0
    assert yard.fleet.groups["coder"].size.extra_bytes >= 100 * MIB
