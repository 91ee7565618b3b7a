"""`paddock why`: why a run waits, or why it died."""

from __future__ import annotations

import click

from .completing import complete_any_run
from .connecting import connected
from .printing import echo_json, safe


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
    click.echo(safe(why.sentence))
    box = {name: text for name, text in (why.black_box or {}).items() if text not in why.sentence}
    width = max(map(len, box), default=0)
    for name, text in box.items():
        # The last lines of output may be in it: several, each made harmless.
        first, *more = text.splitlines() or [""]
        click.echo(f"  {safe(name).ljust(width)}  {safe(first)}")
        for line in more:
            click.echo(f"  {' ' * width}  {safe(line)}")
