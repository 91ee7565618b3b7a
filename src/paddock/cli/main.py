"""The `paddock` command: its table of commands, and how it ends. Does nothing by itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import click

from paddock import __version__
from paddock.cli.exits import CommandError, ExitCode
from paddock.cli.lazy import Entry, LazyGroup

# One file a command. A module here may be in a sibling room (tui, bench): being named is not
# being imported, so the floors stay clean.
COMMANDS: Final = {
    "capacity": Entry("paddock.cli.capacity", "How many agents a host can safely hold."),
    "config": Entry("paddock.cli.config", "Settings: what is in force and why, what is wrong."),
    "simulate": Entry("paddock.cli.simulate", "What would happen: pretend agents, virtual clock."),
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="paddock", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run as many coding agents as this machine can safely hold.

    Example: paddock capacity --ram 64G --per-agent 4G
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    if "_PADDOCK_COMPLETE" in os.environ:
        cli.main(prog_name="paddock")
    args = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _run(args))


def guarded(command: Callable[[], int]) -> int:
    """A command's exit code; whatever it raises becomes one line and a code, not a traceback."""
    try:
        code = command()
        # Here and not at interpreter exit, where a reader that left would cost a traceback.
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return ExitCode.BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        return _explain(error)
    except OSError as error:
        about = f"{error.filename}: " if error.filename else ""
        return _say(f"{about}{error.strerror or error}", ExitCode.BAD_USAGE)
    except Exception as error:  # noqa: BLE001 - the last door
        return _internal_error(error)
    return code


def _run(args: list[str]) -> int:
    try:
        with cli.make_context("paddock", args) as ctx:
            result = cli.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    return result if isinstance(result, int) else ExitCode.DONE


def _explain(error: click.ClickException) -> int:
    message = error.format_message()
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "paddock"
        stop = "" if message.endswith((".", "?")) else "."
        message = f"{message}{stop} Try: {path} --help"
    # click's own codes are left aside: its 1 would mean here that a run ended otherwise.
    code = error.code if isinstance(error, CommandError) else ExitCode.BAD_USAGE
    return _say(message, code)


def _internal_error(error: Exception) -> int:
    if os.environ.get("PADDOCK_DEBUG"):
        raise error
    about = f"{type(error).__name__}: {error}"
    return _say(f"a bug in paddock: {about}. PADDOCK_DEBUG=1 shows where.", ExitCode.BUG)


def _say(message: str, code: int) -> int:
    click.echo(f"paddock: {' '.join(message.split())}", err=True)
    return code


def _discard_output() -> None:
    """Point stdout away, so that the interpreter's own flush at exit is quiet too."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
