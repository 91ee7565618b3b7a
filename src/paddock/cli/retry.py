"""`paddock retry`: the same run once more, as a new one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from .completing import complete_any_run
from .connecting import connected
from .printing import echo_json, note
from .run_options import PRIORITIES, request_of

if TYPE_CHECKING:
    from paddock.wire.views import Otherwise


@click.command("retry")
@click.option("--from-start", is_flag=True, help="Do again also what was done: steps, checkpoints.")
@click.option("--memory", metavar="SIZE", help="Another wall than the last time.")
@click.option("--timeout", metavar="TIME", help="Another timeout: 90s, 15m, 8h, or none.")
@click.option("--priority", type=click.Choice(PRIORITIES), help="Another priority.")
@click.option("--retries", metavar="N", help="How often it is tried again after a failure.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("run", metavar="RUN", shell_complete=complete_any_run)
def command(run: str, from_start: bool, as_json: bool, **asked: str | None) -> None:
    """Submit a run that has ended once more, as a new run, and print its id.

    Command and directory are the old ones. The environment is yours of now: that of an ended run
    is not kept. A run in steps goes on with the first that is not done, and the checkpoints of one
    that did not succeed are there for the new one. What an option does not say is as it was.

    \b
    Examples:
      paddock retry review
      paddock retry --memory 4G --timeout 2h review
      paddock retry --from-start nightly
    """
    from .submitting import environment, say_notes

    otherwise = _otherwise(asked)
    with connected() as client:
        answer = client.retry(
            run, environment=environment(), from_start=from_start, otherwise=otherwise
        )
    (taken,) = answer.runs
    if as_json:
        echo_json(taken)
    else:
        click.echo(taken.id)
    say_notes(answer)
    if taken.state == "queued":
        note(f"{taken.name}: queued, {taken.waits_for or 'and next'}")


def _otherwise(asked: Mapping[str, str | None]) -> Otherwise:
    """Read as the options of `run` are."""
    from paddock.wire.views import Otherwise

    said = {name: value for name, value in asked.items() if value is not None}
    read = request_of(("true",), said, about="paddock retry")
    fields = {"memory": "memory_bytes", "timeout": "timeout_s"}
    return Otherwise(
        **{name: getattr(read, name) for name in (fields.get(each, each) for each in said)}
    )
