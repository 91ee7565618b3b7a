"""The last ten minutes, for charts: a place for each second, made once and written over."""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

SECONDS: Final = 600
MOST_AGENTS: Final = 1000  # whose curve is kept; those that were seen longest ago go first
BIN_S: Final = 10
MISSED_S: Final = 5
LEAST_SHOWN_S: Final = 120
POINTS: Final = 120
# Paddock or its owner ended it, and not the agent itself.
KILLS: Final = frozenset(
    {"memory_limit_exceeded", "timeout_exceeded", "preempted", "cancelled", "lost"}
)


class Ring:
    """One number a second, as far back as there is room; where nobody looked there is none."""

    __slots__ = ("_values",)

    def __init__(self) -> None:
        self._values = array("d", [math.nan]) * SECONDS

    def put(self, second: int, value: float | None) -> None:
        self._values[second % SECONDS] = math.nan if value is None else value

    def get(self, second: int) -> float | None:
        value = self._values[second % SECONDS]
        return None if math.isnan(value) else value


class Bin(NamedTuple):
    """So many starts, ends and kills within some seconds."""

    begins_at: int
    counts: list[int]


class History:
    """Seconds count since 1970; `now` is the newest that was looked at."""

    def __init__(self) -> None:
        self.now = 0
        self.began = 0
        self.host_percent = Ring()
        self.fleet_bytes = Ring()
        self.waiting = Ring()
        self.at_work = Ring()
        self.agents: dict[str, Ring] = {}
        self.names: dict[str, str] = {}
        self._bins: deque[Bin] = deque(maxlen=SECONDS // BIN_S + 1)
        self._counted: deque[tuple[int, int, tuple[int, int, int]]] = deque(maxlen=SECONDS // BIN_S)

    def reach(self, second: int) -> None:
        """A second or two that a busy machine left out is as the one before; what lies between
        the last look and this one is unknown when that was long."""
        self.began = self.began or second
        missed = second - self.now > MISSED_S
        rings = (self.host_percent, self.fleet_bytes, self.waiting, self.at_work)
        for ring in (*rings, *self.agents.values()):
            last = None if missed else ring.get(self.now)
            for passed in range(max(self.now + 1, second - SECONDS + 1), second):
                ring.put(passed, last)
            ring.put(second, None)
        self.now = max(self.now, second)

    def of_agent(self, run: str, name: str) -> Ring:
        """Whoever is asked for moves to the end of the line of those that may go."""
        ring = self.agents.pop(run, None) or Ring()
        self.agents[run] = ring
        self.names[run] = name
        while len(self.agents) > MOST_AGENTS:
            gone = next(iter(self.agents))
            del self.agents[gone], self.names[gone]
        return ring

    def remember(self, begin: int, end: int, *, levels: tuple[float | None, ...]) -> None:
        """What a daemon knows of a time before the first look: host, fleet, waiting, at work."""
        rings = (self.host_percent, self.fleet_bytes, self.waiting, self.at_work)
        self.began = min(self.began or end, begin)
        for second in range(max(begin, self.now - SECONDS + 1), min(end, self.now)):
            for ring, level in zip(rings, levels, strict=True):
                if ring.get(second) is None:
                    ring.put(second, level)

    def happened(self, at: float, state: str, outcome: str | None) -> None:
        kind = {"starting": 0, "ended": 2 if outcome in KILLS else 1}.get(state)
        if kind is None:
            return
        begins_at = int(at) // BIN_S * BIN_S
        for kept in reversed(self._bins):
            if kept.begins_at == begins_at:
                kept.counts[kind] += 1
                return
        counts = [0, 0, 0]
        counts[kind] = 1
        self._bins.append(Bin(begins_at, counts))

    def counted(self, begin: int, end: int, *, starts: int, ends: dict[str, int]) -> None:
        """How many a daemon counted in that time. Those that are heard of one by one are among
        them, whichever of the two is known first."""
        kills = sum(times for outcome, times in ends.items() if outcome in KILLS)
        self._counted.append((begin, end, (starts, sum(ends.values()) - kills, kills)))

    def _not_heard(self, kind: int) -> dict[int, int]:
        """Of those that were counted; nobody knows when, so they are shown where it began."""
        left: dict[int, int] = {}
        for begin, end, counts in self._counted:
            heard = sum(one.counts[kind] for one in self._bins if begin <= one.begins_at < end)
            left[begin // BIN_S * BIN_S] = max(0, counts[kind] - heard)
        return left

    def seconds(self) -> range:
        """Those that charts show: as far back as is known, in about as many points however far, so
        that a page that stays open does not grow. By whole steps: a curve does not tremble."""
        known = min(SECONDS, max(LEAST_SHOWN_S, self.now - self.began))
        step = -(-known // POINTS)
        last = self.now // step * step
        shown = min(known, SECONDS - 2 * step)
        return range(last - shown // step * step, last + 1, step)

    def curve(self, ring: Ring, seconds: Iterable[int]) -> list[float | None]:
        return [ring.get(second) for second in seconds]

    def bins(self, kind: int) -> list[tuple[int, int]]:
        """All that charts show, also where nothing was: bars that are far apart are drawn wide."""
        seconds = self.seconds()
        known = self._not_heard(kind)
        for kept in self._bins:
            known[kept.begins_at] = known.get(kept.begins_at, 0) + kept.counts[kind]
        first = -(-seconds[0] // BIN_S) * BIN_S
        return [(at, known.get(at, 0)) for at in range(first, seconds[-1] + 1, BIN_S)]

    def largest(self, count: int, seconds: Sequence[int]) -> list[str]:
        """Whose use was the largest on the whole, of those that were seen."""
        looked = seconds[:: max(1, len(seconds) // 60)]
        sums = {run: sum(ring.get(s) or 0.0 for s in looked) for run, ring in self.agents.items()}
        first = sorted((run for run in sums if sums[run]), key=lambda run: -sums[run])[:count]
        return sorted(first)
