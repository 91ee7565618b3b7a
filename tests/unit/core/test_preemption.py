"""SCH-3: room for the more urgent, with as little harm as can be."""

from __future__ import annotations

from typing import Any

from paddock.core.actions import AskCheckpoint, KillAttempt, StartAttempt, TerminateAttempt
from paddock.core.events import PriorityChanged
from paddock.core.explain import sentence
from paddock.core.run import Outcome, Priority, Queued, Running, Stopping
from tests.kit.factories import a_host, a_policy, a_spec
from tests.kit.yard import Yard, only

LOW, HIGH, CRITICAL = Priority.LOW, Priority.HIGH, Priority.CRITICAL


def full_yard(**changes: Any) -> Yard:
    """Three normal runs of 4 GiB fill the wall, and have run for a minute."""
    yard = Yard(a_policy(**changes))
    yard.run(*(a_spec(f"r{i}", memory="4G", hard_timeout_s=1e6) for i in range(3)))
    yard.advance(60)
    return yard


def test_an_urgent_run_takes_the_place_of_a_lesser_one() -> None:
    yard = full_yard()
    actions = yard.submit(a_spec("urgent", memory="4G", priority=HIGH))
    (asked,) = only(actions, AskCheckpoint)
    assert asked.attempt.run == "r2"  # all alike: the newest
    assert "made room for urgent (high priority)" in asked.because
    assert "spared r0 (normal), r1 (normal)" in asked.because
    yard.end("r2", None, signal=15)
    assert yard.live == ["r0", "r1", "urgent"]
    assert isinstance(yard.state("r2"), Queued)


def test_nobody_is_stopped_for_a_program_that_is_not_there() -> None:
    yard = full_yard()
    yard.submit(a_spec("typo", memory="4G", priority=CRITICAL, lacks_program=True))
    assert yard.stopping == []
    run = yard.fleet.runs["typo"]
    assert "nobody is stopped for it, as its program was not found" in sentence(yard.fleet, run)
    yard.submit(a_spec("urgent", memory="4G", priority=HIGH))
    assert yard.stopping == ["r2"]  # whoever is behind it is none the worse for it


def test_one_of_the_same_priority_disturbs_nobody() -> None:
    yard = full_yard()
    yard.submit(a_spec("equal", memory="4G"))
    assert yard.stopping == []


def test_one_made_low_while_room_is_made_for_it_waits_under_pressure_as_all_low_ones() -> None:
    yard = Yard(a_policy(max_agents=3))
    yard.run(*(a_spec(f"r{i}", memory="512M", hard_timeout_s=1e6) for i in range(3)))
    yard.advance(60)
    yard.sample(a_host(used_percent=50.0))
    yard.submit(a_spec("urgent", memory="512M", priority=HIGH))
    yard.tell(PriorityChanged(yard.fleet.now, "urgent", LOW))
    yard.sample(a_host(used_percent=72.0))
    yard.end("r2", None, signal=15)
    assert yard.live == ["r0", "r1", "r2"]  # whose place it was to be
    assert "low priority waits under pressure" in yard.why("urgent")


def test_low_priority_never_preempts() -> None:
    yard = full_yard()
    yard.submit(a_spec("low", memory="4G", priority=LOW))
    assert yard.stopping == []


def test_the_lowest_priority_gives_way_first() -> None:
    yard = Yard()
    yard.run(
        a_spec("low", memory="4G", priority=LOW),
        a_spec("normal", memory="4G"),
        a_spec("high", memory="4G", priority=HIGH),
    )
    yard.advance(60)
    yard.submit(a_spec("critical", memory="4G", priority=CRITICAL))
    assert yard.stopping == ["low"]


def test_no_more_are_stopped_than_are_needed() -> None:
    yard = Yard()
    yard.run(
        a_spec("small", memory="2G", priority=LOW),
        a_spec("large", memory="6G", priority=LOW),
        a_spec("other", memory="4G", priority=LOW),
    )
    yard.advance(60)
    yard.sample(small="2G", large="6G", other="4G")
    yard.submit(a_spec("urgent", memory="6G", priority=HIGH))
    freed = {"small": 2, "large": 6, "other": 4}
    assert sum(freed[name] for name in yard.stopping) == 6


def test_nobody_is_disturbed_where_it_would_not_help() -> None:
    yard = Yard()
    yard.run(a_spec("high", memory="8G", priority=HIGH), a_spec("low", memory="4G", priority=LOW))
    yard.advance(60)
    yard.submit(a_spec("urgent", memory="6G", priority=HIGH))
    assert yard.stopping == []


def test_a_second_look_takes_no_second_victim() -> None:
    yard = full_yard()
    yard.submit(a_spec("urgent", memory="4G", priority=HIGH))
    for _ in range(3):
        yard.advance(1)
        yard.sample()
    assert len(yard.stopping) == 1


def test_a_run_is_left_alone_for_its_first_minute() -> None:
    yard = Yard()
    yard.run(*(a_spec(f"r{i}", memory="4G") for i in range(3)))
    yard.advance(30)
    yard.submit(a_spec("urgent", memory="4G", priority=HIGH))
    assert yard.stopping == []
    assert yard.fleet.next_deadline == 60.0
    yard.advance(30)
    assert len(yard.stopping) == 1


