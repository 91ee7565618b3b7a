"""The capacity report as data: from paddock's own history to use, forecast, sizes, cost, scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from paddock.cluster.tiers import Tier
from paddock.core.units import GIB
from paddock.observe.forecast import Forecast, forecast, reached
from paddock.observe.scorecard import Known, Score, scorecard
from paddock.observe.sizing_advice import Advice, GroupUse, advise
from paddock.observe.tier_advice import TierAdvice, advise_tiers
from paddock.wire.history_views import GroupHistory, HistoryPoint, HistoryView

LEAST_SEEN_S: Final = 1800.0  # of a day: less says little of it
HOUR_S: Final = 3600.0
MONTH_H: Final = 30 * 24.0
LEAST_RATE_H: Final = 24.0  # seen: less is no rate that a month could be reckoned with


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    memory_gib_hour: float = 0.0
    core_hour: float = 0.0
    currency: str = "EUR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What was, over all of the time."""

    seen_h: float
    days: int
    agents: float | None
    agents_max: int
    used_bytes: float | None
    used_max_bytes: int
    memory_percent_max: float | None
    cpu_percent: float | None
    waiting_max: int
    wait_p95_s: float | None  # of the worst span
    starts: int
    ends: dict[str, int]
    ooms: int
    preemptions: int
    freezes: int
    pressed_h: float  # with the ladder above calm
    disk_used_bytes: int | None
    workspace_bytes: int | None
    log_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    what: str  # agents, memory, disk
    unit: str
    limit: float | None
    limit_by: str
    known: tuple[tuple[str, float], ...]  # date, value
    forecast: Forecast
    days: tuple[tuple[str, float, float, float], ...]  # date, expected, low, high
    reached_on: str | None = None  # by what is expected
    reachable_on: str | None = None  # the first day on which it may be, within the interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    currency: str
    reserved_gib_hours: float
    used_gib_hours: float
    core_hours: float | None
    reserved: float
    used: float
    cores: float | None
    seen_h: float
    month: float | None  # at this rate, for 30 days; None: too little was seen to say
    saving_gib_hours: float | None  # had the advice been taken; None: there is none yet
    saving: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    made_at: float
    since_at: float
    until_at: float
    first_at: float | None  # the beginning of what is known; None: nothing is
    use: Use
    forecast: tuple[Foretold, ...]
    sizing: tuple[Advice, ...]
    tiers: tuple[TierAdvice, ...]  # the same, by role, for a cluster
    saving_share: float | None  # of the reserved memory, by the advice
    cost: Cost | None
    scorecard: tuple[Score, ...]


def build(
    past: HistoryView,
    *,
    horizon_days: int,
    prices: Prices,
    now_at: float,
    own_tiers: Sequence[Tier] = (),
) -> Report:
    uses = [_use_of(group) for group in past.groups]
    advice = tuple(advise(use) for use in uses)
    held = sum((group.limits_bytes or 0.0) * group.agent_s for group in past.groups)
    saving = sum(one.saving_byte_s for one in advice)
    judged = any(one.change != "unknown" for one in advice)
    share = saving / held if held and judged else None
    told = _foretell(past.points, horizon_days, now_at)
    return Report(
        made_at=now_at,
        since_at=past.since_at,
        until_at=past.until_at,
        first_at=past.points[0].at if past.points else None,
        use=_use(past.points),
        forecast=told,
        sizing=advice,
        tiers=advise_tiers(uses, own_tiers),
        saving_share=share,
        cost=_cost(past.points, prices, saving if judged else None),
        scorecard=scorecard(
            Known(
                points=past.points,
                ledger=past.ledger,
                groups=past.groups,
                forecasts={one.what: one.forecast.because or len(one.days) for one in told},
                possible_saving=share,
            )
        ),
    )


# -- what was -------------------------------------------------------------------------------------


def _use(points: Sequence[HistoryPoint]) -> Use:
    ends: dict[str, int] = {}
    for point in points:
        for outcome, count in point.ends.items():
            ends[outcome] = ends.get(outcome, 0) + count
    pressed_s = sum(point.seconds - point.ladder_s.get("calm", point.seconds) for point in points)
    return Use(
        seen_h=round(sum(point.seconds for point in points) / HOUR_S, 2),
        days=len({_day(point.at) for point in points}),
        agents=_mean(points, lambda point: point.agents),
        agents_max=max((point.agents_max for point in points), default=0),
        used_bytes=_mean(points, lambda point: point.used_bytes),
        used_max_bytes=max((point.used_max_bytes for point in points), default=0),
        memory_percent_max=max(_given(point.memory_percent_max for point in points), default=None),
        cpu_percent=_mean(points, lambda point: point.cpu_percent),
        waiting_max=max((point.waiting_max for point in points), default=0),
        wait_p95_s=max(_given(point.wait_p95_s for point in points), default=None),
        starts=sum(point.starts for point in points),
        ends=ends,
        ooms=sum(point.ooms + point.fleet_ooms for point in points),
        preemptions=sum(point.preemptions for point in points),
        freezes=sum(point.freezes for point in points),
        pressed_h=round(pressed_s / HOUR_S, 2),
        disk_used_bytes=_last(_disk_used(point) for point in points),
        workspace_bytes=_last(point.workspace_bytes for point in points),
        log_bytes=_last(point.log_bytes for point in points),
    )


