"""A fleet let in by learned sizes: where room is short its bursts wait for each other."""

from __future__ import annotations

from paddock.core.actions import Action, AskCheckpoint, FreezeAttempt, KillAttempt, ThawAttempt
from paddock.core.events import FreezeRequested
from paddock.core.run import Priority
from tests.kit.factories import a_host
from tests.kit.overcommitted import REST, overcommitted, standing
from tests.kit.yard import Yard, only


def look(yard: Yard, percent: float, *, after_s: float = 0.1, **used: str) -> list[Action]:
    yard.now += after_s
    return yard.sample(a_host(used_percent=percent), **used)


def test_who_is_deep_in_a_burst_goes_on_and_the_others_stand_still() -> None:
    yard = overcommitted()
    actions = look(yard, 93.0, r0="3800M", r1="2G")  # 0.32 GiB are left, and r0 may take 0.29
    assert {action.attempt.run for action in only(actions, FreezeAttempt)} == {
        *("r1", "r2", "r3", "r4", "r5")
    }


def test_others_go_on_while_they_leave_the_deepest_its_way_to_the_wall() -> None:
    yard = overcommitted()
    look(yard, 86.0, r0="3800M", r1="2G")  # 1.4 GiB are left
    assert not standing(yard)
    yard = overcommitted()
    look(yard, 90.0, r0="3800M", r1="3700M")  # 0.8 GiB: one look of r1's, and no more
    assert standing(yard) == {"r2", "r3", "r4", "r5"}


def test_one_goes_on_even_if_what_is_left_is_not_enough_for_it() -> None:
    yard = overcommitted()
    look(yard, 92.5, r0="1G", r1="900M")
    assert standing(yard) == {"r1", "r2", "r3", "r4", "r5"}


def test_nobody_goes_on_who_could_reach_the_last_step_before_the_next_look() -> None:
    yard = overcommitted()
    look(yard, 94.0, r0="1G")
    assert len(standing(yard)) == 6
    stopped = [
        action.attempt.run
        for _ in range(6)
        for action in only(look(yard, 94.0, after_s=1.0), AskCheckpoint)
    ]
    assert stopped, "it does not last"


def test_who_rests_goes_on_beside_a_burst_that_leaves_room() -> None:
    yard = overcommitted()
    rested = dict.fromkeys(("r2", "r3", "r4", "r5"), REST)
    look(yard, 60.0, after_s=5.0, **rested)
    look(yard, 86.0, r0="3800M", r1="3700M")  # 1.4 GiB are left, these two may take 0.7 of it
    assert not standing(yard)
    look(yard, 92.0, r2="1200M")  # 0.5 GiB are left: no third one
    assert standing(yard) == {"r2"}
    look(yard, 94.0)  # 0.16 GiB: whoever rests could take that before the next look
    assert standing(yard) == {"r1", "r2", "r3", "r4", "r5"}


def test_who_was_frozen_in_a_burst_is_still_in_it() -> None:
    yard = overcommitted()
    look(yard, 60.0, after_s=5.0)
    look(yard, 86.0, r0="3000M", r1="2900M")
    assert standing(yard) == {"r1"}
    look(yard, 89.0, after_s=3.0, r0="3200M")
    assert standing(yard) == {"r1"}


def test_when_a_burst_is_over_the_next_goes_on() -> None:
    yard = overcommitted()
    look(yard, 93.0, r0="3800M", r1="2500M")
    assert "r1" in standing(yard)
    actions = look(yard, 92.0, r0=REST)
    assert [action.attempt.run for action in only(actions, ThawAttempt)] == ["r1"]
    assert standing(yard) == {"r0", "r2", "r3", "r4", "r5"}


def test_below_the_step_all_go_on_at_once() -> None:
    yard = overcommitted()
    look(yard, 93.0, r0="3800M")
    assert len(only(look(yard, 70.0, r0=REST), ThawAttempt)) == 5
    assert not standing(yard)


