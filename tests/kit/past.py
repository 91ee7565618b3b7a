"""A past for tests: days of a fleet that grows, with quiet weekends, as the daemon keeps it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random

from paddock.core.units import GIB, MIB
from paddock.ports import LedgerEntry, Rollup, Store
from paddock.storage.rollup import (
    DAY_S,
    HOUR_S,
    PEAK_UNIT,
    TIME_UNIT,
    FleetSpan,
    GroupSpan,
    packed,
    put,
)

TOTAL = 64 * GIB
WALL = 32 * GIB
GROUPS = ("coder/web/implement", "coder/web/review")


def a_past(store: Store, *, days: int, now_at: float, seed: int = 1) -> None:
    random = Random(seed)
    for back in range(days, -1, -1):
        day = int(now_at // DAY_S * DAY_S) - back * DAY_S
        store.record(
            [*_hours(day, days - back, random, now_at), *_groups(day, random)], now_at=now_at
        )
    store.record([], list(_ledger(now_at, days)), now_at=now_at)


def _hours(day: int, number: int, random: Random, now_at: float) -> Iterator[Rollup]:
    weekend = time.localtime(day + DAY_S // 2).tm_wday >= 5
    level = (4 + number * 0.1) * (0.3 if weekend else 1.0)
    for hour in range(24):
        at = day + hour * HOUR_S
        if at + HOUR_S > now_at:
            return
        agents = max(0.0, level * (1.6 if 8 <= hour < 20 else 0.4) + random.gauss(0, 0.4))
        yield Rollup(HOUR_S, at, None, packed(_hour(agents, number, random)))


def _hour(agents: float, number: int, random: Random) -> FleetSpan:
    used = int(agents * 900 * MIB)
    span = FleetSpan(
        seconds=3600.0,
        readable_s=3600.0,
        used_percent_s=3600 * (20 + agents * 4),
        used_percent_max=min(99.0, 25 + agents * 4),
        total_bytes=TOTAL,
        wall_bytes=WALL,
        most_agents=20,
        rungs_s={0: 3500.0, 1: 100.0},
        rung_max=1,
        cpu_s=3600 * min(16.0, agents * 1.1),
        cpu_of_s=3600 * 16.0,
        cores=16,
        agents_s=agents * 3600,
        agents_max=round(agents) + 1,
        expected_s=agents * 1.5 * GIB * 3600,
        limits_s=agents * 4 * GIB * 3600,
        used_s=used * 3600.0,
        used_max=int(used * 1.3),
        pressed_s=agents * 90,
        waiting_s=3600.0,
        waiting_max=3,
        submitted=6,
        starts=6,
        ends={"succeeded": 5, "failed": 1},
        workspace_bytes=20 * GIB,
        unused_bytes=3 * GIB,
        log_bytes=GIB,
        disk_bytes=500 * GIB,
        disk_free_bytes=int((400 - number * 1.5) * GIB),
    )
    for _ in range(6):
        put(span.waits, random.expovariate(1 / 20), TIME_UNIT)
        put(span.begins, random.uniform(0.05, 2.0), TIME_UNIT)
    return span


def _groups(day: int, random: Random) -> Iterator[Rollup]:
    for name, usual in zip(GROUPS, (1800 * MIB, 600 * MIB), strict=True):
        span = GroupSpan(seconds=40_000.0, used_s=40_000.0 * usual / 3, limits_s=160_000.0 * GIB)
        span.limit_bytes, span.limit_max, span.attempts = 4 * GIB, 4 * GIB, 30
        span.ends = {"succeeded": 30}
        for _ in range(30):
            put(span.peaks, usual * random.uniform(0.6, 1.1), PEAK_UNIT)
        yield Rollup(DAY_S, day, name, packed(span))


def _ledger(now_at: float, days: int) -> Iterator[LedgerEntry]:
    began = now_at - days * DAY_S
    yield LedgerEntry(kind="daemon", subject="1", at=began, until_at=now_at - 3600)
    yield LedgerEntry(kind="daemon", subject="2", at=now_at - 3540, until_at=now_at)
    for n, verdict in enumerate(("true", "true", "false")):
        at = now_at - (n + 1) * 7200
        facts = {"rung": 3.0, "killed": 1.0}
        yield LedgerEntry(
            kind="pressure", subject="host", at=at, until_at=at + 100, verdict=verdict, facts=facts
        )
