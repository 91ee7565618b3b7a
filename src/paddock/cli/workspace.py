"""`paddock workspace`: where runs with --repo work; what is in the way of clearing them up."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from paddock.core.units import format_duration

from .completing import complete_any_run
from .connecting import connected
from .live_line import meanwhile
from .printing import coloured, echo_json, note, safe, terminal_width
from .tables import Cell, Column, Row, shown_width, table

if TYPE_CHECKING:
    from paddock.wire.views import ClearedView, WorkspaceView

_SHORT: Final = (
    Column("run"),
    Column("name", gives_way=1, leaves=1),
    Column("branch", leaves=2),
    Column("state"),
    Column("idle", right=True),
    Column("holds", gives_way=2, least=20),
)
_LONG: Final = (*_SHORT, Column("repository"), Column("workspace"))
_CLEARED: Final = (
    Column("run"),
    Column("name", gives_way=1, leaves=1),
    Column("what"),
    Column("because", gives_way=3, least=30),
    Column("workspace", gives_way=2, leaves=2, keeps_end=True),
)
_STATES: Final = {"taken": "blue", "idle": "grey", "slot": "grey"}
_DONE: Final = {
    "removed": Cell("removed", "green"),
    "would_remove": Cell("would be removed", "green"),
    "kept": Cell("kept", "yellow"),
}


@click.group("workspace")
def command() -> None:
    """Show the workspaces of runs with --repo, what keeps them, and remove those that may go.

    A workspace with work that exists nowhere else is never removed. Each subcommand has --json.

    \b
    Examples:
      paddock workspace ls
      paddock workspace check
      paddock workspace gc --dry-run
      paddock workspace rm review
    """


@command.command("ls")
@click.option("--long", "with_paths", is_flag=True, help="With all paths, however wide that is.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list on stdout.")
def list_them(with_paths: bool, as_json: bool) -> None:
    """List the workspaces, with prepared ones that no run has yet.

    Where repository and workspace are is shown if the terminal has room for it, or with --long.

    \b
    Examples:
      paddock workspace ls --long
      paddock workspace ls --json | jq -r '.[].path'
    """
    with connected() as client, meanwhile("asking git about each"):
        views = client.workspaces()
    if as_json:
        echo_json(views)
    elif not views:
        note("no workspaces")
    else:
        _list([_there(view) for view in views], with_paths=with_paths)


@command.command("check", short_help="Say what keeps each; removes none.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list on stdout.")
def check(as_json: bool) -> None:
    """Say of each workspace what keeps it from being removed; removes none.

    \b
    Example:
      paddock workspace check
    """
    with connected() as client, meanwhile("asking git about each"):
        views = client.check_workspaces()
    _show(views, as_json=as_json, dry_run=True)


@command.command("gc", short_help="Remove those long idle, with all work committed.")
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list on stdout.")
def clear(dry_run: bool, as_json: bool) -> None:
    """Remove workspaces that were idle for long and whose work is all committed, on branches.

    performance.worktree_idle_days (7) says for how long. The branches stay in the repository.

    \b
    Example:
      paddock workspace gc --dry-run
    """
    with connected() as client, meanwhile("asking git about each, and removing"):
        views = client.clear_workspaces(dry_run=dry_run)
    _show(views, as_json=as_json, dry_run=dry_run)


@command.command("rm", short_help="Remove those of these runs, or of merged work.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list on stdout.")
@click.option("--merged", is_flag=True, help="All whose commits the branch they began on has.")
@click.option("--dry-run", is_flag=True, help="With --merged: say which, and remove nothing.")
@click.argument("runs", metavar="[RUN...]", nargs=-1, shell_complete=complete_any_run)
def remove(runs: tuple[str, ...], as_json: bool, merged: bool, dry_run: bool) -> None:
    """Remove the workspaces of these runs now, or with --merged what is merged, branches too.

    Nothing is lost: what a run had not committed is committed on its branch first. One in which
    somebody is at work stays, and it is said why. With --merged nothing is committed: what is not
    all in the branch it began on stays as it is.

    \b
    Examples:
      paddock workspace rm review
      paddock workspace rm --merged --dry-run
    """
    if merged == bool(runs):
        raise click.UsageError("give the runs whose workspaces go, or --merged and no run")
    if dry_run and not merged:
        raise click.UsageError("--dry-run goes with --merged; `workspace check` looks at all")
    with connected() as client, meanwhile("asking git, and removing"):
        if merged:
            views = client.clear_workspaces(dry_run=dry_run, merged=True)
        else:
            views = [client.remove_workspace(run) for run in runs]
    _show(views, as_json=as_json, dry_run=dry_run)


def _show(views: Sequence[ClearedView], *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        echo_json(views)
        return
    if views:
        _print(_CLEARED, [_cleared(view) for view in views])
    kept = sum(view.done == "kept" for view in views)
    gone = "would be removed" if dry_run else "removed"
    note(f"{len(views) - kept} {gone}, {kept} kept")


def _list(rows: Sequence[Row], *, with_paths: bool) -> None:
    """A path that is cut helps nobody: both are there in full, or neither."""
    width, colour = terminal_width(), coloured(sys.stdout)
    if width is None or max(map(shown_width, table(_LONG, rows, colour=False))) <= width:
        with_paths = True
    if with_paths:
        lines = table(_LONG, rows, colour=colour)
    else:
        lines = table(_SHORT, [row[: len(_SHORT)] for row in rows], width=width, colour=colour)
    click.echo("\n".join(lines))


def _print(columns: Sequence[Column], rows: Sequence[Row]) -> None:
    lines = table(columns, rows, width=terminal_width(), colour=coloured(sys.stdout))
    click.echo("\n".join(lines))


def _there(view: WorkspaceView) -> Row:
    idle = "-" if view.idle_s is None else format_duration(view.idle_s)
    return (
        safe(view.run or "-"),
        safe(view.name or "-"),
        safe(view.branch or "-"),
        Cell(safe(view.state), _STATES.get(view.state)),
        idle,
        safe(_holds(view)),
        safe(view.repository),
        safe(view.path or "-"),
    )


def _holds(view: WorkspaceView) -> str:
    """`3 commits, 1 not in main; 2 files not committed`."""
    if view.commits is None:
        return "-"
    commits = f"{view.commits} commit{'s'[: view.commits != 1]}"
    if view.commits and view.unmerged == 0:
        commits += f", all in {view.base}"
    elif view.commits and view.unmerged is not None:
        commits += f", {view.unmerged} not in {view.base}"
    if not view.uncommitted:
        return commits if view.commits else "nothing"
    return f"{commits}; {view.uncommitted} file{'s'[: view.uncommitted != 1]} not committed"


def _cleared(view: ClearedView) -> Row:
    name, run = safe(view.name or "-"), safe(view.run or "-")
    return (run, name, _DONE[view.done], safe(view.because), safe(view.path))
