"""`paddock memory`: use per agent against its wall, and what was learned of each group."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from paddock.core.units import format_duration, format_size

from .connecting import connected
from .printing import coloured, echo_json, note, safe, terminal_width
from .tables import Cell, Column, Row, table

if TYPE_CHECKING:
    from paddock.wire.views import LearnedView, MemoryView

BAR_CELLS: Final = 20
# So many make a history (`SizingPolicy.evidence`), unless they were too short to be looked at.
MANY: Final = 10
TOO_SHORT: Final = "its limit: too little was seen"
SPREAD_CELLS: Final = 12
LEGEND: Final = (
    "time by size: from nothing at the left to the wall at the right, higher where longer"
)
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_NEAR: Final = 0.75
_CLOSE: Final = 0.9

_COLUMNS: Final = (
    Column("id"),
    Column("name", gives_way=2, least=16),
    Column("in use", right=True),
    Column("of its wall"),
    Column("wall", right=True),
    Column("most", right=True, leaves=2),
    Column("expected", right=True, leaves=1),
    Column("processes", right=True, leaves=4),
    Column("group", gives_way=3, leaves=3),
)
_LEARNED: Final = (
    Column("group", gives_way=1, least=24),
    Column("expected", right=True, gives_way=2, least=14),
    Column("most", right=True),
    Column("wall", right=True),
    Column("attempts", right=True, leaves=1),
    Column("seen for", right=True, leaves=4),
    Column("time by size", leaves=3),
    Column("last run", gives_way=3, leaves=2),
)


@click.command("memory")
@click.option("--learned", is_flag=True, help="What was learned of each group instead.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list on stdout.")
def command(learned: bool, as_json: bool) -> None:
    """Show what each agent uses against its wall, or what groups are known to need.

    \b
    Examples:
      paddock memory
      paddock memory --learned
      paddock memory --json
    """
    with connected() as client:
        views = client.learned() if learned else client.memory()
    if as_json:
        echo_json(views)
    elif not views:
        note("nothing was learned yet" if learned else "no agent is at work")
    else:
        _show(views)


def _show(views: Sequence[LearnedView] | Sequence[MemoryView]) -> None:
    from paddock.wire.views import MemoryView

    agents = [view for view in views if isinstance(view, MemoryView)]
    groups = [view for view in views if not isinstance(view, MemoryView)]
    agents.sort(key=lambda view: -view.used_bytes)
    rows = [*map(_row, agents), *map(_learned_row, groups)]
    columns = _COLUMNS if agents else _LEARNED
    lines = list(table(columns, rows, width=terminal_width(), colour=coloured(sys.stdout)))
    click.echo("\n".join(lines))
    if groups and "time by size" in lines[0] and sys.stdout.isatty():
        note(LEGEND)


def _row(view: MemoryView) -> Row:
    # Without a hard wall what counts is the soft limit, which paddock samples.
    wall = view.soft_limit_bytes or view.limit_bytes
    return (
        view.id,
        safe(view.name),
        format_size(view.used_bytes),
        _bar(view.used_bytes / wall),
        format_size(wall),
        format_size(view.peak_bytes),
        format_size(view.expected_bytes),
        "-" if view.processes is None else str(view.processes),
        safe(view.group),
    )


def _bar(share: float) -> Cell:
    cells = min(BAR_CELLS, round(share * BAR_CELLS))
    colour = "red" if share >= _CLOSE else "yellow" if share >= _NEAR else None
    return Cell(f"{'█' * cells}{'·' * (BAR_CELLS - cells)} {share:4.0%}", colour)


def _learned_row(view: LearnedView) -> Row:
    most, wall = format_size(view.peak_bytes), format_size(view.limit_bytes)
    last = safe(view.last_run or "-")
    seen_s = sum(seconds for _, seconds in view.histogram)
    seen = format_duration(seen_s) if seen_s else "-"
    evidence = (str(view.attempts), seen, _spread(view), last)
    return (safe(view.group), _expected(view), most, wall, *evidence)


def _spread(view: LearnedView) -> str:
    """From nothing to the wall in steps, each as high as the part of the time that was spent there:
    a group that stands at the left with a dot far right has bursts."""
    total = sum(seconds for _, seconds in view.histogram)
    if not total:
        return ""
    shares = [0.0] * SPREAD_CELLS
    for used, seconds in view.histogram:
        cell = min(SPREAD_CELLS - 1, int(used / view.limit_bytes * SPREAD_CELLS))
        shares[cell] += seconds / total
    return "".join(_height(share) for share in shares)


def _height(share: float) -> str:
    if share <= 0:
        return "·"
    return _BLOCKS[min(len(_BLOCKS) - 1, int(share * len(_BLOCKS)))]


def _expected(view: LearnedView) -> str:
    if view.typical_bytes is None:
        return TOO_SHORT if view.attempts >= MANY else "its limit"
    # With its limit, and has not come near it: attempts alone are no evidence for that wall.
    if view.typical_bytes >= view.limit_bytes and view.peak_bytes < _CLOSE * view.limit_bytes:
        return TOO_SHORT
    return format_size(view.typical_bytes)
