"""The past over the API: points of host and fleet, groups, the ledger. Bounded, and read in pages.

A page holds the store's thread for some milliseconds; between two of them commits come through.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable
from typing import Final

from paddock.core.pressure import Rung
from paddock.ports import LedgerEntry, Rollup
from paddock.storage.history import FINE_S, KEPT_S
from paddock.storage.rollup import (
    DAY_S,
    HOUR_S,
    MINUTE_S,
    PEAK_UNIT,
    TIME_UNIT,
    UNREADABLE,
    FleetSpan,
    GroupSpan,
    Sketch,
    edge,
    fleet_span,
    group_span,
    quantile,
)
from paddock.wire.history_views import GroupHistory, HistoryPoint, HistoryView, LedgerView

from .asking import Asked
from .desk import Desk
from .problems import bad_request
from .views_of import last_runs

STEPS: Final = (60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
MOST_POINTS: Final = 3000
USUAL_POINTS: Final = 1500
MOST_GROUPS: Final = 1000
PAGE: Final = 1000
USUAL_S: Final = 24 * 3600.0
_RUNGS: Final = {int(rung): rung.name.lower() for rung in Rung}


async def history(desk: Desk, asked: Asked) -> HistoryView:
    now_at = desk.supervisor.clock.wall_now()
    since_at, until_at = _when(asked, now_at)
    step_s = _step(asked, since_at, until_at, now_at)
    spans: dict[int, FleetSpan] = {}
    # Of an hour also the minutes that lie before `since`: a span is told whole.
    first = int(since_at // step_s * step_s)
    kept_s = MINUTE_S if step_s < HOUR_S else HOUR_S
    async for page in _pages(desk, kept_s, first, until_at):
        await desk.aside(lambda page=page: _add_up(spans, page, step_s))  # type: ignore[misc]
    points = [_point(at, span) for at, span in sorted(spans.items())]
    groups = await _groups(desk, since_at, until_at) if asked.flag("groups") else ()
    entries: Iterable[LedgerEntry] = ()
    if asked.flag("ledger"):
        entries = await desk.supervisor.look(lambda store: store.ledger(since_at=since_at))
    return HistoryView(
        since_at=first,
        until_at=until_at,
        step_s=step_s,
        points=tuple(points),
        groups=tuple(groups),
        ledger=tuple(_ledger_view(entry) for entry in entries if entry.at < until_at),
    )


# -- what was asked -----------------------------------------------------------------------------


def _when(asked: Asked, now_at: float) -> tuple[float, float]:
    # Nothing is kept of what is still to come; a day for a clock that was set back.
    until_at = min(_time(asked, "until", now_at), now_at + DAY_S)
    since_at = max(_time(asked, "since", until_at - USUAL_S), now_at - KEPT_S - DAY_S)
    if since_at >= until_at:
        raise bad_request("since: allowed: a time before until (seconds since 1970)")
    return since_at, until_at


def _time(asked: Asked, name: str, usual: float) -> float:
    found = asked.moment(name)
    return usual if found is None else found


def _step(asked: Asked, since_at: float, until_at: float, now_at: float) -> int:
    """As fine as is kept and as fits an answer, unless one is asked for."""
    length_s = until_at - since_at
    wanted = asked.whole("step")
    if wanted is None:
        coarse = since_at < now_at - FINE_S
        fit = [step for step in STEPS if length_s / step <= USUAL_POINTS]
        return next(step for step in fit if step >= HOUR_S or not coarse)
    if wanted not in STEPS:
        raise bad_request(f"step: found {wanted}; allowed: {', '.join(map(str, STEPS))}")
    if length_s / wanted > MOST_POINTS:
        least = next(step for step in STEPS if length_s / step <= MOST_POINTS)
        raise bad_request(f"step: found {wanted}; allowed for so long a time: {least} or more")
    return wanted


# -- reading ------------------------------------------------------------------------------------


async def _pages(
    desk: Desk, step_s: int, since_at: float, until_at: float
) -> AsyncIterator[tuple[Rollup, ...]]:
    last = (int(since_at) - 1, "\U0010ffff")
    while True:
        here = last
        page = await desk.supervisor.look(
            lambda store, here=here: store.rollups(  # type: ignore[misc]
                step_s, since=here, until_at=until_at, limit=PAGE
            )
        )
        if page:
            yield page
        if len(page) < PAGE:
            return
        last = (page[-1].at, page[-1].group or "")


def _add_up(spans: dict[int, FleetSpan], page: Iterable[Rollup], step_s: int) -> None:
    for rollup in page:
        if rollup.group is None:
            at = rollup.at // step_s * step_s
            with contextlib.suppress(*UNREADABLE):  # a row that rotted is a gap
                spans.setdefault(at, FleetSpan()).add(fleet_span(rollup.data))


async def _groups(desk: Desk, since_at: float, until_at: float) -> list[GroupHistory]:
    """By days: of the first one all of it."""
    known: dict[str, tuple[GroupSpan, list[int]]] = {}

    def add(page: Iterable[Rollup]) -> None:
        for rollup in page:
            if rollup.group is not None:
                with contextlib.suppress(*UNREADABLE):
                    found = group_span(rollup.data)
                    span, days = known.setdefault(rollup.group, (GroupSpan(), []))
                    span.add(found)
                    days.append(rollup.at)

    async for page in _pages(desk, DAY_S, since_at // DAY_S * DAY_S, until_at):
        await desk.aside(lambda page=page: add(page))  # type: ignore[misc]
    largest = sorted(known.items(), key=lambda item: item[1][0].limits_s, reverse=True)
    runs = last_runs(desk.supervisor.fleet)
    return [
        _group(name, span, days, last_run=runs.get(name))
        for name, (span, days) in largest[:MOST_GROUPS]
    ]


# -- views --------------------------------------------------------------------------------------


def _point(at: int, span: FleetSpan) -> HistoryPoint:
    seen = span.seconds
    return HistoryPoint(
        at=at,
        seconds=round(seen, 3),
        memory_percent=_mean(span.used_percent_s, span.readable_s),
        memory_percent_max=span.used_percent_max if span.readable_s else None,
        available_min_bytes=span.available_min,
        total_bytes=span.total_bytes,
        cpu_percent=_mean(100 * span.cpu_s, span.cpu_of_s),
        cores=span.cores,
        stall_percent=_mean(span.stall_s, span.readable_s),
        ladder=_RUNGS[span.rung_max],
        ladder_s={_RUNGS[rung]: round(s, 3) for rung, s in sorted(span.rungs_s.items()) if s},
        agents=_mean(span.agents_s, seen),
        agents_max=span.agents_max,
        most_agents=span.most_agents,
        used_bytes=_mean(span.used_s, seen),
        used_max_bytes=span.used_max,
        expected_bytes=_mean(span.expected_s, seen),
        expected_max_bytes=span.expected_max,
        limits_bytes=_mean(span.limits_s, seen),
        wall_bytes=span.wall_bytes,
        pressed_s=round(span.pressed_s, 3),
        frozen_s=round(span.frozen_s, 3),
        waiting=_mean(span.waiting_s, seen),
        waiting_max=span.waiting_max,
        submitted=span.submitted,
        starts=span.starts,
        ends=span.ends,
        preemptions=span.preemptions,
        ooms=span.ooms,
        fleet_ooms=span.fleet_ooms,
        freezes=span.freezes,
        quota_refusals=span.quota_refusals,
        wait_p50_s=quantile(span.waits, 0.5, TIME_UNIT),
        wait_p95_s=quantile(span.waits, 0.95, TIME_UNIT),
        start_p95_s=quantile(span.begins, 0.95, TIME_UNIT),
        workspace_bytes=span.workspace_bytes,
        unused_workspace_bytes=span.unused_bytes,
        log_bytes=span.log_bytes,
        disk_bytes=span.disk_bytes,
        disk_free_bytes=span.disk_free_bytes,
    )


def _group(name: str, span: GroupSpan, days: list[int], *, last_run: str | None) -> GroupHistory:
    return GroupHistory(
        group=name,
        days=len(days),
        first_at=days[0],
        last_at=days[-1],
        agent_s=round(span.seconds, 3),
        used_bytes=_mean(span.used_s, span.seconds),
        used_max_bytes=span.used_max,
        expected_bytes=_mean(span.expected_s, span.seconds),
        limits_bytes=_mean(span.limits_s, span.seconds),
        limit_bytes=span.limit_bytes,
        limit_max_bytes=span.limit_max,
        attempts=span.attempts,
        ends=span.ends,
        preemptions=span.preemptions,
        ooms=span.ooms,
        fleet_ooms=span.fleet_ooms,
        frozen_s=round(span.frozen_s, 3),
        peaks=_values(span.peaks, PEAK_UNIT),
        run_times=_values(span.run_times, TIME_UNIT),
        waits=_values(span.waits, TIME_UNIT),
        crowded_run_times=_values(span.crowded_times, TIME_UNIT),
        last_run=last_run,
    )


def _values(sketch: Sketch, unit: float) -> tuple[tuple[float, int], ...]:
    return tuple((round(edge(index, unit), 2), count) for index, count in sorted(sketch.items()))


def _mean(total: float, seconds: float) -> float | None:
    return round(total / seconds, 3) if seconds > 0 else None


def _ledger_view(entry: LedgerEntry) -> LedgerView:
    return LedgerView(
        kind=entry.kind,
        subject=entry.subject,
        at=entry.at,
        until_at=entry.until_at,
        verdict=entry.verdict,
        facts=dict(entry.facts),
        because=entry.because,
    )
