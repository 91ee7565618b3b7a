"""Runs as a table: for `ls`, and for the progress of a fleet."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from paddock.core.units import format_duration, format_size

from .ends import short_word
from .printing import colour_of, safe
from .tables import Cell, Column, Row, table

if TYPE_CHECKING:
    from paddock.wire.views import RunView

_COLUMNS: Final = (
    Column("id"),
    Column("name", gives_way=1, least=16),
    Column("state"),
    Column("priority", leaves=2),
    Column("tries", right=True, leaves=3),
    Column("memory", right=True, leaves=1),
    Column("age", right=True),
    Column("why", gives_way=2, least=16),
)
_STOPPING: Final = re.compile(r"^stopping \(\w+\): ")
_SAID_ALREADY: Final = re.compile(r"^(?:at (place \d+) in the queue|stopping \((\w+)\))(?=:|$)")


def runs_table(
    runs: Iterable[RunView], *, width: int | None, colour: bool, now: float | None = None
) -> Iterator[str]:
    now = time.time() if now is None else now
    rows = [_row(run, now) for run in runs]
    return table(_COLUMNS, rows, width=width, colour=colour)


def state_cell(run: RunView) -> Cell:
    frozen = " (frozen)" if run.frozen else ""
    return Cell(short_word(run) + frozen, colour_of(run.outcome or run.state))


def memory_text(run: RunView) -> str:
    """In use of its wall; of one that has ended, the most it used."""
    limit = format_size(run.limit_bytes)
    used = run.peak_bytes if run.state == "ended" else run.memory_bytes
    return limit if used is None else f"{format_size(used)} / {limit}"


def ago(at: float | None, now: float) -> str:
    """In its largest unit alone: `3 min`."""
    return "-" if at is None else " ".join(format_duration(max(0.0, now - at)).split()[:2])


def short_why(run: RunView) -> str:
    return shortened(why_text(run))


def shortened(why: str) -> str:
    """Without what is said beside it: `at place 2 in the queue: …` becomes `place 2: …`."""
    return _SAID_ALREADY.sub(r"\1\2", why)


def without_state(sentence: str) -> str:
    """`stopping (told): ran into …`, where the state is said already."""
    return _STOPPING.sub("", sentence)


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
        str(run.tries or run.attempt),
        memory_text(run),
        ago(run.submitted_at, now),
        short_why(run),
    )
