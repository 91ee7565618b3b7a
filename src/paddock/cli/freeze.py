"""`paddock freeze`: stop a run where it is, in memory, until it is thawed."""

from __future__ import annotations

import click

from .completing import complete_run
from .connecting import connected
from .printing import echo_steered


@click.command("freeze")
@click.option("--json", "as_json", is_flag=True, help="The run as one JSON object on stdout.")
@click.argument("run", metavar="RUN", shell_complete=complete_run)
def command(run: str, as_json: bool) -> None:
    """Stop a run where it is. It keeps its memory, and its time stands still.

    \b
    Example:
      paddock freeze review
    """
    with connected() as client:
        view = client.freeze(run)
    echo_steered(view, as_json=as_json)
