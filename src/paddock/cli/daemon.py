"""`paddock daemon`: run, start, stop and look at the daemon, which otherwise starts by itself."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from paddock.core.units import format_duration

from .connecting import connected
from .exits import CommandError, ExitCode
from .lazy import Entry, LazyGroup
from .live_line import meanwhile
from .printing import counted, echo_json, note, safe

if TYPE_CHECKING:
    from paddock.wire.views import DaemonView

HERE: Final = "paddock.cli.daemon"
# `run` lives with the daemon, which the command line may name and not import.
TABLE: Final = {
    "run": Entry("paddock.daemon.main", "Be the daemon, in the foreground."),
    "start": Entry(HERE, "Start it in the background, unless it runs.", "start"),
    "stop": Entry(HERE, "Stop it; agents go on unless --kill.", "stop"),
    "status": Entry(HERE, "Say whether it runs, since when and where.", "status"),
}
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
STOP_WITHIN_S: Final = 60.0
LOOK_EVERY_S: Final = 0.05
LAST_WORDS: Final = 16_384


@click.group("daemon", cls=LazyGroup, table=TABLE)
def command() -> None:
    """Run, start, stop and look at the daemon. Other commands start it when they need it.

    Every subcommand that prints something takes --json.

    \b
    Examples:
      paddock daemon status
      paddock daemon stop
      paddock daemon run
    """


@click.command("start")
@_JSON
def start(as_json: bool) -> None:
    """Start the daemon in the background, unless it runs already.

    \b
    Example:
      paddock daemon start
    """
    for again in (True, True, False):
        try:
            with connected() as client:
                _show(client.daemon(), as_json=as_json)
        except CommandError as error:
            # One that died between listening and answering: the next is started.
            if again and error.code == ExitCode.NO_DAEMON:
                continue
            raise
        return


@click.command("status")
@_JSON
def status(as_json: bool) -> None:
    """Say whether the daemon runs, since when and where; exit 69 when it does not. Starts none.

    \b
    Example:
      paddock daemon status --json
    """
    try:
        with connected(start=False) as client:
            _show(client.daemon(), as_json=as_json)
    except CommandError as error:
        raise _none_running(error) from error


@click.command("stop")
@click.option("--kill", is_flag=True, help="End all agents first.")
@_JSON
def stop(kill: bool, as_json: bool) -> int:
    """Stop the daemon. Agents go on, and the next daemon finds them; with --kill they end first.

    \b
    Examples:
      paddock daemon stop
      paddock daemon stop --kill
    """
    said = _LogFromHere()
    try:
        with connected(start=False) as client, meanwhile("asking it to stop"):
            was = client.stop_daemon(kill=kill)
    except CommandError as error:
        raise _none_running(error) from error
    with meanwhile(f"waiting for the end of process {was.pid}"):
        gone = _gone(was.pid)
    if as_json:
        echo_json(was)
    elif gone:
        click.echo(f"stopped (it was process {was.pid})")
    for trouble in said.errors():
        note(trouble)
    if not gone:
        note(f"process {was.pid} is still stopping after {format_duration(STOP_WITHIN_S)}")
    left = gone and kill and _agents_left()
    if left:
        note(f"{counted(left, 'agent')} could not be ended; end them with: paddock kill --all")
    return ExitCode.DONE if gone and not left else ExitCode.ENDED_OTHERWISE


class _LogFromHere:
    """What a daemon says at its end is only in its log: nobody is connected to it any more."""

    def __init__(self) -> None:
        from paddock.config.places import find_places

        self._path = find_places().log
        self._at = self._path.stat().st_size if self._path.is_file() else 0

    def errors(self) -> list[str]:
        """Without their time and where they come from."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._at)
                lines = file.read(LAST_WORDS).decode("utf-8", "replace").splitlines()
        except OSError:
            return []
        told = (line.partition(" E paddock.")[2].partition(": ")[2] for line in lines)
        return [line for line in told if line]


def _agents_left() -> int:
    """Of this host, seen without a daemon."""
    from paddock.config.places import find_places
    from paddock.rescue.agents import Yard
    from paddock.rescue.records import NotOurs, own_records

    try:
        return len(Yard(own_records(str(find_places().state))).agents())
    except NotOurs:
        return 0


def _none_running(error: CommandError) -> CommandError:
    if error.code != ExitCode.NO_DAEMON:
        return error
    return CommandError("no daemon is running", ExitCode.NO_DAEMON)


def _gone(pid: int) -> bool:
    """So that what comes after `paddock daemon stop` finds it stopped, and its lock free."""
    until = time.monotonic() + STOP_WITHIN_S
    while _lives(pid):
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_EVERY_S)
    return True


def _lives(pid: int) -> bool:
    try:
        facts = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False
    # Dead, and only not yet waited for by whoever started it.
    return facts.rpartition(b")")[2].split()[0] not in (b"Z", b"X")


def _show(view: DaemonView, *, as_json: bool) -> None:
    if as_json:
        echo_json(view)
        return
    keeper = "no keeper yet" if view.keeper_pid is None else f"its keeper is {view.keeper_pid}"
    up = format_duration(view.uptime_s)
    click.echo(f"process {view.pid}, version {safe(view.version)}, for {up}; {keeper}")
    click.echo(f"socket {safe(view.socket)}")
    if view.listen:
        click.echo(f"listens on {safe(view.listen)}")
