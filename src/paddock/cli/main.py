"""The `paddock` command: its table of commands, and how it ends. Does nothing by itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from paddock import __version__
from paddock.cli.exits import CommandError, ExitCode, OutputLost
from paddock.cli.lazy import Entry, LazyGroup

if TYPE_CHECKING:
    from paddock.cli.connecting import Door

# One file a command. A module here may be in a sibling room (tui): being named is not
# being imported, so the floors stay clean.
COMMANDS: Final = {
    "agent-guide": Entry("paddock.cli.agent_guide", "What an agent should know, with its limits."),
    "bench": Entry("paddock.cli.bench", "Measure agents and this machine; compare reports."),
    "breaker": Entry("paddock.cli.breaker", "Groups held back after failures; let one go."),
    "capacity": Entry("paddock.cli.capacity", "How many agents a host can safely hold."),
    "cgroup": Entry("paddock.cli.cgroup", "Walls by hand: create a cgroup, run a command in it."),
    "config": Entry("paddock.cli.config", "Settings: what is in force and why, what is wrong."),
    "daemon": Entry("paddock.cli.daemon", "The daemon: run, start, stop, status."),
    "diff": Entry("paddock.cli.diff", "What a run changed in its workspace."),
    "doctor": Entry("paddock.cli.doctor", "Which isolation this host gives, and what is missing."),
    "fleet": Entry("paddock.cli.fleet", "Submit a fleet file, watch it, sum it up."),
    "freeze": Entry("paddock.cli.freeze", "Stop a run where it is, until it is thawed."),
    "host": Entry("paddock.cli.host", "The machine: show its memory and load, prepare it."),
    "kill": Entry("paddock.cli.kill", "Stop runs and everything they started."),
    "kubernetes": Entry("paddock.cli.kubernetes", "The same fleet on a Kubernetes cluster."),
    "lease": Entry("paddock.cli.lease", "Heavy commands take turns on the whole machine."),
    "logs": Entry("paddock.cli.logs", "What a run wrote, and goes on to write."),
    "ls": Entry("paddock.cli.ls", "The runs."),
    "memory": Entry("paddock.cli.memory", "What agents use against their walls; learned sizes."),
    "observe": Entry("paddock.cli.observe", "For Prometheus and Grafana: rules, dashboard."),
    "priority": Entry("paddock.cli.priority", "Move a run up or down the queue."),
    "rehearse": Entry("paddock.cli.rehearse", "The real agent, a stand-in model: no tokens."),
    "relieve": Entry("paddock.cli.relieve", "Kill agents until memory is free; no daemon needed."),
    "report": Entry("paddock.cli.report", "Use, forecast, right-sizing, cost and scorecard."),
    "retry": Entry("paddock.cli.retry", "Run one that has ended once more."),
    "run": Entry("paddock.cli.run", "Run a command under paddock, in the foreground."),
    "simulate": Entry("paddock.cli.simulate", "What would happen: pretend agents, virtual clock."),
    "status": Entry("paddock.cli.status", "Host, ladder, fleet, queue and breakers at a glance."),
    "story": Entry("paddock.cli.story", "Everything that happened to a run."),
    "submit": Entry("paddock.cli.submit", "Queue a run, or one a line, and print ids."),
    "thaw": Entry("paddock.cli.thaw", "Let a frozen run go on."),
    "tool": Entry("paddock.cli.tool", "One command of an agent in a wall of its own."),
    "top": Entry("paddock.tui.command", "The terminal dashboard: watch the fleet, and act."),
    "wait": Entry("paddock.cli.wait", "Until runs have ended."),
    "watch": Entry("paddock.cli.watch", "Memory and its users, live; no daemon needed."),
    "web": Entry("paddock.web.command", "The dashboard in a browser, for you alone."),
    "why": Entry("paddock.cli.why", "Why a run waits, or why it died."),
    "workspace": Entry("paddock.cli.workspace", "Where runs with --repo work; clear them up."),
}
MEANT: Final = {
    "ps": "'ls'",
    "list": "'ls'",
    "cancel": "'kill'",
    "stop": "'kill' or 'daemon stop'",
    "start": "'run' or 'daemon start'",
    "help": "'--help'",
    "version": "'--version'",
}


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    meant=MEANT,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="paddock", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Run as many coding agents as this machine can safely hold.

    Example: paddock run --memory 2G -- make test
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(argv: Sequence[str] | None = None, *, door: Door | None = None) -> int:
    """Run one command and return its exit code. `door` leads to another daemon than the user's."""
    if "_PADDOCK_COMPLETE" in os.environ:
        cli.main(prog_name="paddock")
    args = list(sys.argv[1:] if argv is None else argv)
    return guarded(lambda: _run(args, door))


