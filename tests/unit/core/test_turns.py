"""Where the user lets bursts meet, they take turns before any step of the ladder is reached."""

from __future__ import annotations

from paddock.core.actions import Action, AskCheckpoint, FreezeAttempt, KillAttempt, ThawAttempt
from paddock.core.admission import Newcomer, fit
from paddock.core.events import PolicyChanged
from paddock.core.explain import sentence
from paddock.core.policy import SizingPolicy
from paddock.core.pressure import Rung
from paddock.core.run import Priority
from paddock.core.units import GIB, MIB
from tests.kit.factories import a_host, a_spec, with_parts
from tests.kit.overcommitted import REST, overcommitted, standing
from tests.kit.yard import Yard, only


def crowded(touches_per_hour: float = 1800.0, **priorities: Priority) -> Yard:
    """No step below 95 %."""
    ladder = {"skip_low": 92.0, "queue": 94.0, "preempt": 95.0, "emergency": 96.0}
    sizing = {"touches_per_hour": touches_per_hour}
    return overcommitted({"sizing": sizing, "ladder": ladder}, **priorities)


def look(yard: Yard, percent: float, *, after_s: float = 0.1, **used: str) -> set[str]:
    """Who stands still afterwards."""
    yard.now += after_s
    yard.sample(a_host(used_percent=percent), **used)
    return standing(yard)


def test_a_second_burst_is_held_before_any_step_and_who_rests_goes_on() -> None:
    yard = crowded()
    yard.now += 5
    assert look(yard, 83.0, r0="2G", r1="1G") == {"r1"}  # r0 may take all of the 2.1 GiB left
    assert yard.fleet.ladder.rung is Rung.CALM


def test_by_default_nobody_is_held_below_the_step() -> None:
    yard = crowded(touches_per_hour=SizingPolicy().touches_per_hour)
    yard.now += 5
    assert look(yard, 83.0, r0="2G", r1="1G") == set()
    assert not SizingPolicy().take_turns


def test_a_burst_that_grows_no_more_lets_the_next_go_on() -> None:
    yard = crowded()
    yard.now += 5
    assert look(yard, 83.0, r0="2G", r1="1G") == {"r1"}
    assert look(yard, 83.0, after_s=0.5) == set()


def test_nobody_starts_while_one_is_held() -> None:
    yard = crowded()
    yard.now += 5
    look(yard, 83.0, r0="2G", r1="1G")
    yard.submit(a_spec("late", memory="64M"))
    assert "late" not in yard.live
    assert "take turns" in sentence(yard.fleet, yard.fleet.runs["late"])
    look(yard, 20.0, after_s=0.5, r0=REST)
    assert "late" in yard.live


def test_the_critical_are_never_held() -> None:
    yard = crowded(r1=Priority.CRITICAL)
    yard.now += 5
    assert look(yard, 83.0, r0="2G", r1="1G") <= {"r0"}


def test_nobody_is_held_for_longer_than_a_minute() -> None:
    yard = crowded()
    yard.now += 5
    assert look(yard, 93.0, r0="2G", r1="1G") == {"r0", "r1"}  # and nobody gives anything back
    assert look(yard, 93.0, after_s=59.0) == {"r0", "r1"}
    assert look(yard, 93.0, after_s=1.0) == set()


def test_where_all_would_wait_for_each_other_one_goes_on_to_the_step() -> None:
    yard = crowded()
    yard.now += 5
    standing = look(yard, 93.0, r0="1G", r1="1G", r2="1G", r3="1G", r4="1G", r5="1G")
    assert len(standing) == 5


def test_the_story_says_why() -> None:
    yard = crowded()
    yard.now += 6
    actions = yard.sample(a_host(used_percent=83.0), r0="2G", r1="1G")
    assert [(one.attempt.run, one.reclaim) for one in only(actions, FreezeAttempt)] == [
        ("r1", False)  # it goes on in a second
    ]
    (change,) = [one for one in yard.fleet.changes if one.run.id == "r1"]
    assert change.because == "frozen by pressure: agents in a burst take turns"


def test_who_asks_for_less_risk_lets_everybody_go_on() -> None:
    yard = crowded()
    yard.now += 5
    look(yard, 83.0, r0="2G", r1="1G")
    careful = with_parts(yard.fleet.policy, sizing={"touches_per_hour": 0.001})
    yard.tell(PolicyChanged(yard.now, careful))
    yard.now += 0.1
    thawed = only(yard.sample(a_host(used_percent=83.0)), ThawAttempt)
    assert [one.attempt.run for one in thawed] == ["r1"]


