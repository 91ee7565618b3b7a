"""Shell completion of run names: asks a daemon that is there, quickly, and is silent otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_MOST = 200


def complete_run(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Names first, and ids once somebody began to type one."""
    from click.shell_completion import CompletionItem

    from .connecting import open_client

    del param

    try:
        with (ctx.find_root().obj or open_client)(start=False) as client:
            runs = client.runs(limit=_MOST)
    except Exception:  # noqa: BLE001 - a prompt is no place for errors
        return []
    found = {run.name: run.state for run in runs if run.name.startswith(incomplete)}
    if incomplete:
        found |= {run.id: run.name for run in runs if run.id.startswith(incomplete)}
    return [CompletionItem(word, help=text) for word, text in found.items()]
