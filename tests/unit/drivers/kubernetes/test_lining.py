"""Who waits for a quota: in whose favour room is kept, and for how long."""

from __future__ import annotations

from decimal import Decimal

from paddock.cluster.quota import Line
from paddock.core.run import Priority
from paddock.drivers.kubernetes.lining import GONE_S, Lining, Wish

HOUR_S, PASSING_S = 3600.0, 600.0


def wish(run: str, pods: int, priority: Priority = Priority.NORMAL) -> Wish:
    return Wish(run, priority, {"pods": Decimal(pods)})


def lines(*, hard: int = 10, used: int, quota: str = "all") -> list[Line]:
    return [Line(quota, "pods", Decimal(hard), Decimal(used))]


def test_who_fits_and_waits_for_nobody_goes() -> None:
    assert Lining().short(wish("a", 4), lines(used=6), 0.0) is None


def test_who_does_not_fit_is_told_the_numbers() -> None:
    told = Lining().short(wish("a", 5), lines(used=6), 0.0)
    assert told == "the quota all has 4 of 10 pods left, and 5 are asked for"


def test_room_is_for_the_more_urgent_and_then_for_who_came_first() -> None:
    lining = Lining()
    assert lining.short(wish("early", 4), lines(used=10), 0.0)
    assert lining.short(wish("urgent", 4, Priority.HIGH), lines(used=10), 1.0)
    told = lining.short(wish("late", 4), lines(used=6), 2.0)
    assert told is not None and "is for run urgent" in told
    told = lining.short(wish("early", 4), lines(used=6), 3.0)
    assert told is not None and "is for run urgent" in told
    assert lining.short(wish("urgent", 4, Priority.HIGH), lines(used=6), 4.0) is None
    told = lining.short(wish("late", 4), lines(used=6), 5.0)
    assert told is not None and "is for run early" in told
    assert lining.short(wish("early", 4), lines(used=6), 6.0) is None
    assert lining.short(wish("late", 4), lines(used=6), 7.0) is None


def test_an_hour_of_waiting_makes_up_for_one_priority() -> None:
    lining, now = Lining(), 0.0
    while now < HOUR_S + 60.0:  # it asks again and again
        assert lining.short(wish("old", 4), lines(used=10), now)
        now += 10.0
    told = lining.short(wish("urgent", 4, Priority.HIGH), lines(used=6), now)
    assert told is not None and "is for run old" in told


def test_there_is_room_for_both() -> None:
    lining = Lining()
    assert lining.short(wish("urgent", 4, Priority.HIGH), lines(used=10), 0.0)
    assert lining.short(wish("lesser", 2), lines(used=4), 1.0) is None


def test_who_does_not_fit_is_passed_for_a_while_and_then_is_not() -> None:
    lining, now = Lining(), 0.0
    passed: list[float] = []
    while now < 3 * PASSING_S:
        assert lining.short(wish("large", 8), lines(used=6), now)
        if lining.short(wish(f"small-{now:g}", 1), lines(used=6), now) is None:
            passed.append(now)
        now += 10.0
    between = (PASSING_S, 2 * PASSING_S)
    assert passed and not [at for at in passed if between[0] <= at < between[1]]
    assert [at for at in passed if at >= between[1]], "nobody is held up for ever"


def test_nothing_is_kept_for_who_was_cancelled_or_can_never_fit() -> None:
    lining = Lining()
    assert lining.short(wish("gone", 4, Priority.HIGH), lines(used=10), 0.0)
    assert lining.short(wish("never", 40, Priority.HIGH), lines(used=0), 0.0)
    assert lining.short(wish("lesser", 4), lines(used=6), 1.0) is not None
    assert lining.short(wish("lesser", 4), lines(used=6), GONE_S + 1.0) is None


def test_another_quota_holds_up_nobody() -> None:
    lining = Lining()
    assert lining.short(wish("urgent", 4, Priority.HIGH), lines(used=10, quota="high"), 0.0)
    assert lining.short(wish("lesser", 4), lines(used=6, quota="low"), 1.0) is None
