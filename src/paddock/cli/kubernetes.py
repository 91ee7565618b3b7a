"""`paddock kubernetes`: the same fleet on a cluster."""

from __future__ import annotations

from typing import Final

import click

from .lazy import Entry, LazyGroup

# The controller lives in a room that the command line may name and not import.
TABLE: Final = {
    "apply": Entry("paddock.cli.kubernetes_apply", "Tell a cluster all of it; go back.", "apply"),
    "check": Entry(
        "paddock.cli.kubernetes_check", "What is wrong with manifests, or a cluster.", "check"
    ),
    "controller": Entry("paddock.controller.main", "Be a controller of AgentRuns, in a cluster."),
    "remove": Entry("paddock.cli.kubernetes_remove", "Take paddock out of a cluster.", "remove"),
    "render": Entry("paddock.cli.kubernetes_render", "The manifests of a cluster.", "render"),
    "revisions": Entry(
        "paddock.cli.kubernetes_revisions", "What sizes a cluster was given.", "revisions"
    ),
}


@click.group("kubernetes", cls=LazyGroup, table=TABLE)
def command() -> None:
    """The same fleet on a cluster: its manifests, and a controller for AgentRuns.

    Subcommands that print something take --json. Runs of a daemon go to a cluster by themselves
    with --driver kubernetes, and need no controller.

    \b
    Examples:
      paddock kubernetes check --cluster
      paddock kubernetes apply --image registry.example/paddock:1
      paddock kubernetes apply --rollback
      paddock kubernetes remove --dry-run
    """
