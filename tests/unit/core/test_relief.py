"""What is done about pressure: freeze, stop, kill; one round at a time; with the reasons."""

from __future__ import annotations

from msgspec.structs import replace

from paddock.core.actions import (
    Action,
    AskCheckpoint,
    FreezeAttempt,
    KillAttempt,
    TerminateAttempt,
    ThawAttempt,
)
from paddock.core.events import ThawRequested
from paddock.core.pressure import Rung
from paddock.core.run import Frozen, Outcome, Priority, Queued, Running, Stopping
from tests.kit.factories import a_host, a_policy, a_spec
from tests.kit.yard import Yard, only

LOW, HIGH, CRITICAL = Priority.LOW, Priority.HIGH, Priority.CRITICAL


def busy_yard() -> Yard:
    """16 GiB: four runs that use 3 GiB each, one of each priority."""
    yard = Yard(a_policy())
    yard.run(*(a_spec(p.word, memory="3G", priority=p, hard_timeout_s=1e6) for p in Priority))
    yard.sample(critical="3G", high="3G", normal="3G", low="3G")
    return yard


def press(yard: Yard, percent: float, *, after_s: float = 1.0) -> list[Action]:
    yard.now += after_s
    return yard.sample(a_host(used_percent=percent))


def frozen(yard: Yard) -> list[str]:
    return [r.id for r in yard.fleet.live_runs() if isinstance(r.state, Running) and r.state.frozen]


def test_first_the_lowest_priority_is_frozen_and_its_memory_pushed_out() -> None:
    yard = busy_yard()
    actions = press(yard, 86.0)
    assert actions == [FreezeAttempt(yard.attempt("low"), reclaim=True)]


def test_as_many_are_frozen_as_bring_it_below_the_step() -> None:
    yard = busy_yard()
    press(yard, 94.9)  # 12.9 % of 16 GiB is 2.1 GiB
    assert frozen(yard) == ["low"]
    yard = busy_yard()
    yard.sample(low="1G")
    press(yard, 94.9)
    assert sorted(frozen(yard)) == ["low", "normal"] or frozen(yard) == ["normal"]


def test_a_round_waits_before_the_next_one() -> None:
    yard = busy_yard()
    press(yard, 86.0)
    assert press(yard, 90.0, after_s=4.0) == []


def test_what_freezing_did_not_help_is_stopped_with_its_work() -> None:
    yard = busy_yard()
    press(yard, 86.0)
    actions = press(yard, 86.0, after_s=5.0)
    assert [type(action) for action in actions] == [ThawAttempt, AskCheckpoint]
    because = yard.in_state("low", Stopping).because
    assert because == (
        "host memory at 86 % (step at 85 %); frees 3 GiB (low priority); "
        "spared critical (critical), high (high), normal (normal)"
    )


def test_while_one_is_on_its_way_nobody_else_is_taken() -> None:
    yard = busy_yard()
    press(yard, 86.0)
    press(yard, 86.0, after_s=5.0)
    for _ in range(8):
        assert press(yard, 86.0, after_s=3.0) == []
    yard.end("low", None, signal=15)
    actions = press(yard, 86.0)
    assert actions == [FreezeAttempt(yard.attempt("normal"), reclaim=True)]


def test_one_that_is_stuck_in_the_kernel_does_not_stop_the_relief_for_ever() -> None:
    yard = busy_yard()
    press(yard, 86.0)
    press(yard, 86.0, after_s=5.0)
    yard.advance(50)
    assert only(press(yard, 86.0), FreezeAttempt)[0].attempt.run == "normal"


def test_the_critical_are_spared_below_an_emergency() -> None:
    yard = Yard()
    yard.run(a_spec("critical", memory="6G", priority=CRITICAL))
    yard.sample(critical="6G")
    for _ in range(20):
        assert press(yard, 90.0, after_s=5.0) == []


def test_when_the_pressure_goes_the_frozen_run_on() -> None:
    yard = busy_yard()
    press(yard, 86.0)
    assert press(yard, 83.0, after_s=4.0) == [], "not below the step by its margin"
    actions = press(yard, 81.0)
    assert actions == [ThawAttempt(yard.attempt("low"))], "at once: only starts wait for the dwell"
    assert yard.in_state("low", Running).frozen is None
    assert yard.fleet.ladder.rung is Rung.PREEMPT


def test_nobody_is_stopped_for_a_burst_that_is_over() -> None:
    yard = busy_yard()
    press(yard, 86.0)
    press(yard, 84.0, after_s=4.0)
    assert press(yard, 84.0, after_s=2.0) == [], (
        "frozen for longer than a round, and below the step"
    )
    assert only(press(yard, 86.0), AskCheckpoint), "until it is taken again"


def test_what_the_user_froze_only_the_user_thaws() -> None:
    yard = busy_yard()
    yard.fleet.runs["low"] = replace(
        yard["low"], state=replace(yard.in_state("low", Running), frozen=Frozen.BY_USER)
    )
    press(yard, 86.0)
    press(yard, 60.0)
    press(yard, 60.0, after_s=5.0)
    assert yard.in_state("low", Running).frozen is Frozen.BY_USER
    yard.tell(ThawRequested(yard.now, "low"))
    assert yard.in_state("low", Running).frozen is None


