"""How long runs take against how long such runs usually took: the slowdown of ADM-2.

One slow run says nothing (a model may think for an hour), so only many of the last minutes count,
by their median; and short ones not at all, which take longer for any reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from statistics import median

RECENT_S = 300.0
# Of runs that vary by a factor of e, 12 look twice as slow by chance in 3 of 100 cases, 24 in 0.7,
# 48 in 0.2 (simulated against 64 earlier ones).
FEWEST = 32
EVIDENCE = 10  # ended runs of a group, before it is known what is usual
SHORTEST_S = 10.0


class Pace:
    __slots__ = ("_seen",)

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque(maxlen=2 * FEWEST)

    def saw(self, ran_s: float, usual_s: Collection[float], *, at: float) -> None:
        """One that succeeded, and how long those of its group before it took."""
        if len(usual_s) < EVIDENCE:
            return
        usual = median(usual_s)
        if usual >= SHORTEST_S:
            self._seen.append((at, ran_s / usual))

    def slowdown(self, at: float) -> float:
        """1.0 while nothing is known."""
        recent = [ratio for seen_at, ratio in self._seen if at - seen_at <= RECENT_S]
        return max(1.0, median(recent)) if len(recent) >= FEWEST else 1.0
