"""`paddock tool`: one command of an agent inside a memory wall of its own. Needs no daemon."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from paddock.tool.errors import CannotRun, LeaseRefused
from paddock.tool.running import DEFAULT_SHARE, Ask, Size, run_tool

from .completing import complete_command
from .exits import CommandError, ExitCode
from .params import AGENT_SIZE
from .printing import echo_json

if TYPE_CHECKING:
    from paddock.tool.running import End

STDERR: Final = 2


class WallType(click.ParamType[Size]):
    """`2G`, or `75%` of the agent's wall."""

    name = "size|percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Size:
        if isinstance(value, Size):
            return value
        text = str(value).strip()
        if not text.endswith("%"):
            return Size(amount_bytes=AGENT_SIZE.convert(text, param, ctx))
        try:
            percent = float(text[:-1])
        except ValueError:
            percent = 0.0
        if not 1 <= percent <= 100:
            self.fail(f"{text!r} is not from 1% to 100%", param, ctx)
        return Size(percent=percent)


@click.command("tool", context_settings={"allow_interspersed_args": False})
@click.option(
    "--memory",
    type=WallType(),
    default=f"{DEFAULT_SHARE}%",
    show_default=True,
    help="Its wall: a size, or a share of the agent's.",
)
@click.option("--lease", metavar="NAME", help="Wait for this host-wide lease first.")
@click.option("-v", "--verbose", is_flag=True, help="Say so where there is no wall.")
@click.option(
    "--json", "as_json", is_flag=True, help="Its end as JSON on stdout; output on stderr."
)
@click.argument(
    "command_",
    metavar="-- CMD…",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    shell_complete=complete_command,
)
def command(
    command_: tuple[str, ...], memory: Size, lease: str | None, verbose: bool, as_json: bool
) -> int:
    """Run one command in a memory wall of its own, inside an agent.

    Over its wall the command dies alone, with everything it started, and stderr says what happened
    and what to try. Worker counts are lowered where all cores' workers would not fit. Outside an
    agent, or where the host has no walls, the command simply runs.

    Ends with the command's own code, 137 when its wall stopped it, 3 when its lease was not free,
    126 not executable, 127 not found, 128+n signal n.

    \b
    Examples:
      paddock tool -- pytest -n auto
      paddock tool --memory 2G -- cargo build
      paddock tool --memory 50% --lease build --json -- make -j8
    """
    ask = Ask(command_, memory)
    ask.lease = _checked(lease)
    ask.verbose = verbose or sys.stderr.isatty()
    ask.stdout = STDERR if as_json else None
    try:
        end = run_tool(ask)
    except CannotRun as error:
        raise CommandError(str(error), ExitCode(error.code)) from error
    except LeaseRefused as error:
        raise CommandError(str(error), ExitCode.REFUSED) from error
    _report(end, ask.argv, as_json=as_json)
    return end.code


def _checked(lease: str | None) -> str | None:
    from paddock.tool.leases import check_name

    problem = None if lease is None else check_name(lease)
    if problem:
        raise CommandError(f"--lease: {problem}")
    return lease


def _report(end: End, argv: list[str], *, as_json: bool) -> None:
    if not end.stopped and not as_json:
        return
    from paddock.tool.advice import as_object, explain

    if end.stopped:
        click.echo(explain(end, argv, os.environ), err=True, nl=False)
    if as_json:
        echo_json(as_object(end, argv, os.environ))
