"""Who stands still at `memory.high` for too long."""

from __future__ import annotations

from itertools import count

from paddock.drivers.dwell import DWELL_S, WINDOW_S, Dwell, Reading

MIB = 1 << 20
ROOM = 16 * MIB


def fed(*, seconds: int, stalled: float = 0.9, grows: int = 0, every: int = 1) -> list[bool]:
    """One look a second; the kernel counts a throttle once in `every` of them, 0 for never."""
    dwell = Dwell(ROOM)
    return [
        dwell.see(
            Reading(
                float(at),
                at // every if every else 0,
                int(at * stalled * 1e6),
                50 * MIB + at * grows,
            )
        )
        for at in range(seconds)
    ]


def test_standing_still_counts_after_the_dwell_and_not_before() -> None:
    assert DWELL_S == 30.0
    found = fed(seconds=int(DWELL_S) + 10)
    first = found.index(True)
    assert DWELL_S <= first <= DWELL_S + WINDOW_S


def test_a_throttle_that_is_counted_once_in_a_few_looks_is_one_all_the_same() -> None:
    assert any(fed(seconds=int(DWELL_S) + 10, every=3))


def test_one_that_still_moves_does_not_stand() -> None:
    assert not any(fed(seconds=200, stalled=0.1))


def test_one_that_grows_towards_its_wall_will_meet_it_by_itself() -> None:
    assert not any(fed(seconds=200, grows=MIB // 4))


def test_one_that_creeps_stands_still() -> None:
    assert any(fed(seconds=200, grows=MIB // 20))


def test_one_that_is_not_throttled_is_slow_for_another_reason() -> None:
    assert not any(fed(seconds=200, every=0))


def test_a_while_of_progress_begins_it_anew() -> None:
    dwell, moments = Dwell(ROOM), count()
    stalled_us = 0

    def see(share: float) -> bool:
        nonlocal stalled_us
        at = next(moments)
        stalled_us += int(share * 1e6)
        return dwell.see(Reading(float(at), at, stalled_us, 50 * MIB))

    assert not any(see(0.9) for _ in range(25))
    assert not any(see(0.0) for _ in range(5))
    assert not any(see(0.9) for _ in range(25))
    assert any(see(0.9) for _ in range(15))
