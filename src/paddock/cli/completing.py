"""Shell completion. Run names: asks a daemon that is there, quickly, and is silent otherwise."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_MOST = 200


def complete_run(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Runs that have not ended."""
    del param
    return _runs(ctx, incomplete, ended=False)


def complete_any_run(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Also those that have ended: for whoever looks back."""
    del param
    return _runs(ctx, incomplete, ended=True)


def complete_command(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """A program of the path as the first word; everything else is the shell's own file names."""
    from click.shell_completion import CompletionItem

    words = ctx.params.get(param.name or "") or ()
    if not words and incomplete and "/" not in incomplete:
        found = sorted(_programs(incomplete))
        if found:
            return [CompletionItem(name) for name in found]
    return [CompletionItem(incomplete, type="file")]


def _programs(begin: str) -> set[str]:
    found: set[str] = set()
    for directory in os.get_exec_path():
        with suppress(OSError), os.scandir(directory) as entries:
            found |= {each.name for each in entries if each.name.startswith(begin)}
    return found


def _runs(ctx: click.Context, incomplete: str, *, ended: bool) -> list[CompletionItem]:
    """Names first, and ids once somebody began to type one."""
    from click.shell_completion import CompletionItem

    from .connecting import open_client

    try:
        with (ctx.find_root().obj or open_client)(start=False) as client:
            runs = client.runs(all=ended, limit=_MOST)
    except Exception:  # noqa: BLE001 - a prompt is no place for errors
        return []
    found = {run.name: run.outcome or run.state for run in runs if run.name.startswith(incomplete)}
    if incomplete:
        # The beats of a heartbeat are many, and all begin with its name and a dot.
        begun = [run for run in runs if "." in incomplete or "." not in run.id]
        found |= {run.id: run.name for run in begun if run.id.startswith(incomplete)}
    return [CompletionItem(word, help=text) for word, text in found.items()]
