"""`paddock kubernetes`: the same fleet on a cluster."""

from __future__ import annotations

from typing import Final

import click

from .lazy import Entry, LazyGroup

# The controller lives in a room that the command line may name and not import.
TABLE: Final = {
    "check": Entry("paddock.cli.kubernetes_check", "What is wrong with manifests.", "check"),
    "controller": Entry("paddock.controller.main", "Be a controller of AgentRuns, in a cluster."),
    "render": Entry("paddock.cli.kubernetes_render", "The manifests of a cluster.", "render"),
}


@click.group("kubernetes", cls=LazyGroup, table=TABLE)
def command() -> None:
    """The same fleet on a cluster: its manifests, and a controller for AgentRuns.

    Subcommands that print something take --json. Runs of a daemon go to a cluster by themselves
    with --driver kubernetes, and need no controller.

    \b
    Examples:
      paddock kubernetes render | kubectl apply --server-side -f -
      paddock kubernetes check cluster/*.yaml
      paddock kubernetes controller
    """
