"""`paddock retry`: the same run once more, as a new one."""

from __future__ import annotations

import click

from .completing import complete_any_run
from .connecting import connected
from .printing import echo_json, note


@click.command("retry")
@click.option("--from-start", is_flag=True, help="Do again also what was done: steps, checkpoints.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("run", metavar="RUN", shell_complete=complete_any_run)
def command(run: str, from_start: bool, as_json: bool) -> None:
    """Submit a run that has ended once more, as a new run, and print its id.

    Command and directory are the old ones. The environment is yours of now: that of an ended run
    is not kept. A run in steps goes on with the first that is not done, and the checkpoints of one
    that did not succeed are there for the new one.

    \b
    Examples:
      paddock retry review
      paddock retry --from-start nightly
    """
    from .submitting import environment, say_notes

    with connected() as client:
        answer = client.retry(run, environment=environment(), from_start=from_start)
    (taken,) = answer.runs
    if as_json:
        echo_json(taken)
    else:
        click.echo(taken.id)
    say_notes(answer)
    if taken.state == "queued":
        note(f"{taken.name}: queued, {taken.waits_for or 'and next'}")
