"""`paddock breaker`: which groups are held back after failures, and how to let them go."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from paddock.core.units import format_duration

from .connecting import connected
from .printing import coloured, echo_json, note, safe, terminal_width
from .tables import Cell, Column, Row, table

if TYPE_CHECKING:
    from paddock.wire.views import BreakerView

_COLUMNS = (
    Column("group", gives_way=1),
    Column("breaker"),
    Column("failures", right=True),
    Column("one may try", right=True),
    Column("probe"),
    Column("last run", gives_way=2, leaves=1),
)
_COLOURS = {"open": "red", "half_open": "yellow", "closed": "green"}


@click.group("breaker", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="A JSON list on stdout.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show the groups that failed of late and their breakers; `reset GROUP` closes one.

    A group (agent, project, role; --group names one) that fails again and again starts nothing
    for a while, and then one run as a probe. Failures that no longer count are not shown.

    \b
    Examples:
      paddock breaker
      paddock breaker reset claude/payments/review
    """
    if ctx.invoked_subcommand is not None:
        return
    with connected() as client:
        views = client.breakers()
    if as_json:
        echo_json(views)
    elif not views:
        note("no group has failed of late")
    else:
        rows = [_row(view) for view in views]
        lines = table(_COLUMNS, rows, width=terminal_width(), colour=coloured(sys.stdout))
        click.echo("\n".join(lines))


@command.command("reset")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("group", metavar="GROUP")
def reset(group: str, as_json: bool) -> None:
    """Close the breaker of a group: its runs may start again.

    \b
    Example:
      paddock breaker reset claude/payments/review
    """
    with connected() as client:
        view = client.reset_breaker(group)
    if as_json:
        echo_json(view)
    else:
        click.echo(f"the breaker of {safe(view.group)} is {view.state.replace('_', ' ')}")


def _row(view: BreakerView) -> Row:
    left = "-" if view.retry_in_s is None else f"in {format_duration(max(0.0, view.retry_in_s))}"
    state = Cell(view.state.replace("_", " "), _COLOURS[view.state])
    probe, last = safe(view.probe or "-"), safe(view.last_run or "-")
    return (safe(view.group), state, str(view.failures), left, probe, last)
