"""The table at the end of a fleet: how each run ended, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from paddock.core.units import format_duration, format_size

from .printing import safe
from .runs_table import state_cell, why_text
from .tables import Column, Row, table

if TYPE_CHECKING:
    from paddock.wire.views import MoveView, RunView

    from .fleet_watch import Watched

MOST_ROWS: Final = 100
_COLUMNS: Final = (
    Column("name", gives_way=1),
    Column("outcome"),
    Column("exit", right=True),
    Column("attempts", right=True),
    Column("time", right=True),
    Column("peak", right=True),
    Column("why", gives_way=2),
)


def summary(watched: Watched, *, width: int | None, colour: bool) -> Iterator[str]:
    """All of a small fleet; of a large one what did not succeed, which is what people look for."""
    runs = watched.runs
    if len(runs) > MOST_ROWS:
        runs = [run for run in runs if run.outcome != "succeeded"]
    rows = [_row(run, watched.stories.get(run.id, ())) for run in runs[:MOST_ROWS]]
    if rows:
        yield from table(_COLUMNS, rows, width=width, colour=colour)
        yield ""
    if len(runs) > MOST_ROWS:
        yield f"… and {len(runs) - MOST_ROWS} more that did not succeed: paddock ls --all"
    yield _total(watched)


def ran_s(moves: Sequence[MoveView]) -> float | None:
    """The time in which it had a process, over all attempts."""
    total, since, ran = 0.0, None, False
    for move in moves:
        alive = move.state in ("starting", "running", "stopping")
        if alive and since is None:
            since, ran = move.at, True
        elif not alive and since is not None:
            total, since = total + move.at - since, None
    return total if ran else None


def _row(run: RunView, moves: Sequence[MoveView]) -> Row:
    time_s = ran_s(moves)
    return (
        safe(run.name),
        state_cell(run),
        _exit(run),
        str(run.attempt),
        "-" if time_s is None else format_duration(time_s),
        "-" if run.peak_bytes is None else format_size(run.peak_bytes),
        why_text(run),
    )


def _exit(run: RunView) -> str:
    if run.exit_code is not None:
        return str(run.exit_code)
    signal = run.signal
    return "-" if signal is None else f"signal {signal}"


def _total(watched: Watched) -> str:
    counts = Counter(run.outcome or run.state for run in watched.runs)
    words = ", ".join(f"{number} {word}" for word, number in counts.most_common())
    return f"{len(watched.runs)} runs in {format_duration(watched.took_s)}: {words}"
