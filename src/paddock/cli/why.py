"""`paddock why`: why a run waits, or why it died."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from .completing import complete_any_run
from .connecting import connected
from .printing import echo_json, safe, terminal_width
from .tables import fold


@click.command("why")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
@click.argument("run", metavar="RUN", shell_complete=complete_any_run)
def command(run: str, as_json: bool) -> None:
    """Say in a sentence why a run waits, or why it died, with its black box.

    \b
    Examples:
      paddock why review
      paddock why review --json | jq -r .sentence
    """
    with connected() as client:
        why = client.why(run)
    if as_json:
        echo_json(why)
        return
    box = dict(why.black_box or {})
    if box.get("why", "") in why.sentence:
        box.pop("why", None)
    click.echo("\n".join(_lines(why.sentence, box, width=terminal_width())))


def _lines(sentence: str, box: Mapping[str, str], *, width: int | None) -> Iterator[str]:
    """The names of the box stand in a column, and what is too long for a line is folded."""
    yield from fold(safe(sentence), width)
    indent = max(map(len, box), default=0) + 4
    room = None if width is None else max(20, width - indent)
    for name, text in box.items():
        # The last lines of output may be in it: several, each made harmless.
        told = [part for line in text.splitlines() or [""] for part in fold(safe(line), room)]
        yield f"  {safe(name)}".ljust(indent) + told[0]
        yield from (" " * indent + line for line in told[1:])
