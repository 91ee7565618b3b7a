"""`paddock ls`: the runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from .connecting import connected
from .ends import OUTCOMES, SHORT
from .exits import CommandError, ExitCode
from .printing import coloured, echo_json, note, safe, terminal_width

if TYPE_CHECKING:
    from paddock.wire.views import RunView, StateWord

STATES: Final = ("queued", "starting", "running", "frozen", "stopping", "ended")
# As the daemon has them (api.looking): of the ended unless a limit says otherwise, and of all.
ENDED_LISTED: Final = 1000
MOST_LISTED: Final = 100_000
_LONG: Final = {short: word for word, short in SHORT.items()}


class StateType(click.Choice[str]):
    """A state; somebody who asks for an outcome is told how."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if str(value) in (*OUTCOMES, *_LONG):
            self.fail(f"{value!r} is an outcome, not a state; say --outcome {value}", param, ctx)
        return super().convert(value, param, ctx)


@click.command("ls")
@click.option("--state", type=StateType(STATES), help="Only those in this state.")
@click.option(
    "--outcome",
    metavar="WORD",
    type=click.Choice([*OUTCOMES, *_LONG]),
    help="Only those that ended so, as in --outcome failed.",
)
@click.option("--all", "with_ended", is_flag=True, help="Also those that have ended.")
@click.option("--fleet", metavar="NAME", help="Only those that came with a fleet of this name.")
@click.option("--limit", type=click.IntRange(1, MOST_LISTED), help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list on stdout.")
def command(
    state: StateWord | Literal["frozen"] | None,
    outcome: str | None,
    with_ended: bool,
    fleet: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List the runs that have not ended; with --all also those that have.

    Of those that have ended the newest 1,000 are looked at, or as many as --limit says.

    \b
    Examples:
      paddock ls
      paddock ls --state queued
      paddock ls --outcome failed
      paddock ls --all --fleet payments-refactor
      paddock ls --all --json | jq '.[] | select(.exit_code == 3) | .name'
    """
    with_ended = with_ended or state == "ended" or outcome is not None
    with connected() as client:
        if state == "frozen":  # one that runs, to the daemon
            runs = [run for run in client.runs(state="running", fleet=fleet) if run.frozen][:limit]
        else:
            runs = client.runs(state=state, all=with_ended, fleet=fleet, limit=limit)
        if fleet is not None and not runs and not client.runs(all=True, fleet=fleet, limit=1):
            raise CommandError(
                f"no run came with a fleet {safe(fleet)!r}; `paddock ls --all` lists all runs",
                ExitCode.NOT_FOUND,
            )
    cut_at = _cut_at(runs, limit)
    if outcome is not None:
        wanted = _LONG.get(outcome, outcome)
        runs = [run for run in runs if run.outcome == wanted]
    if as_json:
        echo_json(runs)
    elif runs:
        _show(runs)
    else:
        among_all = with_ended or state is not None
        note(_none(fleet, among_all=among_all, chosen=bool(outcome or state or fleet)))
    if cut_at is not None:
        note(f"the newest {cut_at:,} of more; --limit shows more")


def _cut_at(runs: Sequence[RunView], limit: int | None) -> int | None:
    """Where the list stops short, as far as one can tell: exactly as many as were asked for."""
    if limit is not None:
        return limit if len(runs) >= limit else None
    ended = sum(run.state == "ended" for run in runs)
    return ENDED_LISTED if ended >= ENDED_LISTED else None


def _none(fleet: str | None, *, among_all: bool, chosen: bool) -> str:
    if among_all:
        return "no such runs" if chosen else "no runs"
    of = "" if fleet is None else f" of the fleet {safe(fleet)}"
    return f"no runs{of} that have not ended (--all shows the others)"


def _show(runs: Sequence[RunView]) -> None:
    from .runs_table import runs_table

    colour = coloured(sys.stdout)
    click.echo("\n".join(runs_table(runs, width=terminal_width(), colour=colour)))
