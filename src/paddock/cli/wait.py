"""`paddock wait`: until runs have ended; for scripts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from .completing import complete_any_run
from .connecting import connected, door, explained
from .ends import code_of_all, in_words
from .exits import CommandError, ExitCode
from .params import DURATION
from .printing import echo_json, note
from .staying import ASK_S, Staying

if TYPE_CHECKING:
    from paddock.wire.views import RunView


@click.command("wait")
@click.option("--timeout", "timeout_s", type=DURATION, help="Give up after this time, with exit 1.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list of the runs as they are then.")
@click.option("--fleet", metavar="NAME", help="The runs of the newest fleet of this name.")
@click.argument("runs", metavar="[RUN…]", nargs=-1, shell_complete=complete_any_run)
def command(
    runs: tuple[str, ...], timeout_s: float | None, fleet: str | None, as_json: bool
) -> int:
    """Wait until runs have ended: 0 if all succeeded, 1 otherwise.

    The runs are chosen now: one of the same name that is submitted later is not waited for. Of a
    fleet (--fleet) also those count that have ended already, and of one that was retried the last.
    Interrupted it leaves the runs alone.

    \b
    Examples:
      paddock wait review test
      paddock wait --timeout 10m $(paddock submit -- make test)
      paddock wait --fleet payments-refactor
    """
    if bool(runs) == (fleet is not None):
        raise CommandError("which runs? Name them, or say --fleet NAME; not both")
    ids = _ids(runs, fleet)
    found = _until_ended(ids, timeout_s)
    if as_json:
        echo_json([found[run] for run in ids])
    late = [run.name for run in found.values() if run.state != "ended"]
    if late:
        note(f"not ended in time: {', '.join(late)}")
        return ExitCode.ENDED_OTHERWISE
    for run in found.values():
        if run.outcome != "succeeded":
            note(f"{run.name} ended: {in_words(run)}")
    return code_of_all(found.values())


def _ids(runs: tuple[str, ...], fleet: str | None) -> list[str]:
    with connected() as client:
        if fleet is not None:
            return [run.id for run in client.wait(fleet=fleet, timeout_s=0.0)]
        return list(dict.fromkeys(client.run(run).id for run in runs))


def _until_ended(ids: list[str], timeout_s: float | None) -> dict[str, RunView]:
    from paddock.client.errors import ClientError

    until = None if timeout_s is None else time.monotonic() + timeout_s
    found: dict[str, RunView] = {}
    try:
        with Staying(door()) as daemon:
            while True:
                left_s = ASK_S if until is None else min(ASK_S, until - time.monotonic())
                asked, within_s = tuple(ids), max(0.0, left_s)
                views = daemon.ask(lambda client: client.wait(asked, timeout_s=within_s))  # noqa: B023
                found |= {view.id: view for view in views}
                if all(view.state == "ended" for view in views) or left_s <= 0:
                    return found
    except ClientError as error:
        raise explained(error) from error
