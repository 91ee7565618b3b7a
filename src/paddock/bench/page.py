"""A report as one HTML file: no script, nothing fetched, light and dark, printable. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterable
from html import escape
from typing import Final

from paddock.core.units import format_size

from . import plots
from .report import Cell, Figure, Report

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2024; --dim: #6b7280; --rule: #d8dce2; --back: #fff;
  --heat-hue: 205; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --dim: #9aa3ad; --rule: #343a42;
  --back: #15181c; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.machine, .dim { color: var(--dim); font-size: .9rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; border-bottom: 1px solid var(--rule); text-align: right; }
th[scope=row], caption { text-align: left; } caption { color: var(--dim); padding-bottom: .3rem; }
td.text, th.text { text-align: left; } .grids { display: flex; flex-wrap: wrap; gap: 0 2.5rem; }
.grid td { border: 1px solid var(--back);
  background: hsl(var(--heat-hue) 70% 50% / calc(var(--heat, 0) * .6)); }
.grid td.skipped { color: var(--dim); background: none; font-style: italic; }
svg.plot { width: 100%; height: auto; } svg text { font-size: 11px; fill: var(--dim); }
svg .up { text-anchor: end; } svg .along { text-anchor: middle; }
svg .rule { stroke: var(--rule); } svg polyline { fill: none; stroke-width: 1.5; }
svg.samples circle { fill: #2f7ed8; opacity: .6; } svg.samples line { stroke: var(--ink); }
.legend { list-style: none; padding: 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem; }
.key { display: inline-block; width: .9rem; height: .25rem; margin-right: .4rem;
  vertical-align: middle; }
"""
_COLOURS: Final = (
    *("#2f7ed8", "#d9822b", "#2ca25f", "#c0392b", "#8e5ea2"),
    *("#7a6a4f", "#d35fb7", "#5d6d7e"),
)


def page(report: Report) -> str:
    made = time.strftime("%Y-%m-%d %H:%M", time.localtime(report.made_at))
    parts = [
        f"<h1>{escape(report.kind)}</h1>",
        f'<p class="machine">{made} · paddock {escape(report.paddock)} · {_machine(report)}</p>',
        _verdicts(report.verdicts),
        _table(report.figures),
        plots.curves(report.curves),
        *_grids(report.cells),
        *map(_cell, report.cells),
        _settings(report),
    ]
    return document(f"{report.kind} {made}", parts)


def document(title: str, parts: Iterable[str]) -> str:
    """Parts of a body in the one style; also of other reports than benchmarks'."""
    colours = "".join(
        f"polyline.c{i} {{ stroke: {colour}; }} .key.c{i} {{ background: {colour}; }}\n"
        f"polygon.c{i} {{ fill: {colour}; opacity: .18; }}\n"
        for i, colour in enumerate(_COLOURS)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}{colours}</style></head>\n"
        f"<body>{''.join(part for part in parts if part)}</body></html>\n"
    )


def _machine(report: Report) -> str:
    known = report.machine
    memory = known.get("memory_bytes")
    size = format_size(int(memory)) if isinstance(memory, int | float) else "?"
    words = (f"{known.get('cores')} cores", size, known.get("processor"), known.get("kernel"))
    return escape(" · ".join(str(word) for word in words if word))


def _verdicts(verdicts: Iterable[str]) -> str:
    found = "".join(f"<li>{escape(verdict)}</li>" for verdict in verdicts)
    return f"<ul>{found}</ul>" if found else ""


def _table(figures: Iterable[Figure]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(one.name)}</th><td>{plots.number(one.middle)}</td>'
        f'<td class="text">{escape(one.unit)}</td><td class="text">{plots.samples(one)}</td></tr>'
        for one in figures
        if one.samples
    )
    head = '<tr><td></td><th scope="col">middle</th><td></td><td class="text dim">samples</td></tr>'
    return f"<table>{head}{rows}</table>" if rows else ""


def _grids(cells: tuple[Cell, ...]) -> list[str]:
    names = dict.fromkeys(figure.name for cell in cells for figure in cell.figures)
    found = "".join(plots.grid(cells, name) for name in names)
    return [f'<div class="grids">{found}</div>'] if found else []


def _cell(cell: Cell) -> str:
    if not cell.curves and not cell.verdict:
        return ""
    verdict = f"<p>{escape(cell.verdict)}</p>" if cell.verdict else ""
    title = f"<h2>{escape(cell.row)} × {escape(cell.column)}</h2>"
    return f"{title}{verdict}{plots.curves(cell.curves)}"


def _settings(report: Report) -> str:
    said = ", ".join(f"{name} {value}" for name, value in report.settings.items())
    return f'<p class="dim">Settings: {escape(said)}</p>' if said else ""