def test_who_gives_nothing_back_is_stopped_and_the_others_are_not() -> None:
    yard = overcommitted()
    look(yard, 86.0, r0="3800M")
    for _ in range(4):
        look(yard, 86.0, after_s=1.0)
    actions = look(yard, 86.0, after_s=1.0)
    assert [action.attempt.run for action in only(actions, AskCheckpoint)] == ["r0"]
    yard.end("r0", None, signal=15)
    look(yard, 60.0)
    assert not standing(yard)


def test_the_critical_never_stand_still() -> None:
    yard = overcommitted(r3=Priority.CRITICAL)
    look(yard, 86.0, r0="3800M")
    assert "r3" not in standing(yard)


def test_a_hold_kills_nobody() -> None:
    yard = overcommitted()
    for percent in (86.0, 90.0, 94.0, 90.0, 83.0, 70.0):
        assert not only(look(yard, percent, r0="3G"), KillAttempt)


def test_between_leaving_the_step_and_easing_one_after_the_other_goes_on() -> None:
    yard = overcommitted()
    look(yard, 93.0, r0="3800M")
    assert len(standing(yard)) == 5
    for _ in range(10):
        assert not only(look(yard, 83.5, after_s=1.0), AskCheckpoint)
    assert not standing(yard)


def _stopped_after_s(yard: Yard) -> int:
    """All in a burst, and too little left of the fleet's wall for any of them to go on."""
    grown = "1750M"
    look(yard, 86.0, r0="3160M", r1=grown, r2=grown, r3=grown, r4=grown, r5=grown)
    return next(
        number
        for number in range(90)
        if only(look(yard, 83.5, after_s=1.0, r0="3160M"), AskCheckpoint)
    )


def test_between_leaving_the_step_and_easing_nobody_stands_still_for_ever() -> None:
    yard = overcommitted(r0=Priority.CRITICAL)  # goes on, and may give back
    assert 60 <= _stopped_after_s(yard) <= 70


def test_where_nobody_goes_on_nobody_gives_back_and_one_is_stopped_soon() -> None:
    assert 4 <= _stopped_after_s(overcommitted()) <= 7


def test_one_alone_goes_on_where_all_rest_and_nothing_is_left() -> None:
    """Else nobody would come to an end, and somebody would be stopped for it."""
    yard = overcommitted()
    look(yard, 60.0, after_s=5.0)
    look(yard, 94.0)
    assert len(standing(yard)) == 5


def test_one_alone_in_an_overcommitted_fleet_is_stopped_in_time_too() -> None:
    yard = overcommitted()
    for name in ("r1", "r2", "r3", "r4", "r5"):
        yard.tell(FreezeRequested(yard.now, name))
    told = [
        action
        for _ in range(10)
        for action in only(look(yard, 94.0, after_s=1.0, r0="3900M"), AskCheckpoint)
    ]
    assert [action.attempt.run for action in told][:1] == ["r0"]


def test_two_who_are_alike_do_not_take_turns_with_every_look() -> None:
    yard = overcommitted()
    look(yard, 86.0, r0="2000M", r1="2001M")
    changes = 0
    for number in range(40):
        one, other = ("2001M", "2000M") if number % 2 else ("2000M", "2001M")
        actions = look(yard, 84.5, r0=one, r1=other)
        changes += len(only(actions, FreezeAttempt)) + len(only(actions, ThawAttempt))
    assert changes <= 5, "each of the five that stood still goes on, once"


def test_when_a_hold_is_overcommitted_no_more_only_as_many_stand_still_as_are_needed() -> None:
    yard = overcommitted()
    look(yard, 93.0, r0="3800M", r1="1G", r2="1G")
    assert len(standing(yard)) == 5
    for name in ("r3", "r4", "r5"):
        yard.cancel(name)
        yard.end(name)
    look(yard, 85.5, r0="3800M", r1="1G", r2="1G")
    assert len(standing(yard)) < 3
