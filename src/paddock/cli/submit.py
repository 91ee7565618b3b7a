"""`paddock submit`: queue one run, or one a line, and print their ids."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .completing import complete_command
from .connecting import connected
from .exits import CommandError
from .here import here_directory
from .printing import echo_json, echo_json_line, note
from .run_options import (
    refuse_mistakes,
    request_of,
    run_options,
    template_of,
    with_options,
)

if TYPE_CHECKING:
    from paddock.wire.run_request import RunRequest
    from paddock.wire.views import Submission

ABOUT = "paddock submit"
# Of many, the first are said; the rest would only scroll by.
MOST_SAID = 5


@click.command("submit", context_settings={"allow_interspersed_args": False})
@run_options
@click.option(
    "--from",
    "from_file",
    metavar="FILE|-",
    type=click.Path(allow_dash=True),
    help="One run a line: a command line, or a JSON object with the keys of a fleet file's run.",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON object; with --from one a line.")
@click.argument(
    "command_",
    metavar="[-- CMD…]",
    nargs=-1,
    type=click.UNPROCESSED,
    shell_complete=complete_command,
)
def command(command_: tuple[str, ...], from_file: str | None, as_json: bool, **asked: Any) -> None:
    """Queue one run, or with --from one a line, and print the ids, one a line.

    With --from all are taken or none. Options count for lines that do not say otherwise. A line
    with shell syntax outside quotes ($ & | > < ; * ? ~ and so on, or NAME=value in front) runs as
    sh -c LINE, any other as a program and its arguments.

    \b
    Examples:
      paddock submit --priority high -- ./review.sh
      paddock submit --from jobs.txt
      paddock wait $(printf 'make a\\nmake b\\n' | paddock submit --memory 1G --from -)
    """
    runs = _runs(command_, from_file, asked)
    answer = _submit(runs, stdin=asked["stdin"])
    if not as_json:
        click.echo("\n".join(run.id for run in answer.runs))
    elif from_file is None:
        echo_json(answer.runs[0])
    else:
        for run in answer.runs:
            echo_json_line(run)
    _say(answer)


def _runs(words: tuple[str, ...], from_file: str | None, asked: dict[str, Any]) -> list[RunRequest]:
    if from_file is None:
        return [request_of(words, asked, about=ABOUT)]
    alone = [name for name in ("name", "agent", "prompt", "prompt_file", "stdin") if asked[name]]
    if words or alone:
        what = "a command" if words else f"--{alone[0].replace('_', '-')}"
        raise CommandError(f"--from: found {what} as well; allowed: runs in the file only")
    template = template_of(asked, about=ABOUT)
    return [with_options(each, template) for each in _from(from_file)]


def _from(name: str) -> tuple[RunRequest, ...]:
    from paddock.config.mistakes import ConfigError
    from paddock.wire.fleet_file import LARGEST_FILE
    from paddock.wire.run_lines import parse_lines

    if not name:
        raise CommandError("--from: no file is named: found ''; allowed: a file, or - for stdin")
    shown = "stdin" if name == "-" else name
    try:
        if name == "-":
            text = sys.stdin.read(LARGEST_FILE + 1)
        else:
            with Path(name).open(encoding="utf-8-sig") as file:
                text = file.read(LARGEST_FILE + 1)
    except UnicodeDecodeError as error:
        raise CommandError(f"{shown}: found what is no UTF-8 text ({error.reason})") from error
    try:
        return parse_lines(text, file=shown, directory=here_directory())
    except ConfigError as error:
        refuse_mistakes(list(error.lines()), about=shown)


def _submit(runs: list[RunRequest], *, stdin: bool) -> Submission:
    from .submitting import submit, submit_of, upload

    with connected() as client:
        token = upload(client) if stdin else None
        return submit(client, submit_of(runs, stdin=token))


def _say(answer: Submission) -> None:
    from .submitting import say_notes

    say_notes(answer)
    waiting = [run for run in answer.runs if run.state == "queued"]
    for run in waiting[:MOST_SAID]:
        note(f"{run.name}: queued, {run.waits_for or 'and next'}")
    if len(waiting) > MOST_SAID:
        left = len(waiting) - MOST_SAID
        note(f"and {left} more {'is' if left == 1 else 'are'} queued")
