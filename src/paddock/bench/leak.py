"""Whether memory leaks: a verdict on a series of samples, with its slope and how sure it is.

Pure. Two points say nothing: garbage collectors make saws, caches fill up and stop. What a leak
does and they do not is to raise the *low* points, all the time. So the series is cut into blocks,
the low point of each is taken, and they must rise by a slope (Theil-Sen) whose interval does not
hold zero, in both halves as in the whole. Short blocks see a leak below noise, long ones one below
bursts: any will do. How often it is wrong is in docs/explain/leaks.md, from `bench/bench_leaks.py`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from statistics import NormalDist, fmean, median
from typing import Final, NamedTuple

from paddock.core.units import format_size

BLOCKS: Final = (6, 12, 24)
FEWEST: Final = 30  # samples
LOW: Final = 0.05  # the part of a block that stands for its low point: more than one odd reading
CONFIDENCE: Final = 0.99
LEAST_BYTES_PER_S: Final = 16 * 1024.0  # 56 MiB an hour; slower ones need longer series than ours
SHORTEST_S: Final = 45.0  # what began less than that ago may still be warming up
LASTS: Final = 0.35  # of the whole slope, in each half: less is something that filled up, or a step

Sample = tuple[float, float]  # seconds, bytes


class Verdict(StrEnum):
    LEAK = "leak"
    GROWS = "grows"  # as a leak does, and was not seen for long enough to be called one
    NONE = "none"
    TOO_SHORT = "too_short"


@dataclass(frozen=True, slots=True)
class Judged:
    verdict: Verdict
    slope_bytes_per_s: float
    low_bytes_per_s: float  # the interval that holds the true slope, at `CONFIDENCE`
    high_bytes_per_s: float
    samples: int
    seconds: float = 0.0  # from the first of them to the last

    def __str__(self) -> str:
        if self.verdict is Verdict.TOO_SHORT:
            return f"{self.samples} samples are too few to tell a leak; {FEWEST} are needed"
        low, high = format_rate(self.low_bytes_per_s), format_rate(self.high_bytes_per_s)
        between = f"between {low} and {high} at {CONFIDENCE:.0%}"
        rate = format_rate(self.slope_bytes_per_s)
        if self.verdict is Verdict.LEAK:
            return f"leaks {rate}, {between}"
        if self.verdict is Verdict.GROWS:
            return (
                f"grew by {rate} for all of its {self.seconds:.0f} s: too short to call it a leak"
            )
        return f"no leak found: its low points move {between}"


def format_rate(bytes_per_s: float) -> str:
    """By the hour where it is slow: `56 MiB/h`."""
    sign = "-" if bytes_per_s < 0 else ""
    size = abs(bytes_per_s)
    if size >= 1024 * 1024:
        return f"{sign}{format_size(round(size))}/s"
    return f"{sign}{format_size(round(size * 3600))}/h"


def judge(samples: Sequence[Sample], *, least_bytes_per_s: float = LEAST_BYTES_PER_S) -> Judged:
    """Samples in the order of their times, which need not be even."""
    if len(samples) < FEWEST or samples[-1][0] <= samples[0][0]:
        return Judged(Verdict.TOO_SHORT, 0.0, -math.inf, math.inf, len(samples))
    found = [_at_scale(samples, blocks) for blocks in BLOCKS if blocks * 3 <= len(samples)]
    leaks = [one for one in found if _rises(one, least_bytes_per_s)]
    one = (leaks or found)[0]
    seconds = samples[-1][0] - samples[0][0]
    rising = Verdict.LEAK if seconds >= SHORTEST_S else Verdict.GROWS
    verdict = rising if leaks else Verdict.NONE
    return Judged(verdict, one.slope, one.low, one.high, len(samples), seconds)


class _Scale(NamedTuple):
    """What blocks of one length say."""

    slope: float
    low: float
    high: float
    whole: float  # from the first third to the last
    in_halves: float  # the lesser of the slopes of both


def _at_scale(samples: Sequence[Sample], blocks: int) -> _Scale:
    lows = _lows(samples, blocks)
    slopes, middle = _slopes(lows), len(lows) // 2
    halves = (lows[:-middle], lows[middle:])
    low, high = _interval(slopes, len(lows))
    in_halves = min(median(_slopes(half)) for half in halves)
    return _Scale(median(slopes), low, high, _from_end_to_end(lows), in_halves)


def _from_end_to_end(lows: Sequence[Sample]) -> float:
    third = len(lows) // 3
    (began, first), (ended, last) = (
        (fmean(at for at, _ in part), fmean(value for _, value in part))
        for part in (lows[:third], lows[-third:])
    )
    return (last - first) / (ended - began)


def _rises(one: _Scale, least_bytes_per_s: float) -> bool:
    lasts = one.in_halves >= LASTS * one.whole
    return one.low > 0 and one.slope >= least_bytes_per_s and lasts


def _lows(samples: Sequence[Sample], blocks: int) -> list[Sample]:
    """The low point of each block, at the block's middle; blocks of equal numbers of samples."""
    size = len(samples) / blocks
    found: list[Sample] = []
    for number in range(blocks):
        block = samples[round(number * size) : round((number + 1) * size)]
        values = sorted(value for _, value in block)
        lowest = values[: max(1, int(LOW * len(values)))]
        found.append((median(at for at, _ in block), fmean(lowest)))
    return found


def _slopes(points: Sequence[Sample]) -> list[float]:
    """Of every pair, the smallest first."""
    return sorted(
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for earlier, later in combinations(points, 2)
        if later[0] > earlier[0]
    )


def _interval(slopes: Sequence[float], points: int) -> tuple[float, float]:
    """Sen's: as many slopes from each end are cut off as order could be by chance."""
    spread = math.sqrt(points * (points - 1) * (2 * points + 5) / 18)
    cut = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * spread
    lowest = round((len(slopes) - cut) / 2)
    lowest = min(max(lowest, 0), len(slopes) - 1)
    return slopes[lowest], slopes[len(slopes) - 1 - lowest]
