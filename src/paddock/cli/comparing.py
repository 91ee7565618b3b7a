"""`paddock bench compare` and `schema`: reports that are there already."""

from __future__ import annotations

from pathlib import Path

import click

from .exits import CommandError, ExitCode
from .printing import counted, echo_json, note, safe


@click.command("compare", short_help="Is a second report worse than a first?")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def compare(before: Path, after: Path, as_json: bool) -> int:
    """Whether a second report is worse than a first: more than 10 %, and not by chance.

    Times and sizes need three samples of each (--rounds 3); kills and what was completed need none.
    Ends with 1 if anything is worse, and with 2 if nothing could be judged.

    \b
    Example:
      paddock bench compare release.json today.json
    """
    from paddock.bench import report
    from paddock.bench.compare import FEWEST, Change
    from paddock.bench.compare import compare as compared

    try:
        found = compared(report.read(before), report.read(after))
    except report.BadReport as error:
        raise CommandError(str(error)) from None
    if not found:
        raise CommandError(f"{before} and {after} have no figure in common that could be compared")
    few = [one for one in found if one.change is Change.FEW]
    if len(few) == len(found):
        raise CommandError(
            f"nothing can be judged: all {len(found)} figures have fewer than {FEWEST} samples; "
            f"measure both with --rounds {FEWEST} or more"
        )
    worse = [one for one in found if one.change is Change.WORSE]
    if as_json:
        echo_json({"worse": len(worse), "figures": found})
    else:
        for one in found:
            click.echo(safe(str(one)))
    if few:
        said = f"{counted(len(few), 'figure')} could not be judged: with --rounds {FEWEST} they can"
        note(said)
    return ExitCode.ENDED_OTHERWISE if worse else ExitCode.DONE


@click.command("schema", short_help="The JSON Schema of a report.")
@click.option("--json", "_as_json", is_flag=True, help="It is JSON anyway.")
def schema(_as_json: bool) -> None:
    """The JSON Schema of a report, for whoever reads reports by program.

    \b
    Example:
      paddock bench schema > report.schema.json
    """
    from paddock.bench import report

    echo_json(report.schema())
