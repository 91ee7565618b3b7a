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
    from collections.abc import Iterable

    from paddock.client import Client
    from paddock.wire.views import BreakerView, RunView


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
    Interrupted it leaves the runs alone. A run that a breaker holds up is told once, on stderr.

    \b
    Examples:
      paddock wait review test
      paddock wait --timeout 10m $(paddock submit -- make test)
      paddock wait --fleet payments-refactor
    """
    if bool(runs) == (fleet is not None):
        raise CommandError("which runs? Name them, or say --fleet NAME; not both")
    breakers = Breakers()
    ids = _ids(runs, fleet, breakers)
    found = _until_ended(ids, timeout_s, breakers)
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


class Breakers:
    """Says which runs a breaker holds up, once for each group: one of them is told, not fifty."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def tell(self, client: Client, views: Iterable[RunView]) -> None:
        waiting = [view for view in views if view.place is not None and view.state == "queued"]
        if all(view.group in self._told for view in waiting):
            return
        known = {breaker.group: breaker for breaker in client.breakers()}
        for view in waiting:
            breaker = known.get(view.group)
            if view.group not in self._told and breaker is not None and _holds(breaker):
                self._told.add(view.group)
                note(f"{view.name} is queued: {view.waits_for or view.sentence}")


def _holds(breaker: BreakerView) -> bool:
    return breaker.state == "open" or (breaker.state == "half_open" and breaker.probe is not None)


def _ids(runs: tuple[str, ...], fleet: str | None, breakers: Breakers) -> list[str]:
    with connected() as client:
        if fleet is not None:
            views = list(client.wait(fleet=fleet, timeout_s=0.0))
        else:
            views = [client.run(run) for run in runs]
        breakers.tell(client, views)
        return list(dict.fromkeys(view.id for view in views))


def _until_ended(ids: list[str], timeout_s: float | None, breakers: Breakers) -> dict[str, RunView]:
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
                daemon.ask(lambda client: breakers.tell(client, views))  # noqa: B023
    except ClientError as error:
        raise explained(error) from error
