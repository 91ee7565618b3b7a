"""Plots as SVG text: curves over time, a grid with its verdicts, samples of a figure. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Final

from .report import Cell, Curve, Figure

WIDTH: Final = 720
HEIGHT: Final = 240
LEFT: Final = 64  # for the numbers of the upright axis
BELOW: Final = 28
MOST_POINTS: Final = 600  # of a curve: as many as there are pixels to tell them apart
COLOURS: Final = 8  # classes c0 … c7 of the page's style


def _seconds(at: float) -> str:
    return f"{number(at)} s"


def curves(
    curves: Sequence[Curve],
    *,
    along: Callable[[float], str] = _seconds,
    band: Sequence[tuple[float, float, float]] = (),
) -> str:
    """All in one plot, with a line each; a band of (time, low, high) round the last of them."""
    drawn = [curve for curve in curves if curve.points]
    if not drawn:
        return ""
    last_s = max(curve.points[-1][0] for curve in drawn) or 1.0
    values = [value for curve in drawn for _, value in curve.points]
    top = nice_top(max([*values, *(high for _, _, high in band)]))
    parts = [*_axes(top, last_s, drawn[0].unit, along)]
    if band:
        edges = [(at, high) for at, _, high in band] + [(at, low) for at, low, _ in band[::-1]]
        corners = " ".join(f"{_x(at / last_s):.1f},{_y(value / top):.1f}" for at, value in edges)
        parts.append(f'<polygon class="c{(len(drawn) - 1) % COLOURS}" points="{corners}"/>')
    for number, curve in enumerate(drawn):
        points = " ".join(
            f"{_x(at / last_s):.1f},{_y(value / top):.1f}" for at, value in thinned(curve.points)
        )
        title = f"<title>{escape(curve.name)}</title>"
        parts.append(f'<g>{title}<polyline class="c{number % COLOURS}" points="{points}"/></g>')
    return _svg(parts, HEIGHT) + _legend([curve.name for curve in drawn])


def grid(cells: Sequence[Cell], figure: str) -> str:
    """A heat map of one figure, as a table: it can be read without colours, and aloud."""
    rows = list(dict.fromkeys(cell.row for cell in cells))
    columns = list(dict.fromkeys(cell.column for cell in cells))
    known = {(cell.row, cell.column): cell for cell in cells}
    found = [one.middle for cell in cells for one in cell.figures if one.name == figure]
    most = max((value for value in found if math.isfinite(value)), default=0.0) or 1.0
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(row)}</th>'
        + "".join(_field(known.get((row, column)), figure, most) for column in columns)
        + "</tr>"
        for row in rows
    )
    caption = f"<caption>{escape(figure)}</caption>"
    return f'<table class="grid">{caption}<tr><td></td>{head}</tr>{body}</table>'


def _field(cell: Cell | None, figure: str, most: float) -> str:
    if cell is None:
        return "<td></td>"
    if cell.skipped is not None:
        return f'<td class="skipped" title="{escape(cell.skipped)}">skipped</td>'
    one = next((one for one in cell.figures if one.name == figure), None)
    if one is None or not math.isfinite(one.middle):
        return "<td>–</td>"
    share = min(max(one.middle / most, 0.0), 1.0)
    shown = f"{number(one.middle)} {escape(one.unit)}".strip()
    return f'<td style="--heat:{share:.2f}" title="{escape(cell.verdict)}">{shown}</td>'


def samples(figure: Figure) -> str:
    """A dot a sample and a line at the middle, from zero."""
    if not figure.samples:
        return ""
    top = nice_top(max(figure.samples))
    width, height = 200, 16
    dots = "".join(
        f'<circle cx="{max(value, 0) / top * width:.1f}" cy="{height / 2}" r="3"/>'
        for value in figure.samples
    )
    middle = max(figure.middle, 0) / top * width
    line = f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="0" y2="{height}"/>'
    box = f'viewBox="-4 0 {width + 8} {height}" width="{width + 8}" height="{height}"'
    told = f'role="img" aria-label="{len(figure.samples)} samples"'
    return f'<svg class="samples" {box} {told}>{dots}{line}</svg>'


# -- parts --------------------------------------------------------------------------------------


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Fewer, but never without the highest: peaks are what memory is judged by."""
    if len(points) <= MOST_POINTS:
        return list(points)
    size = len(points) / (MOST_POINTS // 2)
    found: list[tuple[float, float]] = []
    for block in range(MOST_POINTS // 2):
        part = points[round(block * size) : round((block + 1) * size)]
        low, high = min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])
        found += sorted({low, high})
    return found


def nice_top(most: float) -> float:
    """The next of 1, 2, 5, 10 … that holds it."""
    if not math.isfinite(most) or most <= 0:
        return 1.0
    ten = 10.0 ** math.floor(math.log10(most))
    return next(step * ten for step in (1, 2, 5, 10) if step * ten >= most * 0.999)


def number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - 8)


def _y(share: float) -> float:
    return (HEIGHT - BELOW) * (1 - share) + 8 * share


def _axes(top: float, last_s: float, unit: str, along: Callable[[float], str]) -> list[str]:
    parts = []
    for quarter in range(5):
        share = quarter / 4
        y = _y(share)
        parts.append(f'<line class="rule" x1="{LEFT}" x2="{WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="up">{number(top * share)}</text>'
        )
        x, at = _x(share), along(last_s * share)
        where = "up" if quarter == 4 else "along"  # the last would be cut off
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 8}" class="{where}">{escape(at)}</text>')
    parts.append(f'<text x="4" y="14" class="unit">{escape(unit)}</text>')
    return parts


def _svg(parts: Sequence[str], height: int) -> str:
    return f'<svg class="plot" viewBox="0 0 {WIDTH} {height}" role="img">{"".join(parts)}</svg>'


def _legend(names: Sequence[str]) -> str:
    if len(names) < 2:
        return ""
    entries = "".join(
        f'<li><span class="key c{i % COLOURS}"></span>{escape(name)}</li>'
        for i, name in enumerate(names)
    )
    return f'<ul class="legend">{entries}</ul>'
