"""Learned sizes: what a group's attempts really use, as a distribution that can be summed.

The peak of one agent says little: a 4 GB burst once a run makes everybody a 4 GB agent. What
matters is how much all of them use at the same moment. For independent agents the logarithm of
the moment generating function adds up, and Chernoff's bound turns the sum into a quantile:

    P(sum > w) <= exp(K(t) - t w)   for every t > 0, with K(t) = sum of log E[exp(t use)]

so `quantile` needs one small vector per group, and adding an agent adds two vectors.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

from .policy import SizingPolicy
from .units import GIB, MIB

# t in 1/bytes, half powers of two around 1/GiB: the bound is flat near its optimum (a factor of
# sqrt 2 costs under 1 %), and the range serves walls from 64 MB to tens of TB.
TILTS: Final = tuple(2.0 ** (k / 2) / GIB for k in range(-16, 13))
_PER_TILT: Final = tuple(1 / tilt for tilt in TILTS)
NOTHING: Final = (0.0,) * len(TILTS)

Moments = Sequence[float]

SHARES: Final = (0.95, 0.6, 0.22)
_FIRST_BYTES: Final = 4 * MIB
_LOG_RATIO: Final = math.log(1.03)  # bins 3 % wide; a use counts as its bin's upper edge


def quantile(moments: Moments, policy: SizingPolicy) -> float:
    """Bytes that the sum passes no more often than the configured risk."""
    if moments is NOTHING:
        return 0.0
    share_of_time = policy.touches_per_hour * policy.burst_s / 3600.0
    margin = -math.log(share_of_time)
    bounds = [(k + margin) * inverse for k, inverse in zip(moments, _PER_TILT, strict=True)]
    return float(min(bounds))


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramFacts:
    """A histogram as plain data, for the store."""

    bins: tuple[tuple[int, float], ...]
    epoch_at: float | None
    last_at: float
    scale: float
    weight: float
    half_life_s: float


class Histogram:
    """Time spent at each size, older time counting less (half-life of a day)."""

    __slots__ = ("_epoch_at", "_scale", "_weight", "bins", "half_life_s", "last_at")

    def __init__(self, half_life_s: float) -> None:
        self.bins: dict[int, float] = {}
        self.half_life_s = half_life_s
        self._epoch_at: float | None = None
        self.last_at = 0.0
        self._scale = 1.0  # what a second weighs now
        self._weight = 0.0  # of all bins

    def facts(self) -> HistogramFacts:
        return HistogramFacts(
            bins=tuple(sorted(self.bins.items())),
            epoch_at=self._epoch_at,
            last_at=self.last_at,
            scale=self._scale,
            weight=self._weight,
            half_life_s=self.half_life_s,
        )

    @classmethod
    def from_facts(cls, facts: HistogramFacts, *, half_life_s: float) -> Histogram:
        made = cls(half_life_s)
        made.bins = dict(facts.bins)
        made._epoch_at, made.last_at = facts.epoch_at, facts.last_at
        made._scale, made._weight = facts.scale, facts.weight
        if half_life_s != facts.half_life_s and facts.epoch_at is not None:
            made._weigh_anew(made.last_at)  # from here on the past fades at the new rate
        return made

    def rest(self) -> None:
        """The clock starts anew at zero."""
        if self._epoch_at is not None:
            self._weigh_anew(0.0)
            self.last_at = 0.0

    def add(self, used_bytes: int, *, seconds: float, at: float) -> None:
        if seconds <= 0:
            return
        if self._epoch_at is None:
            self._epoch_at = at
            self.last_at = max(self.last_at, at)
        elif at > self.last_at:
            self._pass_time(at)
        index = _bin_of(used_bytes)
        # Instead of shrinking all old weights, new ones weigh more.
        weight = seconds * self._scale
        self.bins[index] = self.bins.get(index, 0.0) + weight
        self._weight += weight

    @property
    def seconds(self) -> float:
        """Observed time, in seconds of today's worth."""
        return self._weight / self._scale

    def sizes(self) -> Iterator[tuple[float, float]]:
        """(bytes, seconds) from small to large."""
        scale = self._scale
        for index in sorted(self.bins):
            yield _edge_of(index), self.bins[index] / scale

    def quantile(self, share: float) -> float:
        """Bytes under which the use stayed for this share of the time; 0 with no evidence."""
        sizes = list(self.sizes())
        if not sizes:
            return 0.0
        passed = list(accumulate(seconds for _, seconds in sizes))
        return sizes[min(bisect_left(passed, share * passed[-1]), len(sizes) - 1)][0]

    def _pass_time(self, at: float) -> None:
        assert self._epoch_at is not None
        self.last_at = at
        self._scale = float(2.0 ** min((at - self._epoch_at) / self.half_life_s, 1000.0))
        if self._scale > 2.0**64:  # long before it overflows
            self._weigh_anew(at)

    def _weigh_anew(self, at: float) -> None:
        self.bins = {i: w / self._scale for i, w in self.bins.items() if w > 1e-9 * self._scale}
        self._weight = sum(self.bins.values())
        self._epoch_at, self._scale = at, 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeFacts:
    """What was learned of a group's size as plain data, for the store."""

    histogram: HistogramFacts
    young: HistogramFacts
    ended: int
    extra_bytes: float
    extra_at: float
    limit_bytes: int
    walls: tuple[tuple[int, int], ...] = ()


