"""`paddock story`: everything that happened to a run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

import click

from .completing import complete_any_run
from .connecting import connected
from .printing import clock_time, colour_of, coloured, echo_json, safe, terminal_width
from .tables import Cell, Column, Row, table

if TYPE_CHECKING:
    from paddock.wire.views import MoveView

_COLUMNS: Final = (
    Column("at"),
    Column("state"),
    Column("attempt", right=True),
    Column("because", gives_way=1),
)


@click.command("story")
@click.option("--json", "as_json", is_flag=True, help="A JSON list on stdout.")
@click.argument("run", metavar="RUN", shell_complete=complete_any_run)
def command(run: str, as_json: bool) -> None:
    """Tell everything that happened to a run, from its submission on.

    \b
    Examples:
      paddock story review
      paddock story review --json | jq '.[].state'
    """
    with connected() as client:
        moves = client.story(run)
    if as_json:
        echo_json(moves)
        return
    rows = [_row(move) for move in moves]
    lines = table(_COLUMNS, rows, width=terminal_width(), colour=coloured(sys.stdout))
    click.echo("\n".join(lines))


def _row(move: MoveView) -> Row:
    more = f" (and {move.moves - 1} moves more, not kept)" if move.moves > 1 else ""
    state = Cell(safe(move.state), colour_of(move.state) if move.state != "ended" else None)
    return (clock_time(move.at), state, str(move.attempt or "-"), safe(move.because) + more)
