"""Runs as a table: for `ls`, and for the progress of a fleet."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from paddock.core.units import format_duration, format_size

from .printing import colour_of, safe
from .tables import Cell, Column, Row, table

if TYPE_CHECKING:
    from paddock.wire.views import RunView

_COLUMNS: Final = (
    Column("id"),
    Column("name", gives_way=1),
    Column("state"),
    Column("priority"),
    Column("attempt", right=True),
    Column("memory", right=True),
    Column("age", right=True),
    Column("why", gives_way=2),
)


def runs_table(
    runs: Iterable[RunView], *, width: int | None, colour: bool, now: float | None = None
) -> Iterator[str]:
    now = time.time() if now is None else now
    rows = [_row(run, now) for run in runs]
    return table(_COLUMNS, rows, width=width, colour=colour)


def state_cell(run: RunView) -> Cell:
    word = run.outcome or run.state
    frozen = " (frozen)" if run.frozen else ""
    return Cell(word + frozen, colour_of(word))


def memory_text(run: RunView) -> str:
    """In use of its wall; of one that has ended, the most it used."""
    limit = format_size(run.limit_bytes)
    used = run.peak_bytes if run.state == "ended" else run.memory_bytes
    return limit if used is None else f"{format_size(used)} / {limit}"


def ago(at: float | None, now: float) -> str:
    return "-" if at is None else format_duration(max(0.0, now - at))


def why_text(run: RunView) -> str:
    if run.state == "ended":
        return safe(run.because or "")
    return safe(run.waits_for or run.sentence)


def _row(run: RunView, now: float) -> Row:
    return (
        run.id,
        safe(run.name),
        state_cell(run),
        run.priority,
        str(run.attempt),
        memory_text(run),
        ago(run.submitted_at, now),
        why_text(run),
    )
