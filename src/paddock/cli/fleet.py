"""`paddock fleet`: submit a fleet file, watch it, and sum it up."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from .connecting import connected, door, explained
from .exits import CommandError, ExitCode
from .here import here_directory
from .printing import coloured, echo_json, note, safe, terminal_width
from .run_options import DRIVERS, refuse_mistakes

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddock.client.errors import ClientError
    from paddock.wire.fleet_file import FleetFile
    from paddock.wire.run_request import DriverWord, RunRequest
    from paddock.wire.views import Submission

    from .fleet_watch import Watched


@click.command("fleet")
@click.option("--detach", is_flag=True, help="Submit and print the ids; do not wait.")
@click.option("--strict", is_flag=True, help="Refuse instead of reducing what was asked for.")
@click.option("--yes", is_flag=True, help="However large its repositories are: do not ask.")
@click.option(
    "--driver", type=click.Choice(DRIVERS), help="Where those live that name no driver themselves."
)
@click.option("--json", "as_json", is_flag=True, help="A JSON list of the runs, at the end.")
@click.argument("file", metavar="FILE|-", type=click.Path(allow_dash=True))
def command(
    file: str,
    detach: bool,
    strict: bool,
    yes: bool,
    driver: DriverWord | None,
    as_json: bool,
) -> int:
    """Submit a fleet file whole, show its progress, and sum it up: 0 only if all succeeded.

    Ctrl-C stops all its runs (twice: at once), Ctrl-\\ leaves them running. Its heartbeats end
    with its last run, or with `paddock kill NAME`; those of a file without runs only so.

    \b
    Examples:
      paddock fleet examples/fleet.yaml
      paddock fleet --detach nightly.yaml
      generate-fleet | paddock fleet -
      paddock fleet --driver kubernetes fleet.yaml
    """
    fleet = read_fleet(file)
    if strict:
        runs = tuple(structs.replace(run, strict=True) for run in fleet.runs)
        fleet = replace(fleet, runs=runs)
    if driver is not None:
        fleet = _each(fleet, lambda run: structs.replace(run, driver=run.driver or driver))
    if yes:
        fleet = _each(fleet, lambda run: structs.replace(run, any_size=True))
    answer = submit_fleet(fleet)
    if detach or not answer.runs:
        _say_taken(answer, fleet.name, as_json=as_json)
        return ExitCode.DONE
    watched = watch_fleet(answer, quiet=as_json)
    if as_json:
        echo_json(watched.runs)
    elif watched.code != ExitCode.LEFT_RUNNING:
        sum_up(watched)
    return watched.code


def _each(fleet: FleetFile, change: Callable[[RunRequest], RunRequest]) -> FleetFile:
    """Also those of its heartbeats."""
    runs = (change(run) for run in fleet.runs)
    beats = (structs.replace(beat, run=change(beat.run)) for beat in fleet.heartbeats)
    return replace(fleet, runs=tuple(runs), heartbeats=tuple(beats))


def read_fleet(file: str) -> FleetFile:
    """Exit 2 with every mistake, each on a line of its own."""
    from paddock.config.mistakes import ConfigError
    from paddock.wire.fleet_file import LARGEST_FILE, parse_fleet, parse_fleet_text

    if not file:
        raise CommandError("no file is named: found ''; allowed: a fleet file, or - for stdin")
    try:
        if file != "-":
            return parse_fleet(Path(file))
        text = sys.stdin.read(LARGEST_FILE + 1)
        return parse_fleet_text(text, file="stdin", directory=here_directory())
    except UnicodeDecodeError as error:
        raise CommandError(f"stdin: found what is no UTF-8 text ({error.reason})") from error
    except ConfigError as error:
        refuse_mistakes(list(error.lines()), about="stdin" if file == "-" else safe(file))


def submit_fleet(fleet: FleetFile) -> Submission:
    from paddock.client.errors import BadRequest, Refused

    from .submitting import say_notes, submit, submit_of

    order = submit_of(fleet.runs, heartbeats=fleet.heartbeats, fleet=fleet.name)
    with connected() as client:
        try:
            answer = submit(client, order)
        except (BadRequest, Refused) as error:
            raise _placed(error, fleet) from error
    say_notes(answer)
    return answer


def _placed(error: ClientError, fleet: FleetFile) -> ClientError:
    """A refusal that names a run also says where that run stands."""
    name, colon, _ = error.message.partition(": ")
    if not colon or name not in fleet.places:
        return error
    return type(error)(f"{fleet.places[name]}: {error.message}", error.code)


def _say_taken(answer: Submission, name: str, *, as_json: bool) -> None:
    if as_json:
        echo_json(answer.runs)
    elif answer.runs:
        click.echo("\n".join(run.id for run in answer.runs))
        note(f"the fleet {name}: paddock ls, wait or kill --fleet {name}")
    if answer.heartbeats:
        names, word = (
            ", ".join(answer.heartbeats),
            "beats" if len(answer.heartbeats) == 1 else "beat",
        )
        until = "the last of these runs has ended, or: " if answer.runs else ""
        note(f"{names} {word} until {until}paddock kill {' '.join(answer.heartbeats)}")


def watch_fleet(answer: Submission, *, quiet: bool) -> Watched:
    from paddock.client.errors import ClientError

    from .fleet_progress import Lines, Redrawn
    from .fleet_watch import Watch

    # With --json people's text goes to stderr, and stdout is for the list alone.
    stream = sys.stderr if quiet else sys.stdout
    progress = Redrawn(stream) if coloured(stream) else Lines(stream)
    try:
        return Watch(answer, door(), progress).watch()
    except ClientError as error:
        problem = explained(error)
        text = f"{problem.message}; the runs may go on: paddock ls"
        raise CommandError(text, problem.code) from error


def sum_up(watched: Watched) -> None:
    from .fleet_summary import summary

    lines = summary(watched, width=terminal_width(), colour=coloured(sys.stdout))
    click.echo("\n" + "\n".join(lines))
