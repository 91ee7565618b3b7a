"""Two reports side by side: a tenth worse is said, and noise is not taken for it."""

from __future__ import annotations

import random

import pytest

from paddock.bench.compare import Change, by_chance, compare
from paddock.bench.report import Better, Cell, Figure, Report


def a_report(*figures: Figure, cells: tuple[Cell, ...] = ()) -> Report:
    return Report(kind="stress", paddock="1", made_at=0.0, machine={}, figures=figures, cells=cells)


def a_figure(*samples: float, better: Better | None = "lower", name: str = "time") -> Figure:
    return Figure(name=name, unit="s", samples=samples, better=better)


def change(before: Figure, after: Figure) -> Change:
    [one] = compare(a_report(before), a_report(after))
    return one.change


def test_more_than_a_tenth_worse_is_worse() -> None:
    before = a_figure(10.0, 10.1, 9.9, 10.0)
    assert change(before, a_figure(11.5, 11.4, 11.6, 11.5)) is Change.WORSE
    assert change(before, a_figure(10.5, 10.4, 10.6, 10.5)) is Change.SAME
    assert change(before, a_figure(8.0, 8.1, 8.2, 8.0)) is Change.BETTER


def test_where_more_is_better_less_is_worse() -> None:
    before = a_figure(100, 101, 99, 100, better="higher")
    assert change(before, a_figure(80, 81, 82, 80, better="higher")) is Change.WORSE
    assert change(before, a_figure(150, 151, 152, 150, better="higher")) is Change.BETTER


def test_samples_that_lie_among_each_other_are_no_proof() -> None:
    assert change(a_figure(10, 14, 9, 15), a_figure(13, 16, 9.5, 14.5)) is Change.UNSURE


@pytest.mark.parametrize("many", [1, 2])
def test_few_samples_are_not_judged(many: int) -> None:
    assert change(a_figure(*[10.0] * many), a_figure(*[20.0] * 5)) is Change.FEW


def a_count(*samples: float, name: str = "OOM kills") -> Figure:
    better: Better = "lower" if name == "OOM kills" else "higher"
    return Figure(name=name, unit="", samples=samples, better=better)


def test_counts_need_no_samples() -> None:
    """As a stress of one round has them: eight killed are no noise."""
    assert change(a_count(0), a_count(8)) is Change.WORSE
    assert change(a_count(0), a_count(0)) is Change.SAME
    assert change(a_count(8), a_count(0)) is Change.BETTER
    done = [a_count(percent, name="completed") for percent in (100, 0, 95)]
    assert change(done[0], done[1]) is Change.WORSE
    assert change(done[1], done[0]) is Change.BETTER
    assert change(done[0], done[2]) is Change.SAME, "not more than a tenth"
    [one] = compare(a_report(a_count(0)), a_report(a_count(8)))
    assert str(one) == "OOM kills: 0 → 8: worse"


def test_one_kill_in_three_rounds_is_one_more_than_none() -> None:
    assert change(a_count(0, 0, 0), a_count(0, 0, 1)) is Change.WORSE
    assert change(a_count(0, 2, 4), a_count(1, 3, 4)) is Change.UNSURE, "these have noise"


def test_a_capacity_that_differs_by_one_is_the_same() -> None:
    """`bench find` is right within one."""
    six, five, three = (a_count(many, name="agents at once") for many in (6, 5, 3))
    assert change(six, five) is Change.SAME
    assert change(six, three) is Change.WORSE


def test_noise_is_seldom_called_worse() -> None:
    rng = random.Random(1)

    def noisy() -> Figure:
        return a_figure(*(rng.gauss(10, 2) for _ in range(5)))

    assert sum(change(noisy(), noisy()) is Change.WORSE for _ in range(400)) <= 16


def test_what_only_describes_is_not_compared() -> None:
    plain = a_figure(1, 2, 3, better=None)
    assert compare(a_report(plain), a_report(plain)) == []


def test_what_only_one_has_is_left_out() -> None:
    assert compare(a_report(a_figure(1, name="a")), a_report(a_figure(1, name="b"))) == []
    assert compare(a_report(a_figure()), a_report(a_figure(1))) == []


def test_cells_are_compared_with_their_own_kind() -> None:
    def grid(*samples: float) -> Report:
        return a_report(cells=(Cell(row="4", column="2G", figures=(a_figure(*samples),)),))

    [one] = compare(grid(10, 10, 10), grid(20, 20, 20))
    assert one.change is Change.WORSE
    assert str(one) == "4 × 2G: time: 10 → 20 s (+100.0%): worse, by chance in 5.0% of cases"


def test_from_nothing_to_something() -> None:
    zero, one = a_figure(0, 0, 0), a_figure(1, 1, 1)
    assert change(zero, one) is Change.WORSE
    assert change(zero, zero) is Change.SAME
    assert change(one, zero) is Change.BETTER


def test_chance_is_exact() -> None:
    assert by_chance((1, 2, 3), (4, 5, 6)) == pytest.approx(1 / 20)
    assert by_chance((1, 2, 3, 4, 5), (6, 7, 8, 9, 10)) == pytest.approx(1 / 252)
    assert by_chance((1, 1, 1), (1, 1, 1)) > 0.5
