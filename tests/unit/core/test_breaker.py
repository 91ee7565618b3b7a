"""SCH-4: three failures in a minute stop a group; one probe opens the way again."""

from __future__ import annotations

import pytest

from paddock.core.breaker import Closed, HalfOpen, Open
from paddock.core.events import BreakerReset, SpawnFailed, TimePassed
from paddock.core.run import Outcome, Priority, Queued
from tests.kit.factories import a_policy, a_spec
from tests.kit.yard import Yard, refusals


def breaker(yard: Yard) -> Closed | Open | HalfOpen:
    return yard.fleet.groups["coder"].breaker


def told_at(run: str, yard: Yard) -> list[str]:
    """What the last step added to its story."""
    return [change.because for change in yard.fleet.changes if change.run.id == run]


def a_yard_that_failed(times: int, *, every_s: float = 1.0) -> Yard:
    yard = Yard()
    for number in range(times):
        yard.run(a_spec(f"bad{number}"))
        yard.end(f"bad{number}", 1)
        yard.advance(every_s)
    return yard


def a_probing_yard() -> Yard:
    """Open, then half-open with `p0` under way and `p1` waiting."""
    yard = a_yard_that_failed(3)
    yard.submit(a_spec("p0"), a_spec("p1"))
    yard.advance(60)
    yard.confirm()
    assert yard.live == ["p0"]
    return yard


def test_three_failures_in_a_minute_open_it() -> None:
    yard = a_yard_that_failed(2)
    assert isinstance(breaker(yard), Closed)
    yard = a_yard_that_failed(3)
    assert isinstance(breaker(yard), Open)
    yard.submit(a_spec("next"), a_spec("other", group="tester"))
    assert yard.live == ["other"]


def test_the_tries_of_one_start_are_one_failure_and_only_when_it_is_given_up() -> None:
    yard = Yard()
    names = ["r0", "r1", "r2"]
    yard.submit(*map(a_spec, names))
    for _ in range(2):
        for name in names:
            yard.fail_to_spawn(name)
        assert breaker(yard) == Closed()
        yard.advance(20)
    for number, name in enumerate(names):
        assert len(breaker(yard).failed_at) == number
        yard.fail_to_spawn(name)
        assert yard.outcome(name) is Outcome.SPAWN_FAILED
    assert isinstance(breaker(yard), Open)


def test_a_command_that_cannot_be_started_counts_at_once() -> None:
    yard = Yard()
    for number in range(3):
        yard.submit(a_spec(f"r{number}"))
        yard.fail_to_spawn(f"r{number}", permanent=True)
    assert isinstance(breaker(yard), Open)


def test_a_probe_that_its_driver_could_not_start_leaves_the_way_to_another() -> None:
    yard = a_probing_yard()
    yard.tell(SpawnFailed(yard.now, yard.attempt("p0"), "docker does not answer"))
    assert isinstance(breaker(yard), HalfOpen)
    assert yard.live == ["p1"]


def test_three_failures_over_more_than_a_minute_do_not() -> None:
    assert isinstance(breaker(a_yard_that_failed(6, every_s=31.0)), Closed)


def test_a_success_between_failures_forgives_nothing() -> None:
    yard = a_yard_that_failed(2)
    yard.run(a_spec("good"))
    yard.end("good")
    yard.run(a_spec("bad"))
    yard.end("bad", 1)
    assert isinstance(breaker(yard), Open)


@pytest.mark.parametrize(
    "end", ["later", "rate limit", "preempted", "cancelled", "timeout", "lost"]
)
def test_what_is_not_the_agents_failure_does_not_count(end: str) -> None:
    yard = Yard(a_policy(min_run_s=0.0))
    for number in range(4):
        name = f"r{number}"
        yard.run(a_spec(name, priority=Priority.LOW, hard_timeout_s=10.0, memory="7G"))
        match end:
            case "later":
                yard.end(name, 75)
            case "rate limit":
                yard.end(name, 1, retry_after_s=5.0)
            case "preempted":
                yard.submit(a_spec(f"urgent{number}", memory="12G", group="x"))
                yard.end(name, 1)
                yard.end(f"urgent{number}")
            case "cancelled":
                yard.cancel(name)
                yard.end(name, 1)
            case "timeout":
                yard.advance(10)
                yard.end(name, 1)
            case _:
                yard.lose(name)
        yard.cancel(name)
    assert breaker(yard) == Closed()


