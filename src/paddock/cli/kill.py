"""`paddock kill`: stop runs, and heartbeats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from .completing import complete_run
from .connecting import connected
from .exits import CommandError
from .printing import echo_json, note, safe

if TYPE_CHECKING:
    from paddock.client import Client
    from paddock.wire.views import Killed


@click.command("kill")
@click.option("--force", is_flag=True, help="At once: SIGKILL, without asking first.")
@click.option("--all", "everything", is_flag=True, help="Every run that has not ended.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("runs", metavar="[RUN…]", nargs=-1, shell_complete=complete_run)
def command(runs: tuple[str, ...], force: bool, everything: bool, as_json: bool) -> None:
    """Stop runs: SIGTERM, and SIGKILL for whatever is left ten seconds later.

    Also what they started, wherever it hides. The name of a heartbeat ends the heartbeat.
    Does not wait for the end: paddock wait does.

    \b
    Examples:
      paddock kill review
      paddock kill --force 3f2a 91bc
      paddock kill --all
    """
    if bool(runs) == everything:
        raise CommandError("which runs? Name them, or say --all; not both")
    with connected() as client:
        killed = client.kill(runs, all=everything, force=force)
        over = [] if len(killed.runs) >= len(runs) else _already_ended(client, runs, killed)
    for name in over:
        note(f"{name} has already ended")
    if as_json:
        echo_json(killed)
        return
    for run in killed.runs:
        click.echo(safe(run))
    for name in killed.heartbeats:
        click.echo(f"{safe(name)} (heartbeat)")
    if not killed.runs and not killed.heartbeats and not over:
        note("nothing to kill")


def _already_ended(client: Client, refs: Sequence[str], killed: Killed) -> list[str]:
    """No mistake: what was wanted is so."""
    found = [client.run(ref) for ref in refs if ref not in killed.heartbeats]
    return [run.name for run in found if run.id not in killed.runs]
