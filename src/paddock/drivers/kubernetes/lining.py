"""Who waits for room in a quota, and what of it is theirs before anybody else's. Pure.

Each that was put off asks again by itself, when its pause is over: without this, whoever happens to
ask first after room came free would have it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final

from paddock.cluster.quota import Line, never_fits, short_of
from paddock.core.policy import Policy
from paddock.core.run import Priority

QUOTA_RETRY_S: Final = 5.0
GONE_S: Final = 3 * QUOTA_RETRY_S  # who has not asked again for so long was cancelled

Asked = Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class Waiter:
    run: str
    priority: Priority
    since_at: float
    seen_at: float
    asked: Asked
    binds: frozenset[str]  # the quotas that hold for it

    def wants(self, line: Line) -> Decimal:
        return self.asked.get(line.resource, Decimal(0)) if line.quota in self.binds else Decimal(0)


@dataclass(frozen=True, slots=True)
class Wish:
    """One that asks for room now."""

    run: str
    priority: Priority
    asked: Asked


class Lining:
    """In the order of the core's queue: by priority, of which an hour of waiting makes up for one.

    Whoever fits while one before it does not may pass, as in the core; from time to time what comes
    free is kept for those before, so that many small ones do not keep a large one waiting for ever.
    """

    def __init__(self) -> None:
        usual = Policy(total_bytes=1, reserve_bytes=0)
        self._ageing_s, self._passing_s = usual.ageing_s, usual.backfill_s
        self._waiters: dict[str, Waiter] = {}

    def short(self, wish: Wish, lines: Sequence[Line], now: float) -> str | None:
        """Why it must wait, and then it is in line; None: it may have what it asks for."""
        why = never_fits(wish.asked, lines)  # nothing can be kept for it; a quota can be raised
        if why is None:
            why = short_of(wish.asked, lines) or self._left_to_others(wish, lines, now)
            if why is not None:
                self._waits(wish, lines, now)
                return why
        self._waiters.pop(wish.run, None)
        return why

    def _waits(self, wish: Wish, lines: Sequence[Line], now: float) -> None:
        known = self._waiters.get(wish.run)
        since_at = now if known is None else known.since_at
        binds = frozenset(line.quota for line in lines)
        self._waiters[wish.run] = Waiter(wish.run, wish.priority, since_at, now, wish.asked, binds)

    def _left_to_others(self, wish: Wish, lines: Sequence[Line], now: float) -> str | None:
        kept: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
        for other in self._before(wish, now):
            left = [replace(one, used=one.used + kept[one.quota, one.resource]) for one in lines]
            fits = all(other.wants(line) <= line.left for line in left)
            if not fits and not self._holds(other, now):
                continue
            for line in lines:
                kept[line.quota, line.resource] += other.wants(line)
            for line in lines:
                wanted = wish.asked.get(line.resource)
                free = line.left - kept[line.quota, line.resource]
                if wanted is not None and other.wants(line) and wanted > free:
                    about = f"what the quota {line.quota} has left of {line.resource}"
                    return f"{about} is for run {other.run}, which is before it"
        return None

    def _before(self, wish: Wish, now: float) -> list[Waiter]:
        self._waiters = {
            run: one for run, one in self._waiters.items() if now - one.seen_at <= GONE_S
        }
        known = self._waiters.get(wish.run)
        own = (now if known is None else known.since_at) + self._ageing_s * wish.priority
        others = [one for one in self._waiters.values() if one.run != wish.run]
        return sorted((one for one in others if self._turn(one) < own), key=self._turn)

    def _turn(self, one: Waiter) -> float:
        return one.since_at + self._ageing_s * one.priority

    def _holds(self, one: Waiter, now: float) -> bool:
        """For a while others pass, for a while they do not: neither can go on for ever."""
        return int((now - one.since_at) / self._passing_s) % 2 == 1
