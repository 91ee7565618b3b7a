"""`paddock ls`: the runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from .connecting import connected
from .printing import coloured, echo_json, note, terminal_width

if TYPE_CHECKING:
    from paddock.wire.views import StateWord

STATES = ("queued", "starting", "running", "stopping", "ended")


@click.command("ls")
@click.option("--state", type=click.Choice(STATES), help="Only those in this state.")
@click.option("--all", "with_ended", is_flag=True, help="Also those that have ended.")
@click.option("--limit", type=click.IntRange(1, 1_000_000), help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list on stdout.")
def command(state: StateWord | None, with_ended: bool, limit: int | None, as_json: bool) -> None:
    """List the runs that have not ended; with --all also those that have.

    \b
    Examples:
      paddock ls
      paddock ls --state queued
      paddock ls --all --json | jq '.[] | select(.outcome == "failed") | .name'
    """
    with_ended = with_ended or state == "ended"
    with connected() as client:
        runs = client.runs(state=state, all=with_ended, limit=limit)
    if as_json:
        echo_json(runs)
        return
    if not runs:
        note("no runs" if with_ended else "no runs that have not ended (--all shows the others)")
        return
    from .runs_table import runs_table

    colour = coloured(sys.stdout)
    click.echo("\n".join(runs_table(runs, width=terminal_width(), colour=colour)))
