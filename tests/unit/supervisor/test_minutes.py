"""The last minute of each attempt, however often somebody looks."""

from __future__ import annotations

import pytest

from paddock.core.run import Attempt
from paddock.core.units import MIB
from paddock.supervisor.black_boxes import _drawn
from paddock.supervisor.minutes import Minutes

A, B = Attempt("a", 1), Attempt("b", 1)


def looked_at(*, every_s: float, for_s: float) -> Minutes:
    minutes = Minutes()
    for number in range(round(for_s / every_s)):
        at = 1000.0 + number * every_s
        minutes.seen({A: int(at - 1000.0) * MIB}, at)
    return minutes


@pytest.mark.parametrize("every_s", [1.0, 0.25, 0.05])
def test_a_minute_is_kept_whether_looks_come_each_second_or_twenty_a_second(every_s: float) -> None:
    minutes = looked_at(every_s=every_s, for_s=90.0)
    assert minutes.recent_bytes(A, 1089.99) == tuple(second * MIB for second in range(30, 90))
    kept = minutes.let_go(A)
    assert 58.0 <= kept[-1][0] - kept[0][0] <= 60.0 and kept == sorted(kept)


def test_the_last_looks_are_kept_as_they_were() -> None:
    minutes = Minutes()
    for number, used in enumerate((100, 400, 200)):
        minutes.seen({A: used}, 7.0 + number / 10)
    assert minutes.let_go(A) == [(7.0, 100), (7.1, 400), (7.2, 200)]


def test_of_each_second_the_most_is_kept() -> None:
    minutes = Minutes()
    for at, used in ((5.0, 10), (5.2, 90), (5.9, 20), (6.1, 30)):
        minutes.seen({A: used, B: 1}, at)
    assert minutes.recent_bytes(A, 6.2) == (90, 30)


def test_who_was_not_looked_at_of_late_has_no_recent_use() -> None:
    minutes = looked_at(every_s=1.0, for_s=10.0)
    assert minutes.recent_bytes(A, 1200.0) == ()
    assert minutes.recent_bytes(B, 1200.0) == ()


def test_who_is_let_go_is_forgotten() -> None:
    minutes = looked_at(every_s=1.0, for_s=10.0)
    assert len(minutes.let_go(A)) == 10
    assert minutes.let_go(A) == []


def test_a_burst_of_one_second_is_drawn() -> None:
    samples = [(float(at), (90 if at == 31 else 10) * MIB) for at in range(60)]
    drawn = _drawn(samples, 100 * MIB)
    bars, _, words = drawn.partition("  ")
    assert (len(bars), bars.count("█")) == (12, 1)
    assert words == "10 MiB to 10 MiB in 59 s, 90 MiB at most when looked at"
