"""How much longer runs take because something was scarce, from the run times of groups. Pure.

Runs of one group differ by what they have to do as well. So those that began while all cores were
in use are held against the others of their group: on average their work is the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

LEAST_RUNS: Final = 20  # of each of the two: fewer say nothing
LIKELY: Final = 2.0  # standard errors to either side

Times = Sequence[tuple[float, int]]  # how many took so long


class Group(Protocol):
    """`paddock.wire.history_views.GroupHistory` is one."""

    @property
    def run_times(self) -> Times: ...
    @property
    def crowded_run_times(self) -> Times: ...


class Extra(NamedTuple):
    """Time that runs took longer, as a share of all their time: within these two."""

    low: float
    high: float
    compared: int  # runs that began on full cores, and could be held against others


class _Moments(NamedTuple):
    runs: int
    mean: float
    variance: float


def spread(groups: Iterable[Group]) -> tuple[float, int] | None:
    """The coefficient of variation within groups, each by its runs, and how many runs; None: too
    few to say. Whatever runs differ by is in it, so scarcity has no larger part."""
    known = [_moments(dict(group.run_times)) for group in groups]
    enough = [one for one in known if one.runs >= LEAST_RUNS and one.mean > 0]
    runs = sum(one.runs for one in enough)
    if not runs:
        return None
    squares = sum(one.runs * one.variance / one.mean**2 for one in enough)
    return math.sqrt(squares / runs), runs


def extra_when_crowded(groups: Iterable[Group]) -> Extra | None:
    """None: no run time is known. Where one side of a group has too few to be held against, all
    the time of those that began on full cores may be too much, or none of it."""
    low_s = high_s = error_s = total_s = 0.0
    compared = 0
    for group in groups:
        crowded, free = _moments(dict(group.crowded_run_times)), _moments(_others(group))
        crowded_s = crowded.runs * crowded.mean
        total_s += crowded_s + free.runs * free.mean
        if min(crowded.runs, free.runs) < LEAST_RUNS:
            high_s += crowded_s
            continue
        compared += crowded.runs
        extra_s = crowded_s - crowded.runs * free.mean
        low_s, high_s = low_s + extra_s, high_s + extra_s
        of_means = crowded.variance / crowded.runs + free.variance / free.runs
        error_s += crowded.runs**2 * of_means  # squared
    if not total_s:
        return None
    likely_s = LIKELY * math.sqrt(error_s)
    low, high = max(0.0, low_s - likely_s), max(0.0, high_s + likely_s)
    return Extra(low / total_s, high / total_s, compared)


def _others(group: Group) -> Mapping[float, int]:
    return Counter(dict(group.run_times)) - Counter(dict(group.crowded_run_times))


def _moments(times: Mapping[float, int]) -> _Moments:
    count = sum(times.values())
    if not count:
        return _Moments(0, 0.0, 0.0)
    mean = sum(value * number for value, number in times.items()) / count
    variance = sum(number * (value - mean) ** 2 for value, number in times.items()) / count
    return _Moments(count, mean, variance)