def test_who_ends_soon_lends_its_room_to_who_waits_and_no_more_than_a_burst() -> None:
    yard = crowded()
    look(yard, 50.0, after_s=5.0, r0=REST)  # they have grown up by now
    demand, policy = yard.fleet.demand, yard.fleet.policy
    shorts = [
        fit(demand, policy, one, available_bytes=512 * MIB).short_bytes
        for one in (Newcomer("coder", 4 * GIB, lent_bytes=lent) for lent in (0, GIB, 64 * GIB))
    ]
    burst = demand.largest_burst(Newcomer("coder", 4 * GIB))
    assert shorts == [shorts[0], shorts[0] - GIB, shorts[0] - burst]
    assert shorts[2] > 0


def test_who_was_frozen_while_it_grew_still_grows_when_it_goes_on() -> None:
    yard = crowded()
    look(yard, 60.0, after_s=5.0)
    assert look(yard, 83.0, r0="2G", r1="1G") == {"r1"}
    assert look(yard, 60.0, after_s=3.0, r0=REST) == set()
    assert yard.fleet.demand.in_a_burst("r1", at=yard.now)
    assert look(yard, 83.0, r0="2G") == {"r1"}  # it has taken nothing since, and will


def test_the_deepest_goes_on_only_where_all_of_its_way_is_left() -> None:
    yard = crowded()
    look(yard, 60.0, after_s=5.0)
    look(yard, 90.0, r0="3400M", r1="1G")
    assert "r0" not in standing(yard)
    assert "r0" in look(yard, 94.9, r0="3850M")  # 180 MiB are left, and it may take 246


def test_at_the_last_step_bursts_wait_and_nobody_is_killed() -> None:
    yard = crowded()
    look(yard, 60.0, after_s=5.0)
    actions = _at_the_last_step(yard)
    assert not only(actions, KillAttempt)
    assert len(standing(yard)) == 5  # one of those who rest comes to its end
    assert look(yard, 60.0, r0=REST) == set()


def test_at_the_last_step_one_is_killed_when_waiting_was_in_vain() -> None:
    yard = crowded()
    look(yard, 60.0, after_s=5.0)
    _at_the_last_step(yard)
    killed = [_at_the_last_step(yard, after_s=1.0) for _ in range(6)]
    assert [bool(only(actions, KillAttempt)) for actions in killed[:4]] == [False] * 4
    assert any(only(actions, KillAttempt) for actions in killed)


def test_at_the_last_step_one_is_killed_at_once_where_half_of_the_rest_is_gone() -> None:
    yard = crowded()
    look(yard, 60.0, after_s=5.0)
    assert only(_at_the_last_step(yard, percent=98.5), KillAttempt)


def test_by_default_one_is_killed_at_once_at_the_last_step() -> None:
    yard = crowded(touches_per_hour=900.0)
    look(yard, 60.0, after_s=5.0)
    assert only(_at_the_last_step(yard), KillAttempt)


def _at_the_last_step(yard: Yard, *, percent: float = 96.5, after_s: float = 0.1) -> list[Action]:
    yard.now += after_s
    return yard.sample(a_host(used_percent=percent), r0="2G")


def test_at_the_step_nobody_is_stopped_while_somebody_goes_on() -> None:
    yard = crowded()
    look(yard, 60.0, after_s=5.0)
    told = []
    for _ in range(50):
        yard.now += 1.0
        told += only(yard.sample(a_host(used_percent=95.5), r0="2G"), AskCheckpoint)
    assert told == []
    assert len(standing(yard)) == 5


def test_who_has_yet_to_grow_up_waits_while_a_burst_needs_the_room() -> None:
    yard = crowded()
    look(yard, 60.0, after_s=5.0, r5="60M")
    assert look(yard, 83.0, after_s=1.0, r0="2G") == {"r5"}  # the others use what such agents do
    assert look(yard, 70.0) == set()


def test_as_many_start_as_there_is_room_to_spare_beside_a_burst() -> None:
    yard = crowded()
    look(yard, 60.0, after_s=5.0)
    look(yard, 40.0)
    free = yard.fleet.spare_starts
    look(yard, 77.0, r0="2G")  # 3 GiB are left, and r0 may take 2
    assert free > 4 > yard.fleet.spare_starts
    look(yard, 83.0, r0="2100M")
    assert yard.fleet.spare_starts == 0
    assert yard.fleet.paced