class Known(NamedTuple):
    """What an attempt of a group adds to the fleet's sum, grown up and young."""

    grown: Moments
    young: Moments
    typical_bytes: float = 0.0  # 95 % of the time it uses no more
    resting_bytes: float = 0.0  # 60 % of the time it uses no more
    grown_bytes: float = 0.0  # 78 % of the time it uses more: below, it still grows up
    top_bytes: float = 0.0  # 99 % of the time it uses no more: the height of a large burst
    limit_bytes: float = math.inf  # attempts under a higher wall have not been seen often enough
    middle_bytes: float = 0.0  # on average, of the time in which it neither grows up nor bursts
    wall_bytes: float = 0.0  # the highest wall it had


class SizeModel:
    """What one group has been seen to use."""

    __slots__ = (
        "_extra_at",
        "_fresh_seconds",
        "_known",
        "ended",
        "extra_bytes",
        "histogram",
        "limit_bytes",
        "walls",
        "young",
    )

    def __init__(self, policy: SizingPolicy) -> None:
        self.histogram = Histogram(policy.half_life_s)
        self.young = Histogram(policy.half_life_s)  # of the first moments only
        self.ended = 0
        self.extra_bytes = 0.0  # grown by out-of-memory kills, as of the last one
        self._extra_at = 0.0
        self.limit_bytes = 0  # the largest wall seen: what the unseen burst may reach
        self.walls: dict[int, int] = {}  # how many ended under walls of which height
        self._known: Known | None = None
        self._fresh_seconds = 0.0

    def facts(self) -> SizeFacts:
        return SizeFacts(
            histogram=self.histogram.facts(),
            young=self.young.facts(),
            ended=self.ended,
            extra_bytes=self.extra_bytes,
            extra_at=self._extra_at,
            limit_bytes=self.limit_bytes,
            walls=tuple(sorted(self.walls.items())),
        )

    @classmethod
    def from_facts(cls, facts: SizeFacts, policy: SizingPolicy) -> SizeModel:
        made, fading_s = cls(policy), policy.half_life_s
        made.histogram = Histogram.from_facts(facts.histogram, half_life_s=fading_s)
        made.young = Histogram.from_facts(facts.young, half_life_s=fading_s)
        made.ended, made.limit_bytes = facts.ended, facts.limit_bytes
        made.extra_bytes, made._extra_at = facts.extra_bytes, facts.extra_at
        made.walls = dict(facts.walls)
        return made

    def rest(self) -> None:
        """The clock starts anew at zero; nothing fades by that."""
        self.extra_bytes, self._extra_at = self._faded(), 0.0
        self.histogram.rest()
        self.young.rest()

    def observe(self, used_bytes: int, *, seconds: float, at: float, young: bool = False) -> None:
        self.histogram.add(used_bytes, seconds=seconds, at=at)
        if young:
            self.young.add(used_bytes, seconds=seconds, at=at)
        self._fresh_seconds += seconds

    def out_of_memory(self, policy: SizingPolicy) -> None:
        extra = self._faded()
        typical = self.histogram.quantile(0.95) + extra
        self.extra_bytes = extra + max(policy.oom_growth_bytes, policy.oom_growth * typical)
        self._extra_at = self.histogram.last_at
        self._known = None

    def _faded(self) -> float:
        """What is left of the growth, which is forgotten like everything else."""
        age_s = self.histogram.last_at - self._extra_at
        return float(self.extra_bytes * 0.5 ** (age_s / self.histogram.half_life_s))

    def saw_end(self, limit_bytes: int) -> None:
        """An attempt under this wall has ended: evidence for walls up to this height."""
        self.ended += 1
        height = _height_of(limit_bytes)
        self.walls[height] = self.walls.get(height, 0) + 1

    def _proven_bytes(self, policy: SizingPolicy) -> float:
        """The highest wall under which enough attempts have ended.

        A run that was held at 16 MiB says nothing of what it would do under 12 GiB.
        """
        seen = 0
        for height in sorted(self.walls, reverse=True):
            seen += self.walls[height]
            if seen >= policy.evidence:
                return float(_FIRST_BYTES * 2.0 ** ((height + 1) / 2))
        return 0.0 if self.walls else float(self.limit_bytes)

    def known(self, policy: SizingPolicy) -> Known | None:
        """None while the evidence is too thin: then the limit counts."""
        if self.ended < policy.evidence or not self.histogram.bins:
            return None
        # Renewed when a tenth of what is known is new: the sums change slowly after that.
        if self._known is None or self._fresh_seconds > self.histogram.seconds / 10:
            always = self._moments(self.histogram, policy)
            young = self._moments(self.young, policy) if self.young.bins else always
            # The young grow old: they count by whichever is worse.
            worse = tuple(map(max, always, young))
            typical, rest, grown = (self.histogram.quantile(q) + self._faded() for q in SHARES)
            top, middle = self._top_bytes(policy), self._between(grown, typical)
            self._known = Known(always, worse, typical, rest, grown, top, middle_bytes=middle)
            self._fresh_seconds = 0.0
        proven = self._proven_bytes(policy)
        wall = float(self.limit_bytes)
        if (proven, wall) != (self._known.limit_bytes, self._known.wall_bytes):
            self._known = self._known._replace(limit_bytes=proven, wall_bytes=wall)
        return self._known

    def _top_bytes(self, policy: SizingPolicy) -> float:
        """The height of a large burst; the unseen one, until enough has been seen."""
        share = 0.99 * (1 + policy.unseen_s / self.histogram.seconds)
        seen = self.histogram.quantile(share) + self._faded()
        return seen if share < 1 else max(seen, float(self.limit_bytes))

    def _between(self, low: float, high: float) -> float:
        """What it uses on average while that is no less than the one and no more than the other.

        A sum of many needs the mean: a quantile of so lopsided sizes is too small by a tenth.
        """
        extra = self._faded()
        within = [
            (size + extra, s) for size, s in self.histogram.sizes() if low <= size + extra <= high
        ]
        seconds = sum(s for _, s in within)
        return sum(size * s for size, s in within) / seconds if seconds else high

    def _moments(self, histogram: Histogram, policy: SizingPolicy) -> Moments:
        seen = list(histogram.sizes())
        unseen_bytes = max(float(self.limit_bytes), seen[-1][0])
        seen.append((unseen_bytes, policy.unseen_s))
        total_s = sum(seconds for _, seconds in seen)
        extra = self._faded()
        return tuple(_log_moment(seen, tilt=t) - math.log(total_s) + t * extra for t in TILTS)


def _log_moment(seen: Sequence[tuple[float, float]], *, tilt: float) -> float:
    """log of the weighted sum of exp(tilt * bytes), shifted so that nothing overflows."""
    top = tilt * seen[-1][0]
    return top + math.log(sum(w * math.exp(tilt * size - top) for size, w in seen))


def _height_of(limit_bytes: int) -> int:
    """Walls within a factor of the square root of two count as the same."""
    return math.floor(2 * math.log2(max(limit_bytes, _FIRST_BYTES) / _FIRST_BYTES) + 1e-9)


def _bin_of(used_bytes: int) -> int:
    if used_bytes <= _FIRST_BYTES:
        return 0
    return math.ceil(math.log(used_bytes / _FIRST_BYTES) / _LOG_RATIO)


def _edge_of(index: int) -> float:
    return _FIRST_BYTES * math.exp(index * _LOG_RATIO)
