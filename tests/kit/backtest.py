"""Made-up series of daily values, and how well a forecast foretells what comes next. Pure.

Each kind is drawn with its own strength of everything, so that no setting fits them all by luck.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from statistics import fmean
from types import MappingProxyType
from typing import Final

from paddock.observe.forecast import WEEK, forecast

HORIZON: Final = 30
LONG: Final = (45, 90)  # days of history


@dataclass(frozen=True, slots=True)
class Made:
    kind: str
    known: Mapping[int, float]
    coming: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """Over all series of a kind."""

    series: int
    told: int  # for how many there was a forecast
    coverage: float  # share of the days to come within the interval
    error: float  # mean absolute, against the level
    naive_error: float  # of "as a week ago"


def _noise(random: Random, days: int) -> list[float]:
    share = random.uniform(0.03, 0.3)
    level = random.uniform(20, 500)
    return [level * (1 + random.gauss(0, share)) for _ in range(days)]


def _trend(random: Random, days: int) -> list[float]:
    slope = random.uniform(0.002, 0.02) * random.choice((1, 1, -0.3))
    return [value * 1.0 + slope * 300 * day for day, value in enumerate(_noise(random, days))]


def _weekly(random: Random, days: int) -> list[float]:
    depth = random.uniform(0.3, 1.0)
    shape = [1.0] * 5 + [1 - depth, 1 - depth * random.uniform(0.8, 1.0)]
    shape = [value * random.uniform(0.9, 1.1) for value in shape]
    slope = random.choice((0.0, random.uniform(0.001, 0.008)))
    noise = _noise(random, days)
    level = fmean(noise)
    return [
        value - level + level * shape[day % WEEK] * (1 + slope * day)
        for day, value in enumerate(noise)
    ]


def _step(random: Random, days: int) -> list[float]:
    """It came in the known part: one that is yet to come nobody foretells."""
    noise = _noise(random, days)
    at = random.randint(10, max(11, days - HORIZON - 10))
    height = fmean(noise) * random.uniform(0.3, 1.5) * random.choice((1, 1, -0.5))
    return [value + (height if day >= at else 0.0) for day, value in enumerate(noise)]


def _wandering(random: Random, days: int) -> list[float]:
    found, level, keep = [], random.uniform(50, 200), random.uniform(0.5, 0.95)
    off, size = 0.0, level * random.uniform(0.03, 0.1)
    for _ in range(days):
        off = keep * off + random.gauss(0, size)
        found.append(level + off)
    return found


def _outliers(random: Random, days: int) -> list[float]:
    """Now and then a day of two to four times the usual: somebody tried what the host can bear."""
    share, height = random.uniform(0.01, 0.05), random.uniform(2, 4)
    return [value * (height if random.random() < share else 1.0) for value in _noise(random, days)]


def _idle_weekends(random: Random, days: int) -> list[float]:
    """Nothing at all on two days of seven, and no noise there either."""
    first = random.randrange(WEEK)
    return [
        0.0 if (day + first) % WEEK >= 5 else value
        for day, value in enumerate(_noise(random, days))
    ]


KINDS: Final[Mapping[str, Callable[[Random, int], list[float]]]] = MappingProxyType(
    {
        "trend": _trend,
        "weekly": _weekly,
        "step": _step,
        "noise": _noise,
        "wandering": _wandering,
        "outliers": _outliers,
        "idle weekends": _idle_weekends,
        "little": _weekly,
    }
)


def draw(kind: str, number: int, *, seed: int) -> Made:
    random = Random(f"{kind}:{number}:{seed}")
    days = random.randint(3, 27) if kind == "little" else random.randint(*LONG)
    first = 20_000 + random.randint(0, 6)
    values = [max(0.0, value) for value in KINDS[kind](random, days + HORIZON)]
    known = {first + day: value for day, value in enumerate(values[:days])}
    return Made(kind, known, tuple(values[days:]))


def score(series: Iterable[Made]) -> Mapping[str, Score]:
    by_kind: dict[str, list[Made]] = defaultdict(list)
    for made in series:
        by_kind[made.kind].append(made)
    return {kind: _score_of(made) for kind, made in by_kind.items()}


def _score_of(series: list[Made]) -> Score:
    inside: list[bool] = []
    errors, naive = [], []
    told = 0
    for made in series:
        days = forecast(made.known, horizon=HORIZON).days
        told += bool(days)
        level = fmean(made.known.values()) or 1.0
        last = list(made.known.values())[-WEEK:]
        pairs = zip(days, made.coming, strict=False)
        for ahead, (day, value) in enumerate(pairs):
            inside.append(day.low <= value <= day.high)
            errors.append(abs(day.expected - value) / level)
            naive.append(abs(last[ahead % len(last)] - value) / level)
    if not inside:
        return Score(len(series), told, math.nan, math.nan, math.nan)
    return Score(len(series), told, fmean(inside), fmean(errors), fmean(naive))


def overall(scores: Mapping[str, Score]) -> float:
    """Each kind counts the same."""
    return fmean(one.coverage for one in scores.values() if not math.isnan(one.coverage))
