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
    from paddock.wire.views import MoveView, StepView

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
        view = None if as_json else client.run(run)
        steps = client.steps(run) if view and view.steps else ()
    if as_json:
        echo_json(moves)
        return
    outcome = (view and view.outcome) or "over"
    befores = (None, *moves)
    rows = [_row(*each, outcome=outcome) for each in zip(moves, befores, strict=False)]
    lines = table(_COLUMNS, rows, width=terminal_width(), colour=coloured(sys.stdout))
    click.echo("\n".join(lines))
    for step in steps:
        click.echo(_kept_of(step))


def _kept_of(step: StepView) -> str:
    digest = (step.output_digest or "").partition(":")[2][:12]
    facts = [f"attempt {step.attempt}", f"exit code {step.exit_code}"]
    facts += [f"output {digest}"] if digest else []
    facts += [f"workspace at {step.commit[:12]}"] if step.commit else []
    return (
        f"step {step.step}, {safe(step.name)}: done at {clock_time(step.at)} ({', '.join(facts)})"
    )


def _row(move: MoveView, before: MoveView | None, *, outcome: str) -> Row:
    more = f" (and {move.moves - 1} moves more, not kept)" if move.moves > 1 else ""
    state = Cell(safe(move.state), colour_of(move.state) if move.state != "ended" else None)
    because = _because(move, before, outcome=outcome)
    return (clock_time(move.at), state, str(move.attempt or "-"), safe(because) + more)


def _because(move: MoveView, before: MoveView | None, *, outcome: str) -> str:
    """A stop has one reason, which is not said again at each of its steps."""
    if before is None or (before.state, before.because) != ("stopping", move.because):
        return move.because
    if move.state == "stopping":
        return "it is still there: pressed harder"
    return outcome if move.state == "ended" else move.because
