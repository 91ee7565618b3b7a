"""Ninety days of a busy fleet in a real store, written as the daemon would have."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final

from paddock.core.units import GIB, MIB
from paddock.ports import LedgerEntry, Rollup, Store
from paddock.storage.history import FINE_S, GROUPS_HOURLY_S
from paddock.storage.rollup import (
    DAY_S,
    HOUR_S,
    MINUTE_S,
    PEAK_UNIT,
    TIME_UNIT,
    FleetSpan,
    GroupSpan,
    packed,
    put,
)

DAYS: Final = 90
RUNS_AN_HOUR: Final = 6  # of each agent: ten minutes a run, one after the other, day and night


def fill(store: Store, *, agents: int, until_at: int, days: int = DAYS) -> int:
    """Each agent a group of its own, which is the most there can be. How many rows."""
    random = Random(agents)
    rows = 0
    for day in range(until_at - days * DAY_S, until_at, DAY_S):
        rollups = [
            *_of_fleet(day, until_at, agents, random),
            *_of_groups(day, until_at, agents, random),
        ]
        for begin in range(0, len(rollups), 2000):
            store.record(rollups[begin : begin + 2000], now_at=day)
        rows += len(rollups)
        store.record([], list(_alerts(day)), now_at=day)
    return rows


def a_minute(at: int, agents: int, random: Random) -> list[Rollup]:
    """What one batch of the daemon holds at most: with all groups."""
    fleet = packed(_fleet_span(agents, 60.0, 2, random))
    hour = at - at % HOUR_S
    found = [Rollup(MINUTE_S, at, None, fleet), Rollup(HOUR_S, hour, None, fleet)]
    for agent in range(agents):
        data = packed(_group_span(1, random))
        found += [
            Rollup(step_s, at - at % step_s, _name(agent), data) for step_s in (HOUR_S, DAY_S)
        ]
    return found


def _of_fleet(day: int, until_at: int, agents: int, random: Random) -> Iterator[Rollup]:
    for at in range(day, day + DAY_S, HOUR_S):
        yield Rollup(HOUR_S, at, None, packed(_fleet_span(agents, 3600.0, 200, random)))
    if day >= until_at - FINE_S - DAY_S:  # a day more is kept
        for at in range(day, day + DAY_S, MINUTE_S):
            yield Rollup(MINUTE_S, at, None, packed(_fleet_span(agents, 60.0, 5, random)))


def _of_groups(day: int, until_at: int, agents: int, random: Random) -> Iterator[Rollup]:
    for agent in range(agents):
        yield Rollup(DAY_S, day, _name(agent), packed(_group_span(24 * RUNS_AN_HOUR, random)))
        if day >= until_at - GROUPS_HOURLY_S - DAY_S:
            for at in range(day, day + DAY_S, HOUR_S):
                yield Rollup(HOUR_S, at, _name(agent), packed(_group_span(RUNS_AN_HOUR, random)))


def _name(agent: int) -> str:
    return f"coder-{agent:03}/payments-service/implement"


def _fleet_span(agents: int, seconds: float, runs: int, random: Random) -> FleetSpan:
    share = random.uniform(0.2, 0.9)
    span = FleetSpan(
        *(seconds, share * seconds, share * 100, seconds, int(share * GIB), 1536 * GIB),
        rungs_s={0: seconds * share, 1: seconds * (1 - share)},
        cpu_s=share * seconds,
        cpu_of_s=seconds * 192,
        cores=192,
        stall_s=share,
        agents_s=agents * seconds,
        agents_max=agents,
        most_agents=326,
        expected_s=share * agents * GIB * seconds,
        expected_max=int(share * agents * GIB),
        limits_s=4.0 * agents * GIB * seconds,
        used_s=share * agents * GIB * seconds,
        used_max=int(share * agents * GIB),
        wall_bytes=1304 * GIB,
        pressed_s=share,
        waiting_s=share,
        waiting_max=int(share * 100),
        submitted=runs,
        starts=runs,
        ends={"succeeded": runs, "failed": 1, "memory_limit_exceeded": 1},
        workspace_bytes=int(share * 500 * GIB),
        unused_bytes=int(share * GIB),
        log_bytes=int(share * GIB),
        disk_bytes=4096 * GIB,
        disk_free_bytes=int(share * 4096 * GIB),
    )
    for _ in range(runs):
        put(span.waits, random.lognormvariate(2, 1.5), TIME_UNIT)
        put(span.begins, random.lognormvariate(0, 0.5), TIME_UNIT)
    return span


def _group_span(runs: int, random: Random) -> GroupSpan:
    used = random.uniform(200, 900) * MIB
    span = GroupSpan(
        *(600.0 * runs * random.random(), used * 600 * runs, int(used * 3), used, 4.0 * GIB * runs),
        limit_bytes=4 * GIB,
        limit_max=4 * GIB,
        expected_bytes=int(used * 2),
        attempts=runs,
        ends={"succeeded": runs, "failed": 1},
    )
    for _ in range(runs):
        put(span.peaks, random.lognormvariate(0, 0.5) * GIB, PEAK_UNIT)
        ran_s = random.lognormvariate(6.4, 0.5)
        put(span.run_times, ran_s, TIME_UNIT)
        if random.random() < 0.25:
            put(span.crowded_times, ran_s, TIME_UNIT)
        put(span.waits, random.lognormvariate(2, 1.5), TIME_UNIT)
    return span


def _alerts(day: int) -> Iterator[LedgerEntry]:
    """A hundred a day: more than anybody would bear with."""
    for number in range(100):
        at = day + number * 800.0
        facts = {"rung": 3.0, "killed": 1.0, "preempted": 2.0, "held_back": 17.0}
        yield LedgerEntry(
            kind="memory", subject=f"run-{number:08x}", at=at, until_at=at + 60.5, verdict="true",
            facts=facts, because="some-run-of-some-fleet is above 85% of its memory limit",
        )  # fmt: skip
