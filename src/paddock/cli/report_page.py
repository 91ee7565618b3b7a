"""The capacity report as one HTML file, with plots; in the style of the benchmarks' pages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from html import escape
from typing import Final

from paddock.bench.page import document
from paddock.bench.plots import curves
from paddock.bench.report import Curve
from paddock.core.units import GIB, format_size
from paddock.wire.history_views import HistoryPoint, HistoryView

from .group_names import readable
from .report_text import (
    NOT_KNOWN,
    cost_lines,
    foretold,
    limit_sentence,
    saved,
    saving,
    score_row,
    size,
    span,
)
from .reporting import Foretold, Report

LEAST_POINTS: Final = 5  # in time: fewer make no plot


def page(report: Report, past: HistoryView) -> str:
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(report.made_at))
    seen = f"{span(report)[:1].lower()}{span(report)[1:]} · seen {report.use.seen_h:g} h"
    parts = [
        "<h1>Capacity report</h1>",
        f'<p class="machine">{made} · {seen}</p>',
        *_use(past),
        *(part for told in report.forecast for part in _forecast(told)),
        *_sizing(report),
        *_cost(report),
        *_scores(report),
    ]
    return document(f"Capacity report {made}", parts)


def _use(past: HistoryView) -> Iterable[str]:
    points = past.points
    if not points:
        yield "<p>Nothing was recorded in this time.</p>"
        return
    begin, along = points[0].at, _clock(points[0].at)
    gib = [("in use", _bytes_of("used_bytes")), ("counted with", _bytes_of("expected_bytes"))]
    gib += [("all limits", _bytes_of("limits_bytes"))]
    plots: Sequence[tuple[str, str, list[tuple[str, Callable[[HistoryPoint], float | None]]]]] = (
        ("Agents", "agents", [("at work", lambda p: p.agents), ("waiting", lambda p: p.waiting)]),
        ("Memory of the agents", "GiB", gib),
        (
            "The host",
            "%",
            [("memory", lambda p: p.memory_percent), ("cores", lambda p: p.cpu_percent)],
        ),
        (
            "Disk",
            "GiB",
            [("workspaces", _bytes_of("workspace_bytes")), ("logs", _bytes_of("log_bytes"))],
        ),
    )
    if len(points) < LEAST_POINTS:
        yield "<p>There is too little history yet for plots: it is written once a minute.</p>"
        return
    for title, unit, series in plots:
        drawn = [_curve(name, unit, points, of, begin) for name, of in series]
        if any(curve.points for curve in drawn):
            yield f"<h2>{escape(title)}</h2>{curves(drawn, along=along)}"


def _bytes_of(name: str) -> Callable[[HistoryPoint], float | None]:
    def of(point: HistoryPoint) -> float | None:
        value: float | None = getattr(point, name)
        return None if value is None else value / GIB

    return of


def _curve(
    name: str,
    unit: str,
    points: Iterable[HistoryPoint],
    of: Callable[[HistoryPoint], float | None],
    begin: float,
) -> Curve:
    known = [(point.at - begin, value) for point in points if (value := of(point)) is not None]
    return Curve(name=name, unit=unit, points=tuple(known))


def _clock(begin: float) -> Callable[[float], str]:
    return lambda at: time.strftime("%b %d %H:%M", time.localtime(begin + at))


def _forecast(told: Foretold) -> Iterable[str]:
    yield f"<h2>Forecast: {escape(told.what)}</h2>"
    if not told.days:
        yield f"<p>None: {escape(told.forecast.because)}.</p>"
        return
    scale = GIB if told.unit == "bytes" else 1.0
    begin = date.fromisoformat(told.known[0][0]).toordinal()

    def x(day: str) -> float:
        return float(date.fromisoformat(day).toordinal() - begin)

    unit = "GiB" if told.unit == "bytes" else "agents"
    seen = Curve(name="seen", unit=unit, points=tuple((x(d), v / scale) for d, v in told.known))
    coming = tuple((x(day), middle / scale) for day, middle, _, _ in told.days)
    band = [(x(day), low / scale, high / scale) for day, _, low, high in told.days]
    expected = Curve(name="expected, with the 90 % interval", unit=unit, points=coming)
    yield curves(
        [seen, expected],
        along=lambda day: date.fromordinal(begin + round(day)).isoformat(),
        band=band,
    )
    first, *_ = foretold(told)
    yield f"<p>{escape(first)} {escape(limit_sentence(told))}</p>"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col" class="text">{escape(word)}</th>' for word in head)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f'<td class="text">{escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{top}</tr>{body}</table>"


def _sizing(report: Report) -> Iterable[str]:
    if not report.sizing:
        return
    yield "<h2>Right-sizing</h2>"
    rows = [
        (
            readable(one.group, one.last_run),
            size(one.limit_now_bytes),
            NOT_KNOWN if one.limit_bytes is None else format_size(one.limit_bytes),
            size(one.request_bytes),
            saved(one),
            one.confidence,
            one.because,
        )
        for one in report.sizing
    ]
    head = ("group", "limit now", "advised", "request", "saves", "confidence", "because")
    yield _table(head, rows)
    yield f"<p>{escape(saving(report))}</p>"


def _cost(report: Report) -> Iterable[str]:
    if report.cost is not None:
        yield "<h2>Cost</h2>"
        yield "".join(f"<p>{escape(line)}</p>" for line in cost_lines(report.cost))


def _scores(report: Report) -> Iterable[str]:
    yield "<h2>Scorecard</h2>"
    rows = [[str(cell) for cell in score_row(report, n)] for n in range(len(report.scorecard))]
    yield _table(("metric", "target", "stands at", "", "from"), rows)