def test_an_emergency_kills_down_to_the_relief_target() -> None:
    yard = busy_yard()
    actions = press(yard, 96.0)  # 21 % of 16 GiB is 3.4 GiB: two of 3 GiB
    killed = [action.attempt.run for action in only(actions, KillAttempt)]
    assert sorted(killed) == ["low", "normal"]
    because = yard.in_state("low", Stopping).because
    assert "host memory at 96 % (step at 95 %)" in because
    assert "frees 3 GiB (low priority)" in because
    assert "spared critical (critical), high (high)" in because


def test_the_killed_go_back_to_the_queue() -> None:
    yard = busy_yard()
    press(yard, 96.0)
    yard.end("low", None, signal=9)
    assert yard.in_state("low", Queued).because.startswith("host memory at 96 %")
    assert yard["low"].preemptions == 1


def test_a_second_round_of_kills_waits_for_the_first() -> None:
    yard = busy_yard()
    press(yard, 96.0)
    assert press(yard, 97.0, after_s=4.0) == []
    killed = only(press(yard, 97.0, after_s=1.0), KillAttempt)
    assert [action.attempt.run for action in killed] == ["high"]
    killed = only(press(yard, 97.0, after_s=5.0), KillAttempt)
    assert [action.attempt.run for action in killed if action.attempt.run == "critical"]


def test_the_critical_is_not_killed_on_the_way_from_the_last_step_to_the_target() -> None:
    """Somebody outside the fleet holds the rest: no run is worth points that save nobody."""
    yard = busy_yard()
    press(yard, 96.0)
    for name in ("low", "normal"):
        yard.end(name, None, signal=9)
    assert [a.attempt.run for a in only(press(yard, 94.0), KillAttempt)] == ["high"]
    yard.end("high", None, signal=9)
    for _ in range(20):  # on the last step until the dwell is over, then below it
        assert press(yard, 94.0, after_s=0.5) == []
    killed = only(press(yard, 95.0), KillAttempt)
    assert [action.attempt.run for action in killed] == ["critical"]


def a_yard_of_two() -> Yard:
    """A critical run and one other, with a neighbour that is larger than both."""
    yard = Yard(a_policy())
    specs = [a_spec(p.word, memory="3G", priority=p, hard_timeout_s=1e6) for p in (CRITICAL, HIGH)]
    yard.run(*specs)
    yard.sample(critical="1G", high="1G")
    return yard


def test_the_critical_is_not_killed_together_with_the_last_other_that_is_on_its_way_out() -> None:
    """Seen in the guest: that one was being stopped for memory as the last step was reached."""
    yard = a_yard_of_two()
    press(yard, 90.0)
    press(yard, 90.0, after_s=5.0)
    assert yard.in_state("high", Stopping).because.startswith("host memory at 90 %")
    killed = only(press(yard, 97.0), KillAttempt)
    assert [action.attempt.run for action in killed] == ["high"]
    assert only(press(yard, 97.0, after_s=4.0), KillAttempt) == []
    # It does not go: stuck in the kernel, it saves nobody any more.
    killed = only(press(yard, 97.0, after_s=1.0), KillAttempt)
    assert [action.attempt.run for action in killed] == ["critical"]


def test_nor_with_one_that_somebody_else_has_just_killed() -> None:
    yard = a_yard_of_two()
    yard.cancel("high", force=True)
    assert only(press(yard, 97.0), KillAttempt) == []
    yard.end("high", None, signal=9)
    killed = only(press(yard, 97.0), KillAttempt)  # and it was not enough
    assert [action.attempt.run for action in killed] == ["critical"]


def test_a_frozen_run_knows_why() -> None:
    yard = busy_yard()
    press(yard, 86.0)
    assert yard.fleet.changes[-1].because == (
        "frozen by pressure: host memory at 86 % (step at 85 %)"
    )


def test_memory_that_came_back_ends_the_killing() -> None:
    yard = busy_yard()
    press(yard, 96.0)
    for name in ("low", "normal"):
        yard.end(name, None, signal=9)
    for _ in range(10):
        assert only(press(yard, 74.0, after_s=2.0), KillAttempt) == []


def test_who_is_being_stopped_already_is_killed_first() -> None:
    yard = busy_yard()
    yard.cancel("critical")
    press(yard, 95.0)  # 3.2 GiB: the cancelled one and one more
    assert sorted(yard.stopping) == ["critical", "low"]
    assert yard.in_state("critical", Stopping).outcome is Outcome.CANCELLED


def test_a_stop_under_way_keeps_its_grace_when_the_memory_is_back() -> None:
    """Still on the emergency step (it is left after a dwell), but nothing need be freed."""
    yard = busy_yard()
    press(yard, 96.0)
    for name in ("low", "normal"):
        yard.end(name, None, signal=9)
    assert len(only(yard.cancel("high"), TerminateAttempt)) == 1
    assert only(press(yard, 40.0), KillAttempt) == []


def test_nobody_is_killed_on_a_guess() -> None:
    yard = busy_yard()
    press(yard, 96.0)
    yard.now += 9
    half_read = replace(a_host(used_percent=97.0), available_bytes=None)
    assert yard.sample(half_read) == []
    assert yard.sample(a_host(used_percent=None)) == []


def test_pressure_may_take_what_is_protected_from_other_runs() -> None:
    yard = busy_yard()
    for name in list(yard.fleet.runs):
        yard.fleet.runs[name] = replace(yard[name], preemptions=3)
    press(yard, 86.0)
    assert frozen(yard) == ["low"]
