"""`paddock kubernetes revisions`: what sizes a cluster was given, and which are in force."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from .clusters import Cluster, with_cluster
from .here import settings_of_host
from .printing import coloured, echo_json, note, safe, terminal_width
from .tables import Column, table

if TYPE_CHECKING:
    from paddock.cluster.client import Api
    from paddock.manifests.revisions import History, Revision


@click.command("revisions")
@click.option("--namespace", metavar="NAME", help="Of controllers and agents.")
@with_cluster
@click.option("--json", "as_json", is_flag=True, help="A list of {number, state, stage, …}.")
def revisions(cluster: Cluster, namespace: str | None, as_json: bool) -> None:
    """The sizes that a cluster was given, newest last; `apply --rollback --to N` goes back to one.

    \b
    Example:
      paddock kubernetes revisions
    """
    from paddock.config import cluster_settings as c
    from paddock.manifests import revisions as r
    from paddock.manifests.values import NAMESPACE

    name = namespace or settings_of_host()[c.NAMESPACE] or NAMESPACE

    async def read(api: Api) -> History:
        return await r.read(api, name, patience_s=30.0)

    history = cluster.ask(name, read)
    told = [_told(history, index) for index in range(len(history.revisions))]
    if as_json:
        echo_json(told)
        return
    if not told:
        note(f"nothing was applied to the namespace {name} yet: paddock kubernetes apply")
        return
    columns = [Column("NUMBER", right=True), Column("AT"), Column("STATE"), Column("%", right=True)]
    columns += [Column("CHANGED", gives_way=1, below=True)]
    rows = [
        [str(one["number"]), one["at"], one["state"], str(one["stage"]), safe(_about(one))]
        for one in told
    ]
    for line in table(columns, rows, width=terminal_width(), colour=coloured(sys.stdout)):
        click.echo(line)


def _told(history: History, index: int) -> dict[str, Any]:
    from paddock.manifests.sizes import differences

    one: Revision = history.revisions[index]
    known = [each for each in history.revisions[:index] if each.state in ("current", "replaced")]
    before = known[-1] if known else None  # the sizes that were in force then
    changed = [] if before is None else list(differences(before.sizes, one.sizes))
    return {
        "number": one.number,
        "state": str(one.state),
        "stage": one.stage,
        "at": one.at,
        "because": one.because,
        "changed": changed,
    }


def _about(one: dict[str, Any]) -> str:
    changed = "; ".join(one["changed"])
    return f"{changed} ({one['because']})" if one["because"] else changed
