"""A forecast of daily values with an honest interval. Pure.

A straight line, a weekly shape and one lasting step, each only where the data ask for it (by BIC);
what is left over may wander (an AR(1) process). The interval holds the noise, the wandering and the
uncertainty of everything that was estimated. Too little data gives no forecast, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Final

from .least_squares import Fit, Row, fit, student_quantile

LEAST_DAYS: Final = 14  # two of each weekday: below that a week cannot be told from a trend
WEEK: Final = 7
SHARE: Final = 0.90  # of the days to come that are to lie within the interval
STEP_MARGIN: Final = 5  # days on either side of a step: fewer are noise
TREND_DAYS: Final = 21
SWINGS_DAYS: Final = 35
STEP_PENALTY: Final = 3.0  # times a weight's: its day was chosen from all days
MOST_WANDERING: Final = 0.97


@dataclass(frozen=True, slots=True)
class Day:
    """One day to come."""

    day: int
    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Forecast:
    """Without days it says why."""

    days: tuple[Day, ...]
    known_days: int
    shape: tuple[str, ...] = ()  # of what it consists: trend, weekly, step, wandering
    per_day: float = 0.0  # the trend
    because: str = ""


@dataclass(frozen=True, slots=True)
class _Model:
    """Which regressors are in it."""

    first: int
    trend: bool
    weekly: bool
    step_at: int | None = None
    swings: bool = False  # the week's shape grows with the trend

    def row(self, day: int) -> Row:
        row = [1.0]
        since = (day - self.first) / 30  # a number near one: easier on the arithmetic
        if self.trend:
            row.append(since)
        if self.weekly:
            row += [float(day % WEEK == weekday) for weekday in range(1, WEEK)]
        if self.swings:
            row += [since * (day % WEEK == weekday) for weekday in range(1, WEEK)]
        if self.step_at is not None:
            row.append(float(day >= self.step_at))
        return row


def forecast(known: Mapping[int, float], *, horizon: int, share: float = SHARE) -> Forecast:
    """`known` has a value for each day that was seen; missing days are no zeros."""
    days = sorted(known)
    if len(days) < LEAST_DAYS:
        return Forecast((), len(days), because=too_little(len(days)))
    values = [known[day] for day in days]
    model, found = _chosen(days, values)
    coming = range(1, min(horizon, len(days)) + 1)  # no further ahead than there is behind
    wandering = _wandering(days, found)
    at = _foretelling(days[-1], model, found, wandering=wandering, share=share)
    ahead = [at(number) for number in coming]
    shape = [name for name in ("trend", "weekly") if getattr(model, name)]
    shape += ["step"] if model.step_at is not None else []
    shape += ["wandering"] if wandering > 0 else []
    per_day = found.weights[1] / 30 if model.trend else 0.0
    return Forecast(tuple(ahead), len(days), tuple(shape), per_day)


def too_little(days: int) -> str:
    seen = "1 day" if days == 1 else f"{days} days"
    return f"{seen} of history; a forecast needs {LEAST_DAYS}"


def reached(found: Forecast, limit: float) -> tuple[int | None, int | None]:
    """On which day the limit is expected to be reached, and the first on which it may be."""
    expected = next((day.day for day in found.days if day.expected >= limit), None)
    possible = next((day.day for day in found.days if day.high >= limit), None)
    return expected, possible


# -- which model ----------------------------------------------------------------------------------


def _chosen(days: Sequence[int], values: Sequence[float]) -> tuple[_Model, Fit]:
    """The one with the best BIC, among all that so many days can carry."""
    best: tuple[float, _Model, Fit] | None = None
    for plain in _plain_models(days):
        found = _fitted(plain, days, values)
        candidates = [(plain, found)]
        if (at := _step_in(days, found.residuals)) is not None and not plain.swings:
            stepped = replace(plain, step_at=at)
            candidates.append((stepped, _fitted(stepped, days, values)))
        for model, candidate in candidates:
            score = _bic(model, candidate, wandering=_wandering(days, candidate))
            if best is None or score < best[0]:
                best = (score, model, candidate)
    assert best is not None
    return best[1], best[2]


def _plain_models(days: Sequence[int]) -> list[_Model]:
    length = days[-1] - days[0]
    trends = (False, True) if length >= TREND_DAYS else (False,)
    found = [_Model(days[0], trend, weekly) for weekly, trend in product((False, True), trends)]
    if length >= SWINGS_DAYS:
        found.append(_Model(days[0], trend=True, weekly=True, swings=True))
    return found


def _fitted(model: _Model, days: Sequence[int], values: Sequence[float]) -> Fit:
    return fit([model.row(day) for day in days], values)


def _bic(model: _Model, found: Fit, *, wandering: float) -> float:
    """By what was new each day: else every series that wanders would have a trend or a step."""
    count = len(found.residuals)
    weights = len(found.weights) + (STEP_PENALTY - 1 if model.step_at is not None else 0.0)
    weights += wandering > 0
    # A series without any noise would have a logarithm of zero.
    variance = max(found.rss * (1 - wandering**2) / count, 1e-12)
    return count * math.log(variance) + weights * math.log(count)


def _step_in(days: Sequence[int], residuals: Sequence[float]) -> int | None:
    """Where the mean before and the mean after differ most, by their sums."""
    count, before, best, at = len(days), 0.0, 0.0, None
    for index in range(1, count):
        before += residuals[index - 1]
        if index < STEP_MARGIN or index > count - STEP_MARGIN:
            continue
        gain = before * before * count / (index * (count - index))
        if gain > best:
            best, at = gain, days[index]
    return at


def _wandering(days: Sequence[int], found: Fit) -> float:
    """How much of today's deviation is there tomorrow; 0 where that may be chance.

    Estimates of it are too low when many weights were fitted to few days: corrected for that.
    """
    pairs = [
        (a, b)
        for (day, a), (after, b) in pairwise(zip(days, found.residuals, strict=True))
        if after == day + 1
    ]
    squares = sum(a * a for a, _ in pairs)
    if not squares:
        return 0.0
    raw = sum(a * b for a, b in pairs) / squares
    count = len(days)
    if raw < 1.3 / math.sqrt(count):
        return 0.0
    corrected = raw + (1 + 3 * raw + len(found.weights) / 2) / count
    return min(corrected, MOST_WANDERING)


# -- what follows ---------------------------------------------------------------------------------


def _foretelling(
    last_day: int, model: _Model, found: Fit, *, wandering: float, share: float
) -> Callable[[int], Day]:
    count, size = len(found.residuals), len(found.weights)
    freedom = max(2, count - size - (1 if wandering else 0))
    variance = found.rss / freedom  # of the deviations
    # Deviations that go on for days say less about the weights than as many independent ones.
    worth = (1 + wandering) / (1 - wandering)
    factor = student_quantile((1 + share) / 2, freedom)
    spread = _growth(variance * (1 - wandering**2), wandering)

    def at(ahead: int) -> Day:
        row = model.row(last_day + ahead)
        middle = found.at(row) + found.residuals[-1] * wandering**ahead
        half = factor * math.sqrt(spread(ahead) + variance * worth * found.leverage(row))
        low, high = max(0.0, middle - half), max(0.0, middle + half)
        return Day(last_day + ahead, max(0.0, middle), low, high)

    return at


def _growth(fresh: float, wandering: float) -> Callable[[int], float]:
    """Of what is new each day, so many days on."""
    if not wandering:
        return lambda _ahead: fresh
    return lambda ahead: fresh * (1 - wandering ** (2 * ahead)) / (1 - wandering**2)
