"""The end of a fleet: a table of how each run ended, and below it why where one did not succeed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from paddock.core.units import format_duration, format_size

from .ends import short_word, with_reason
from .printing import counted, safe
from .runs_table import state_cell
from .tables import Column, Row, fold, table

if TYPE_CHECKING:
    from paddock.wire.views import MoveView, RunView

    from .fleet_watch import Watched

MOST_ROWS: Final = 100
_COLUMNS: Final = (
    Column("name", gives_way=1, least=16),
    Column("outcome"),
    Column("exit", right=True),
    Column("tries", right=True, leaves=2),
    Column("time", right=True),
    Column("peak", right=True, leaves=1),
)
_INDENT: Final = "  "


def summary(watched: Watched, *, width: int | None, colour: bool) -> Iterator[str]:
    """All of a small fleet; of a large one what did not succeed, which is what people look for."""
    runs = watched.runs
    if len(runs) > MOST_ROWS:
        runs = [run for run in runs if run.outcome != "succeeded"]
    rows = [_row(run, watched.stories.get(run.id, ())) for run in runs[:MOST_ROWS]]
    if rows:
        yield from table(_COLUMNS, rows, width=width, colour=colour)
        yield ""
    reasons = [line for run in runs[:MOST_ROWS] for line in _reason(run, width)]
    if reasons:
        yield from reasons
        yield ""
    if len(runs) > MOST_ROWS:
        yield f"… and {len(runs) - MOST_ROWS} more that did not succeed: paddock ls --all"
    yield from fold(_total(watched), width)


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
        str(run.tries or run.attempt),
        "-" if time_s is None else format_duration(time_s),
        "-" if run.peak_bytes is None else format_size(run.peak_bytes),
    )


def _exit(run: RunView) -> str:
    if run.exit_code is not None:
        return str(run.exit_code)
    # Of one that paddock ended the signal says nothing: the outcome does.
    return f"signal {run.signal}" if run.signal is not None and run.outcome == "failed" else "-"


def _reason(run: RunView, width: int | None) -> Iterator[str]:
    """`hog: memory_limit_exceeded: used …; paddock logs hog`."""
    if run.outcome in (None, "succeeded"):
        return
    # One that never had a process has written nothing.
    more = f"; paddock logs {run.name}" if run.attempt else ""
    room = None if width is None else width - len(_INDENT)
    first, *rest = fold(safe(f"{run.name}: {with_reason(run)}{more}"), room)
    yield first
    yield from (_INDENT + line for line in rest)


def _total(watched: Watched) -> str:
    counts = Counter(map(short_word, watched.runs))
    words = ", ".join(f"{number} {word}" for word, number in counts.most_common())
    took = format_duration(watched.took_s)
    return f"{counted(len(watched.runs), 'run')} in {took}: {words}"
