"""Who stands still at `memory.high` for too long."""

from __future__ import annotations

from itertools import count

from paddock.drivers.local.containment.dwell import DWELL_S, Dwell, Reading

MIB = 1 << 20


def fed(*, seconds: int, stalled: float = 0.9, grows: int = 0, rises: int = 1) -> list[bool]:
    dwell = Dwell()
    return [
        dwell.see(Reading(float(at), at * rises, int(at * stalled * 1e6), 50 * MIB + at * grows))
        for at in range(seconds)
    ]


def test_standing_still_counts_after_the_dwell_and_not_before() -> None:
    found = fed(seconds=int(DWELL_S) + 5)
    first = found.index(True)
    assert DWELL_S <= first <= DWELL_S + 2


def test_one_that_still_moves_does_not_stand() -> None:
    assert not any(fed(seconds=200, stalled=0.1))


def test_one_that_still_grows_will_meet_its_wall_by_itself() -> None:
    assert not any(fed(seconds=200, grows=2 * MIB))


def test_one_that_is_not_throttled_is_slow_for_another_reason() -> None:
    assert not any(fed(seconds=200, rises=0))


def test_a_moment_of_progress_begins_it_anew() -> None:
    dwell, moments = Dwell(), count()
    stalled_us = 0

    def see(share: float) -> bool:
        nonlocal stalled_us
        at = next(moments)
        stalled_us += int(share * 1e6)
        return dwell.see(Reading(float(at), at, stalled_us, 50 * MIB))

    assert not any(see(0.9) for _ in range(25))
    assert not see(0.0)
    assert not any(see(0.9) for _ in range(25))
    assert any(see(0.9) for _ in range(10))
