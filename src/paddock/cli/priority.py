"""`paddock priority`: move a run up or down the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .completing import complete_run
from .connecting import connected
from .printing import echo_steered
from .run_options import PRIORITIES

if TYPE_CHECKING:
    from paddock.wire.run_request import PriorityWord


@click.command("priority")
@click.option("--json", "as_json", is_flag=True, help="The run as one JSON object on stdout.")
@click.argument("run", metavar="RUN", shell_complete=complete_run)
@click.argument("priority", metavar="PRIORITY", type=click.Choice(PRIORITIES))
def command(run: str, priority: PriorityWord, as_json: bool) -> None:
    """Give a run another priority: critical, high, normal or low.

    \b
    Example:
      paddock priority review high
    """
    with connected() as client:
        view = client.priority(run, priority)
    echo_steered(view, as_json=as_json, now=f" is {view.priority} now")
