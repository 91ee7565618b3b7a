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
    from paddock.client.story import story_of

    told = story_of(moves, view.outcome if view else None)
    rows = [_row(move, because) for move, because in zip(moves, told, strict=True)]
    lines = table(_COLUMNS, rows, width=terminal_width(), colour=coloured(sys.stdout))
    click.echo("\n".join(lines))
    for step in steps:
        click.echo(_kept_of(step))


def _kept_of(step: StepView) -> str:
    digest = (step.output_digest or "").partition(":")[2][:12]
    facts = [f"attempt {step.attempt}", f"exit code {step.exit_code}"]
    facts += [f"output {digest}"] if digest else []
    facts += [f"workspace at {step.commit[:12]}"] if step.commit else []
    where = f" in the run {step.run}" if step.run else ""
    done = f"step {step.step}, {safe(step.name)}: done{where} at {clock_time(step.at)}"
    return f"{done} ({', '.join(facts)})"


def _row(move: MoveView, because: str) -> Row:
    state = Cell(safe(move.state), colour_of(move.state) if move.state != "ended" else None)
    return (clock_time(move.at), state, str(move.attempt or "-"), safe(because))