def test_the_one_that_made_way_keeps_its_place() -> None:
    yard = full_yard()
    yard.submit(a_spec("waiting", memory="4G"))
    yard.submit(a_spec("urgent", memory="4G", priority=HIGH))
    yard.end("r2", None, signal=15)
    assert yard["r2"].preemptions == 1
    yard.end("r0")
    assert yard.live == ["r1", "r2", "urgent"]  # before `waiting`, which came later
    start = only(yard.all_actions, StartAttempt)[-1]
    assert (start.attempt.number, start.resume) == (2, True)


def test_the_memory_goes_to_the_one_it_was_freed_for() -> None:
    """Nobody slips in between the first and the second victim."""
    yard = full_yard()
    yard.submit(a_spec("urgent", memory="8G", priority=HIGH))
    first, second = yard.stopping
    yard.submit(a_spec("slim", memory="1G"))
    yard.end(first, None, signal=15)
    assert "slim" in yard.queued
    assert "urgent" in yard.queued
    yard.end(second, None, signal=15)
    assert "urgent" in yard.live


def test_a_claim_ends_with_the_claimant() -> None:
    yard = full_yard()
    yard.submit(a_spec("urgent", memory="8G", priority=HIGH))
    yard.cancel("urgent")
    for name in yard.stopping:
        yard.end(name, None, signal=15)
    assert yard.fleet.claimant is None
    assert yard.live == ["r0", "r1", "r2"]


def test_a_run_preempted_three_times_is_protected_from_then_on() -> None:
    yard = Yard(a_policy(min_run_s=10.0))
    yard.run(a_spec("victim", memory="12G", hard_timeout_s=1e6))
    for number in range(3):
        yard.advance(10)
        yard.submit(a_spec(f"urgent{number}", memory="12G", priority=HIGH))
        yard.end("victim", None, signal=15)
        yard.end(f"urgent{number}")
        yard.confirm("victim")
    assert yard["victim"].preemptions == 3
    yard.advance(10)
    yard.submit(a_spec("urgent3", memory="12G", priority=HIGH))
    yard.advance(3000)
    assert isinstance(yard.state("victim"), Running)


def test_who_won_its_place_by_waiting_is_not_put_out_by_who_came_later() -> None:
    yard = Yard(a_policy(ageing_s=600.0, min_run_s=0.0))
    yard.run(a_spec("first", memory="12G", hard_timeout_s=1e6))
    yard.submit(a_spec("patient", memory="12G"))
    yard.advance(601)
    yard.submit(a_spec("urgent", memory="12G", priority=HIGH))
    assert yard.stopping == []  # `first` and `patient` are as old as the hour
    yard.end("first")
    assert yard.live == ["patient"]
    yard.confirm()
    yard.advance(100)
    assert isinstance(yard.state("patient"), Running)


def test_a_place_for_one_more_agent_is_made_too() -> None:
    yard = Yard(a_policy(max_agents=2))
    yard.run(a_spec("a", memory="1G"), a_spec("b", memory="1G"))
    yard.advance(60)
    yard.submit(a_spec("urgent", memory="1G", priority=HIGH))
    assert yard.stopping == ["b"]


def test_a_victim_is_asked_then_told_then_killed() -> None:
    yard = full_yard()
    yard.submit(a_spec("urgent", memory="4G", priority=HIGH))
    asked_at = yard.now
    assert yard.fleet.next_deadline == asked_at + 30
    assert len(only(yard.advance(30), TerminateAttempt)) == 1
    assert len(only(yard.advance(10), KillAttempt)) == 1
    yard.empty("r2")
    assert isinstance(yard.state("r2"), Queued)


def test_a_written_checkpoint_ends_the_waiting() -> None:
    yard = full_yard()
    yard.submit(a_spec("urgent", memory="4G", priority=HIGH))
    yard.advance(2)
    assert len(only(yard.checkpoint("r2"), TerminateAttempt)) == 1
    assert yard.checkpoint("r2") == []


def test_a_good_end_while_only_asked_is_a_success() -> None:
    yard = full_yard()
    yard.submit(a_spec("urgent", memory="4G", priority=HIGH))
    yard.end("r2")
    assert yard.outcome("r2") is Outcome.SUCCEEDED


def test_a_good_end_while_only_asked_is_a_success_even_with_strays() -> None:
    yard = full_yard()
    yard.submit(a_spec("urgent", memory="4G", priority=HIGH))
    yard.end("r2", empty=False)
    assert isinstance(yard.state("r2"), Stopping)
    yard.empty("r2")
    assert yard.outcome("r2") is Outcome.SUCCEEDED


def test_a_good_end_after_it_was_told_is_paddocks_doing() -> None:
    yard = full_yard()
    yard.submit(a_spec("urgent", memory="4G", priority=HIGH))
    yard.checkpoint("r2")
    yard.end("r2")
    assert isinstance(yard.state("r2"), Queued)


def test_who_was_too_young_when_room_was_looked_for_is_stopped_as_soon_as_it_is_not() -> None:
    yard = Yard(a_policy(max_agents=1, min_run_s=0.1))
    yard.run(a_spec("a"))
    yard.submit(a_spec("urgent", priority=Priority.CRITICAL))
    assert yard.stopping == []
    yard.advance(0.1)
    assert yard.stopping == ["a"]