def _given(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _last(values: Iterable[int | None]) -> int | None:
    found = None
    for value in values:
        found = value if value is not None else found
    return found


def _mean(
    points: Iterable[HistoryPoint], of: Callable[[HistoryPoint], float | None]
) -> float | None:
    known = [(value, point.seconds) for point in points if (value := of(point)) is not None]
    seconds = sum(weight for _, weight in known)
    return sum(value * weight for value, weight in known) / seconds if seconds else None


def _disk_used(point: HistoryPoint) -> int | None:
    if point.disk_bytes is None or point.disk_free_bytes is None:
        return None
    return point.disk_bytes - point.disk_free_bytes


# -- what may come --------------------------------------------------------------------------------


def _foretell(points: Sequence[HistoryPoint], horizon: int, now_at: float) -> tuple[Foretold, ...]:
    allowed = _last(point.most_agents for point in points)
    wall = _last(point.wall_bytes for point in points)
    disk = _last(point.disk_bytes for point in points)
    rows: tuple[tuple[str, str, Callable[[HistoryPoint], float | None], float | None, str], ...] = (
        ("agents", "at once", lambda p: float(p.agents_max), allowed, "allowed at once"),
        ("memory", "bytes", lambda p: float(p.used_max_bytes), wall, "fleet's wall"),
        ("disk", "bytes", _disk_used, disk, "size of the disk"),
    )
    return tuple(
        _foretold(points, of, horizon=horizon, now_at=now_at, about=(what, unit, limit, by))
        for what, unit, of, limit, by in rows
    )


def _foretold(
    points: Sequence[HistoryPoint],
    of: Callable[[HistoryPoint], float | None],
    *,
    horizon: int,
    now_at: float,
    about: tuple[str, str, float | None, str],
) -> Foretold:
    what, unit, limit, by = about
    known = daily(points, of, before_at=now_at)
    found = forecast(known, horizon=horizon)
    expected, possible = (None, None) if limit is None else reached(found, limit)
    return Foretold(
        what=what,
        unit=unit,
        limit=limit,
        limit_by=by,
        known=tuple((_date(day), value) for day, value in known.items()),
        forecast=found,
        days=tuple((_date(d.day), d.expected, d.low, d.high) for d in found.days),
        reached_on=None if expected is None else _date(expected),
        reachable_on=None if possible is None else _date(possible),
    )


def daily(
    points: Iterable[HistoryPoint],
    of: Callable[[HistoryPoint], float | None],
    *,
    before_at: float,
) -> dict[int, float]:
    """The highest of each day that is over, by the local calendar."""
    seen: dict[int, float] = {}
    highest: dict[int, float] = {}
    today = _day(before_at)
    for point in points:
        day, value = _day(point.at), of(point)
        if value is None or day >= today:
            continue
        seen[day] = seen.get(day, 0.0) + point.seconds
        highest[day] = max(highest.get(day, 0.0), value)
    return {day: highest[day] for day in sorted(highest) if seen[day] >= LEAST_SEEN_S}


def _day(at: float) -> int:
    return date(*time.localtime(at)[:3]).toordinal()


def _date(day: int) -> str:
    return date.fromordinal(day).isoformat()


# -- what it costs --------------------------------------------------------------------------------


def _use_of(group: GroupHistory) -> GroupUse:
    return GroupUse(
        group=group.group,
        days=group.days,
        attempts=group.attempts,
        ooms=group.ooms,
        agent_s=group.agent_s,
        limit_bytes=group.limit_bytes,
        limits_bytes=group.limits_bytes,
        peaks=group.peaks,
        last_run=group.last_run,
    )


def _cost(
    points: Sequence[HistoryPoint], prices: Prices, saving_byte_s: float | None
) -> Cost | None:
    if not (prices.memory_gib_hour or prices.core_hour):
        return None
    hours = sum(point.seconds for point in points) / HOUR_S
    reserved = sum((p.limits_bytes or 0.0) * p.seconds for p in points) / GIB / HOUR_S
    used = sum((p.used_bytes or 0.0) * p.seconds for p in points) / GIB / HOUR_S
    busy = [p for p in points if p.cpu_percent is not None and p.cores is not None]
    cores = sum((p.cpu_percent or 0.0) / 100 * (p.cores or 0) * p.seconds for p in busy) / HOUR_S
    known = cores if busy else None
    spent = reserved * prices.memory_gib_hour + (known or 0.0) * prices.core_hour
    saved = None if saving_byte_s is None else saving_byte_s / GIB / HOUR_S
    return Cost(
        currency=prices.currency,
        seen_h=round(hours, 2),
        reserved_gib_hours=round(reserved, 3),
        used_gib_hours=round(used, 3),
        core_hours=None if known is None else round(known, 3),
        reserved=round(reserved * prices.memory_gib_hour, 2),
        used=round(used * prices.memory_gib_hour, 2),
        cores=None if known is None else round(known * prices.core_hour, 2),
        month=round(spent / hours * MONTH_H, 2) if hours >= LEAST_RATE_H else None,
        saving_gib_hours=None if saved is None else round(saved, 3),
        saving=None if saved is None else round(saved * prices.memory_gib_hour, 2),
    )
