"""`paddock diff`: what a run changed in its workspace."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from .completing import complete_any_run
from .connecting import connected
from .printing import coloured, counted, echo_json, note, paint, safe, terminal_width
from .tables import Column, table

if TYPE_CHECKING:
    from paddock.wire.views import DiffView

    from .diff_stat import Changed

_COLOURS: Final = {"+": "green", "-": "red", "@": "blue"}
_HEADS: Final = ("diff ", "index ", "--- ", "+++ ", "new ", "deleted ", "similarity ", "rename ")
_COLUMNS: Final = (
    Column("file", gives_way=1),
    Column("added", right=True),
    Column("removed", right=True),
)


@click.command("diff")
@click.option("--stat", is_flag=True, help="Only the files, and how many lines.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object on stdout; of --stat a list.")
@click.argument("run", metavar="RUN", shell_complete=complete_any_run)
def command(run: str, stat: bool, as_json: bool) -> None:
    """Show what a run changed: its commits and its uncommitted files together, as one patch.

    From the commit that it began with to its files as they are now; nothing of it is stored. Of a
    workspace that is gone, what is on its branch.

    \b
    Examples:
      paddock diff review
      paddock diff --stat review
      paddock diff review | git apply
    """
    with connected() as client:
        found = client.diff(run)
    if stat:
        _show_stat(found, as_json=as_json)
    elif as_json:
        echo_json(found)
    else:
        _show(found)
    _say_where(found)


def _show(found: DiffView) -> None:
    """Into a pipe every byte as it is; on a terminal only what cannot act on it."""
    if sys.stdout.isatty():
        lines = _painted(found.text, on=coloured(sys.stdout))
        click.echo("\n".join(lines), nl=bool(found.text))
    else:
        click.echo(found.text.encode() if found.raw is None else found.raw, nl=False)


def _painted(text: str, *, on: bool) -> Iterator[str]:
    from .diff_stat import kinds_of_lines

    for line, is_content in kinds_of_lines(text):
        plain = "\t".join(safe(part) for part in line.split("\t"))
        is_head = not is_content and line.startswith(_HEADS)
        yield paint(plain, "bold" if is_head else _COLOURS.get(line[:1]), on=on)


def _show_stat(found: DiffView, *, as_json: bool) -> None:
    from .diff_stat import stat_of

    changed = stat_of(found.text)
    if as_json:
        echo_json(changed)
        return
    if changed:
        colour = coloured(sys.stdout)
        rows = [_row(one) for one in changed]
        click.echo("\n".join(table(_COLUMNS, rows, width=terminal_width(), colour=colour)))
    added, removed = sum(one.added for one in changed), sum(one.removed for one in changed)
    files = counted(len(changed), "file")
    click.echo(f"{files}, {counted(added, 'line')} added, {removed} removed")


def _row(one: Changed) -> tuple[str, str, str]:
    if one.binary:
        return safe(one.name), "binary", "binary"
    return safe(one.name), str(one.added), str(one.removed)


def _say_where(found: DiffView) -> None:
    if not found.text and found.path is None and found.branch is None:
        note("its workspace is gone, and nothing was committed on its branch")
    elif not found.text:
        note("it changed nothing")
    if found.cut:
        note("this is only the beginning: the whole is in the workspace")
    if found.path is None and found.branch is not None:
        note(f"its workspace is gone; its work is on the branch {found.branch}")
    if found.path is not None:
        branch = f", on the branch {found.branch}" if found.branch else ""
        note(f"its workspace is {found.path}{branch}")
