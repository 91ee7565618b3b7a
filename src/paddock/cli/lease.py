"""`paddock lease`: heavy commands take turns on the whole machine. Needs no daemon."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from paddock.tool.errors import CannotRun, LeaseRefused
from paddock.tool.leases import MOST_SLOTS, all_held, as_object, check_name, take

from .completing import complete_command
from .exits import CommandError, ExitCode
from .params import DURATION
from .printing import echo_json, note, safe

if TYPE_CHECKING:
    from paddock.tool.leases import Holder


@click.command("lease")
@click.option(
    "--slots",
    type=click.IntRange(1, MOST_SLOTS),
    default=1,
    show_default=True,
    help="So many at a time; the same for everybody who takes this lease.",
)
@click.option("--wait", type=DURATION, default="10m", show_default=True, help="At most so long.")
@click.option("--json", "as_json", is_flag=True, help="Who holds what, as JSON; without a command.")
@click.argument("name", required=False)
@click.argument(
    "command_",
    metavar="-- CMD…",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=complete_command,
)
def command(
    name: str | None, command_: tuple[str, ...], slots: int, wait: float, as_json: bool
) -> int:
    """Run a command while nobody else on this machine holds the lease NAME.

    Who comes first is first. While it waits, stderr says who holds the lease. It ends with the
    process that waits for the command, also by SIGKILL. Without a command: who holds what.

    Ends with the command's own code, 3 when --wait was over, 126 not executable, 127 not found.

    \b
    Examples:
      paddock lease build -- cargo build --release
      paddock lease tests --slots 2 --wait 30m -- pytest
      paddock lease --json
    """
    problem = None if name is None else check_name(name)
    if problem:
        raise CommandError(problem)
    try:
        if name is None or not command_:
            return _show(name, as_json=as_json)
        if as_json:
            raise CommandError("--json is for looking: leave the command out, or --json")
        return _run(name, command_, slots=slots, wait_s=wait)
    except LeaseRefused as error:
        raise CommandError(str(error), ExitCode.REFUSED) from error


def _run(name: str, argv: tuple[str, ...], *, slots: int, wait_s: float) -> int:
    from paddock.tool.waiting import Command, find_program, run

    try:
        program = find_program(argv[0], os.environ.get("PATH", os.defpath))
        lease = take(name, slots=slots, wait_s=wait_s, say=note)
        try:
            return run(Command(argv, lease.environment(dict(os.environ)), program))
        finally:
            lease.close()
    except CannotRun as error:
        raise CommandError(str(error), ExitCode(error.code)) from error


def _show(name: str | None, *, as_json: bool) -> int:
    held = all_held()
    if name is not None:
        held = {name: held.get(name, [])}
    if as_json:
        echo_json(as_object(held))
        return ExitCode.DONE
    for one, holders in held.items():
        click.echo(f"{one}: {_holders(holders)}")
    if not held:
        click.echo("no lease is held on this machine")
    return ExitCode.DONE


def _holders(holders: list[Holder]) -> str:
    return safe(", ".join(map(str, holders))) or "free"