def guarded(command: Callable[[], int]) -> int:
    """A command's exit code; whatever it raises becomes one line and a code, not a traceback."""
    try:
        code = command()
        _flush()
    except BrokenPipeError:
        _discard(sys.stdout)
        return ExitCode.BROKEN_PIPE
    except (KeyboardInterrupt, click.Abort):
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        return _explain(error)
    except OSError as error:
        return _explain_system(error)
    except Exception as error:  # noqa: BLE001 - the last door
        return _told_by_daemon(error) or _internal_error(error)
    return code


def _run(args: list[str], door: Door | None) -> int:
    try:
        with cli.make_context("paddock", args, obj=door) as ctx:
            result = cli.invoke(ctx)
    except click.exceptions.Exit as end:
        return end.exit_code
    return result if isinstance(result, int) else ExitCode.DONE


def _explain_system(error: OSError) -> int:
    if _was_printing(error):
        _discard(sys.stdout)
        return _explain(OutputLost(error.strerror or str(error)))
    about = f"{error.filename}: " if error.filename else ""
    return _say(f"{about}{error.strerror or error}", ExitCode.BAD_USAGE)


def _was_printing(error: OSError) -> bool:
    """The error itself names no file; all that commands print goes through click's echo, and what
    was still in the buffer is flushed here."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in (click.echo.__code__, _flush.__code__):
            return True
        trace = trace.tb_next
    return False


def _flush() -> None:
    """Here and not at interpreter exit, where a reader that left would cost a traceback."""
    sys.stdout.flush()


def _explain(error: click.ClickException) -> int:
    message = error.format_message()
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(message, err=True)
        return ExitCode.BAD_USAGE
    if isinstance(error, click.UsageError):
        path = error.ctx.command_path if error.ctx else "paddock"
        stop = "" if message.endswith((".", "?")) else "."
        message = f"{message}{stop} Try: {path} --help"
    # click's own codes are left aside: its 1 would mean here that a run ended otherwise.
    code = error.code if isinstance(error, CommandError) else ExitCode.BAD_USAGE
    return _say(message, code)


def _told_by_daemon(error: Exception) -> int:
    """What a command of a sibling room (`paddock top`) was refused; 0: it is nothing of that."""
    if "paddock.client" not in sys.modules:
        return 0
    from paddock.cli.connecting import explained
    from paddock.client.errors import ClientError

    return _explain(explained(error)) if isinstance(error, ClientError) else 0


def _internal_error(error: Exception) -> int:
    if os.environ.get("PADDOCK_DEBUG"):
        raise error
    about = f"{type(error).__name__}: {error}"
    return _say(f"a bug in paddock: {about}. PADDOCK_DEBUG=1 shows where.", ExitCode.BUG)


def _say(message: str, code: int) -> int:
    try:
        click.echo(f"paddock: {' '.join(message.split())}", err=True)
    except OSError:  # stderr is full too: the code has to do
        _discard(sys.stderr)
    return code


def _discard(stream: IO[str]) -> None:
    """Point it away, so that the interpreter's own flush at exit is quiet too."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())
