"""Who is likely to end soon: what it will give back can be lent to who waits."""

from __future__ import annotations

import pytest

from paddock.core.outlook import likelihood

TEN = [float(second) for second in range(1, 11)]


@pytest.mark.parametrize(
    ("worked_s", "expected"),
    [(0.0, 0.2), (5.0, 0.4), (7.0, 2 / 3), (8.5, 1.0), (10.0, 0.0), (60.0, 0.0)],
)
def test_of_those_that_took_longer_so_many_ended_soon(worked_s: float, expected: float) -> None:
    assert likelihood(TEN, worked_s, within_s=2.0) == pytest.approx(expected)


def test_few_that_ended_say_nothing() -> None:
    assert likelihood(TEN[:9], 8.5, within_s=2.0) == 0.0
