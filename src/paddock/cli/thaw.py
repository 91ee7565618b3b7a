"""`paddock thaw`: let a frozen run go on."""

from __future__ import annotations

import click

from .completing import complete_run
from .connecting import connected
from .printing import echo_steered


@click.command("thaw")
@click.option("--json", "as_json", is_flag=True, help="The run as one JSON object on stdout.")
@click.argument("run", metavar="RUN", shell_complete=complete_run)
def command(run: str, as_json: bool) -> None:
    """Let a frozen run go on where it was.

    \b
    Example:
      paddock thaw review
    """
    with connected() as client:
        view = client.thaw(run)
    echo_steered(view, as_json=as_json)
