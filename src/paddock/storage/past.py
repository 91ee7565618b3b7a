"""The past of a store that forgets when the process ends; bounded as the one on disk is."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.ports import LedgerEntry, Rollup

from .history import (
    FINE_S,
    GROUPS_HOURLY_S,
    KEPT_S,
    LONGEST_NAME,
    MOST_ENTRIES,
    MOST_GROUPS,
    oldest_kept,
)
from .rollup import DAY_S, HOUR_S, MINUTE_S, OTHERS, added


class Past:
    def __init__(self) -> None:
        self._data: dict[tuple[int, int, str], bytes] = {}
        self._entries: dict[tuple[float, str, str], LedgerEntry] = {}

    def add(
        self, rollups: Sequence[Rollup], entries: Sequence[LedgerEntry], *, now_at: float
    ) -> None:
        for rollup in rollups:
            key = (rollup.step_s, rollup.at, self._name_in(rollup))
            old = self._data.get(key)
            data = rollup.data
            if old is not None:
                data = added(old, data, of_group=bool(key[2]))
            self._data[key] = data
        self._entries |= {(entry.at, entry.kind, entry.subject): entry for entry in entries}
        self._drop_old(now_at)

    def rollups(
        self, step_s: int, *, since: tuple[int, str], until_at: float
    ) -> tuple[Rollup, ...]:
        return tuple(
            Rollup(step, at, group or None, data)
            for (step, at, group), data in sorted(self._data.items())
            if step == step_s and (at, group) > since and at < until_at
        )

    def ledger(self, *, since_at: float) -> tuple[LedgerEntry, ...]:
        found = (self._entries[key] for key in sorted(self._entries))
        return tuple(one for one in found if one.until_at is None or one.until_at >= since_at)

    def _name_in(self, rollup: Rollup) -> str:
        if rollup.group is None:
            return ""
        name = rollup.group[:LONGEST_NAME] or OTHERS
        span = (rollup.step_s, rollup.at)
        if (*span, name) in self._data:
            return name
        known = sum((step, at) == span for step, at, _ in self._data)
        return OTHERS if known >= MOST_GROUPS else name

    def _drop_old(self, now_at: float) -> None:
        known = {at // DAY_S * DAY_S for step_s, at, _ in self._data if step_s == HOUR_S}
        days = sorted(known, reverse=True)
        first = {
            age_s: oldest_kept(age_s, days, now_at=now_at)
            for age_s in (FINE_S, GROUPS_HOURLY_S, KEPT_S)
        }
        for key in [key for key in self._data if key[1] < first[_age_s(key)]]:
            del self._data[key]
        for entry in [entry for entry in self._entries if entry[0] < first[KEPT_S]]:
            del self._entries[entry]
        for entry in sorted(self._entries)[: max(0, len(self._entries) - MOST_ENTRIES)]:
            del self._entries[entry]


def _age_s(key: tuple[int, int, str]) -> int:
    step_s, _, group = key
    if step_s == MINUTE_S:
        return FINE_S
    return GROUPS_HOURLY_S if step_s == HOUR_S and group else KEPT_S
