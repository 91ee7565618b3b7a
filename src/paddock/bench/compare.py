"""Whether a second report is worse than a first: by how much, and whether that can be chance.

One sample says nothing on a noisy machine, so a figure counts as worse only if its middle is more
than a tenth worse *and* its samples lie so far apart that chance would seldom do it (Mann-Whitney,
exact). Figures with too few samples for that are told, and not judged. What is counted and not
measured, such as kills, needs no samples: all of it happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import comb
from statistics import mean
from typing import Final

from .report import COUNTS, Figure, Report

WORSE: Final = 0.10  # DIAG-6
CHANCE: Final = 0.05
FEWEST: Final = 3  # of each: with fewer, order alone can never be below that chance


class Change(StrEnum):
    WORSE = "worse"
    BETTER = "better"
    SAME = "same"
    UNSURE = "unsure"  # more than a tenth apart, and it may be chance
    FEW = "few"  # not judged


@dataclass(frozen=True, slots=True)
class Compared:
    name: str
    unit: str
    before: float
    after: float
    change: Change
    chance: float | None  # of samples that far apart where nothing has changed; None: a count

    @property
    def ratio(self) -> float:
        return self.after / self.before if self.before else float("inf" if self.after else 1)

    def __str__(self) -> str:
        by = f"{self.before:g} → {self.after:g} {self.unit}".rstrip()
        if self.ratio != float("inf"):  # of nothing there is no share
            by += f" ({self.ratio - 1:+.1%})"
        by_chance = "" if self.chance is None else f", by chance in {self.chance:.1%} of cases"
        words = {
            Change.WORSE: f"worse{by_chance}",
            Change.BETTER: "better",
            Change.SAME: "the same",
            Change.UNSURE: "may be noise: more samples would tell",
            Change.FEW: f"not judged: fewer than {FEWEST} samples",
        }
        return f"{self.name}: {by}: {words[self.change]}"


def compare(before: Report, after: Report) -> list[Compared]:
    """Every figure that both have and that has a better and a worse, those of cells as well."""
    known = dict(_figures(before))
    return [
        _compared(name, known[name], figure)
        for name, figure in _figures(after)
        if name in known and figure.better is not None
    ]


def _figures(report: Report) -> list[tuple[str, Figure]]:
    own = [(figure.name, figure) for figure in report.figures]
    cells = [
        (f"{cell.row} × {cell.column}: {figure.name}", figure)
        for cell in report.cells
        for figure in cell.figures
    ]
    return [(name, figure) for name, figure in own + cells if figure.samples]


def _compared(name: str, before: Figure, after: Figure) -> Compared:
    if _is_counted(before, after):
        old, new = mean(before.samples), mean(after.samples)
        slack = COUNTS[after.name]
        worse = 0.0 if abs(new - old) <= slack else _share_worse(old, new, after)
        return Compared(name, after.unit, old, new, _by_how_much(worse), None)
    old, new = before.middle, after.middle
    chance = by_chance(before.samples, after.samples)
    change = _change(before, after, _share_worse(old, new, after), chance)
    return Compared(name, after.unit, old, new, change, chance)


def _is_counted(before: Figure, after: Figure) -> bool:
    """Where there are enough samples, and the first were not all alike, a count has noise, too."""
    if after.name not in COUNTS:
        return False
    return _fewest(before, after) < FEWEST or len(set(before.samples)) == 1


def _fewest(before: Figure, after: Figure) -> int:
    return min(len(before.samples), len(after.samples))


def _change(before: Figure, after: Figure, worse: float, chance: float) -> Change:
    if _fewest(before, after) < FEWEST:
        return Change.FEW
    if abs(worse) > WORSE and chance > CHANCE:
        return Change.UNSURE
    return _by_how_much(worse)


def _by_how_much(worse: float) -> Change:
    if abs(worse) <= WORSE:
        return Change.SAME
    return Change.WORSE if worse > 0 else Change.BETTER


def _share_worse(old: float, new: float, figure: Figure) -> float:
    """How much worse it is, as a share of what it was; less than 0 is better."""
    if figure.better == "higher":
        old, new = -old, -new
    if old == new:
        return 0.0
    return (new - old) / abs(old) if old else float("inf") * (new - old)


def by_chance(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """How often two draws from the same source lie at least so far to one side of each other."""
    wins = sum((b > a) + (b == a) / 2 for a in one for b in other)
    few, many = len(one), len(other)
    most = few * many
    extreme = int(max(wins, most - wins))  # downwards: ties never make it look surer
    return min(
        1.0, sum(_ways(few, many, u) for u in range(extreme, most + 1)) / comb(few + many, few)
    )


@cache
def _ways(few: int, many: int, wins: int) -> int:
    """In how many orders of both the second wins exactly so many of all pairs."""
    if wins < 0:
        return 0
    if few == 0 or many == 0:
        return int(wins == 0)
    return _ways(few - 1, many, wins - many) + _ways(few, many - 1, wins)
