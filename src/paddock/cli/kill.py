"""`paddock kill`: stop runs, and heartbeats; without the daemon where it does not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from .completing import complete_run
from .connecting import connected, door, open_client
from .exits import CommandError, ExitCode
from .printing import echo_json, note, safe

if TYPE_CHECKING:
    from paddock.client import Client
    from paddock.wire.views import Killed


@click.command("kill")
@click.option("--force", is_flag=True, help="At once: SIGKILL, without asking first.")
@click.option("--all", "everything", is_flag=True, help="Every run that has not ended.")
@click.option("--fleet", metavar="NAME", help="All that came with the fleet of this name.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("runs", metavar="[RUN…]", nargs=-1, shell_complete=complete_run)
def command(
    runs: tuple[str, ...], force: bool, everything: bool, fleet: str | None, as_json: bool
) -> int:
    """Stop runs: SIGTERM, and SIGKILL for whatever is left ten seconds later.

    Also what they started, wherever it hides. The name of a heartbeat ends the heartbeat, that of
    a fleet (--fleet) all of its runs and heartbeats.
    Does not wait for the end: paddock wait does. If the daemon is dead or does not answer within
    two seconds, agents are killed without it, and that is waited for. --all --force makes sure of
    it in any case, also of what was put into cgroups by hand.

    \b
    Examples:
      paddock kill review
      paddock kill --force 3f2a 91bc
      paddock kill --fleet payments-refactor
      paddock kill --all --force
    """
    if bool(runs) + everything + (fleet is not None) != 1:
        raise CommandError("which runs? Name them, or say --fleet or --all; one of these")
    which: dict[str, Any] = {"all": everything, "fleet": fleet, "force": force}
    # Only the daemon knows who came with which fleet; and agents of another one may be anywhere.
    if fleet is not None or door() is not open_client:
        return _by_daemon(runs, which, as_json=as_json)
    from .kill_directly import directly, make_sure

    ended = directly(runs, force=force, as_json=as_json)
    if ended is not None:
        return ended
    code = _by_daemon(runs, which, as_json=as_json)
    return make_sure() if everything and force else code


def _by_daemon(runs: tuple[str, ...], which: Mapping[str, Any], *, as_json: bool) -> int:
    with connected() as client:
        killed = client.kill(runs, **which)
        over = [] if len(killed.runs) >= len(runs) else _already_ended(client, runs, killed)
    for name in over:
        note(f"{name} has already ended")
    if as_json:
        echo_json(killed)
        return ExitCode.DONE
    for run in killed.runs:
        click.echo(safe(run))
    for name in killed.heartbeats:
        click.echo(f"{safe(name)} (heartbeat)")
    if not killed.runs and not killed.heartbeats and not over:
        note("nothing to kill")
    return ExitCode.DONE


def _already_ended(client: Client, refs: Sequence[str], killed: Killed) -> list[str]:
    """No mistake: what was wanted is so."""
    found = [client.run(ref) for ref in refs if ref not in killed.heartbeats]
    return [run.name for run in found if run.id not in killed.runs]