@pytest.mark.parametrize("kind", ["out of memory", "spawn"])
def test_what_is_the_agents_failure_counts(kind: str) -> None:
    yard = Yard()
    for number in range(3):
        yard.submit(a_spec(f"r{number}"))
        if kind == "spawn":
            yard.fail_to_spawn(f"r{number}", permanent=True)
        else:
            yard.end(f"r{number}", None, signal=9, oom=True)
    assert isinstance(breaker(yard), Open)


def test_after_the_cooldown_one_probe_runs_and_the_others_wait() -> None:
    yard = a_probing_yard()
    assert isinstance(breaker(yard), HalfOpen)
    assert yard.why("p1").endswith(
        "lets one probe run first (p0), or now, after `paddock breaker reset coder`"
    )


def test_the_story_speaks_of_the_breaker_and_of_the_cap() -> None:
    yard = a_yard_that_failed(3)
    yard.submit(a_spec("p0"))
    assert told_at("p0", yard) == ["submitted; the breaker of coder is open"]
    opened = breaker(yard)
    assert isinstance(opened, Open)
    yard.tell(TimePassed(opened.until_at))
    told = told_at("p0", yard)
    yard.sample()  # which it may have waited for
    assert [*told, *told_at("p0", yard)] == ["it probes for the breaker of coder"]
    full = Yard(a_policy(max_agents=1))
    full.run(a_spec("first"))
    full.submit(a_spec("second"))
    assert told_at("second", full) == ["submitted"]  # nobody passes it, so nothing is noted
    full.end("first")
    assert told_at("second", full) == ["there is room for it"]


def test_the_probes_success_closes_it() -> None:
    yard = a_probing_yard()
    yard.end("p0")
    assert breaker(yard) == Closed()
    assert yard.live == ["p1"]


def test_the_probes_failure_opens_it_for_twice_as_long() -> None:
    yard = a_probing_yard()
    yard.end("p0", 1)
    state = breaker(yard)
    assert isinstance(state, Open)
    assert state.until_at == yard.now + 120
    yard.advance(119)
    assert yard.live == []
    yard.advance(1)
    assert yard.live == ["p1"]


def test_the_cooldown_grows_no_longer_than_its_maximum() -> None:
    yard = a_yard_that_failed(3)
    yard.submit(*(a_spec(f"p{number}") for number in range(6)))
    for number in range(6):
        while not yard.live:
            yard.advance(60)
        yard.end(f"p{number}", 1)
    state = breaker(yard)
    assert isinstance(state, Open)
    assert state.cooldown_s == 600


def test_a_probe_that_ends_without_a_verdict_lets_another_try() -> None:
    yard = a_probing_yard()
    yard.cancel("p0", force=True)
    yard.end("p0", None, signal=9)
    assert yard.outcome("p0") is Outcome.CANCELLED
    assert yard.live == ["p1"]
    assert breaker(yard) == HalfOpen(breaker(yard).failed_at, 60.0, "p1")


def test_a_preempted_probe_is_probed_again() -> None:
    yard = a_probing_yard()
    yard.advance(60)
    yard.submit(a_spec("urgent", memory="12G", priority=Priority.CRITICAL, group="x"))
    yard.end("p0", None, signal=15)
    assert isinstance(yard.state("p0"), Queued)
    yard.confirm("urgent")
    yard.end("urgent")
    assert yard.live == ["p0"]
    yard.end("p0")
    assert breaker(yard) == Closed()


def test_failures_of_those_already_running_do_not_prolong_it() -> None:
    yard = Yard()
    yard.run(*(a_spec(f"r{i}") for i in range(5)))
    for number in range(4):
        yard.end(f"r{number}", 1)
        yard.advance(1)
    state = breaker(yard)
    assert isinstance(state, Open)
    assert state.until_at == 62.0


def test_it_can_be_reset_by_hand() -> None:
    yard = a_yard_that_failed(3)
    yard.submit(a_spec("next"))
    assert yard.live == []
    yard.tell(BreakerReset(yard.now, "coder"))
    assert yard.live == ["next"]
    assert refusals(yard.tell(BreakerReset(yard.now, "nobody"))) == ["there is no such group"]


def test_the_group_of_a_waiting_run_is_known_before_it_ever_ran() -> None:
    yard = Yard(sampled=False)
    yard.submit(a_spec())
    assert refusals(yard.tell(BreakerReset(yard.now, "coder"))) == []


def test_a_sample_at_the_end_of_the_cooldown_starts_the_probe() -> None:
    """The look after a sample is skipped where nothing got better; a breaker that opens is news."""
    yard = a_yard_that_failed(3)
    yard.submit(a_spec("p0"))
    yard.sample()
    yard.now += 60.0
    yard.sample()
    assert yard.live == ["p0"]
