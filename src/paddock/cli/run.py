"""`paddock run`: one run in the foreground, as if it had been called without paddock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from .completing import complete_command
from .connecting import connected, door, explained
from .ends import code_of, with_reason
from .exits import CommandError, ExitCode, OutputLost
from .printing import echo_json, note
from .run_options import request_of, run_options

if TYPE_CHECKING:
    from paddock.wire.run_request import RunRequest
    from paddock.wire.views import RunView, Submit, Taken

    from .following import Followed


@click.command("run", context_settings={"allow_interspersed_args": False})
@run_options
@click.option(
    "--json", "as_json", is_flag=True, help="Its end as JSON on stdout; output on stderr."
)
@click.argument(
    "command_", metavar="-- CMD…", nargs=-1, type=click.UNPROCESSED, shell_complete=complete_command
)
def command(command_: tuple[str, ...], as_json: bool, **asked: Any) -> int:
    """Submit one run, follow its output, and end with its code.

    Ctrl-C stops it (twice: at once), Ctrl-\\ leaves it running. It works here, with your
    environment; stdin is empty unless --stdin. Output and errors come as one stream.

    Ends with the agent's own code, or: 124 its time was up, 137 its memory, 125 paddock failed,
    126 not executable, 127 not found, 128+n signal n, 3 refused, 130 stopped, 69 no daemon.

    \b
    Examples:
      paddock run -- make test
      paddock run --agent claude --prompt 'Mend the failing tests' --repo .
      paddock run --memory 2G --timeout 20m --name tests -- pytest -q
      echo 'SELECT 1' | paddock run --stdin -- sqlite3 orders.db
    """
    request = request_of(command_, asked, about="paddock run")
    try:
        followed = follow_one(submit_one(request), retries=request.retries, quiet=as_json)
        return _ended(followed, as_json=as_json)
    except CommandError as error:
        if error.code != ExitCode.BUG:
            raise
        raise CommandError(error.message, ExitCode.PADDOCK_FAILED) from error


def submit_one(request: RunRequest, *, alter: Callable[[Submit], Submit] | None = None) -> Taken:
    """`alter` may change what goes along with it."""
    from .submitting import say_notes, submit, submit_of, upload

    with connected() as client:
        token = upload(client) if request.stdin else None
        order = submit_of([request], stdin=token)
        answer = submit(client, order if alter is None else alter(order))
    say_notes(answer)
    return answer.runs[0]


def follow_one(taken: Taken, *, retries: int, quiet: bool) -> Followed:
    """Until it has ended or we are told to go; `quiet` leaves stdout alone."""
    from paddock.client.errors import ClientError

    from .following import Follower, Screen

    screen = Screen(sys.stderr if quiet else sys.stdout)
    try:
        followed = Follower(taken, door(), write=screen, retries=retries).follow()
    except ClientError as error:
        problem = explained(error)
        text = f"{problem.message}; {taken.name} may go on: paddock logs -f {taken.id}"
        raise CommandError(text, problem.code) from error
    except OutputLost as error:
        # Not the agent's fault, and what it does may be dear: its log is kept elsewhere.
        text = f"{error.reason}; {taken.name} goes on: paddock logs -f {taken.id}"
        raise OutputLost(text, ExitCode.PADDOCK_FAILED) from error
    finally:
        screen.close()
    if followed.run is not None:
        _say_end(followed.run)
    return followed


def _ended(followed: Followed, *, as_json: bool) -> int:
    if as_json and followed.run is not None:
        echo_json(followed.run)
    return code_of_followed(followed)


def code_of_followed(followed: Followed) -> int:
    if followed.run is None:
        return followed.code or ExitCode.INTERRUPTED
    return followed.code or code_of(followed.run)


def _say_end(run: RunView) -> None:
    """An agent that ended by itself has said what it had to say."""
    if run.outcome == "succeeded" or (run.outcome == "failed" and run.exit_code is not None):
        return
    if run.outcome == "failed" and run.signal is not None:
        what = f"{run.name} ended: signal {run.signal}"
    else:  # whatever signal that took, paddock sent it
        what = f"{run.name}: {with_reason(run)}"
    note(f"{what} (paddock why {run.id})")
