"""`paddock kubernetes remove`: out of a cluster again, and no work that somebody may want."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from .clusters import Cluster, gathered, with_cluster
from .exits import CommandError, ExitCode
from .here import settings_of_host
from .kubernetes_apply import Shown
from .kubernetes_render import NAMESPACE_NAME
from .printing import safe

if TYPE_CHECKING:
    from paddock.cluster.client import Api


@click.command("remove")
@click.option("--namespace", metavar="NAME", help="Of controllers and agents.")
@click.option(
    "--argo-namespace", metavar="NAME", default="argo", show_default=True, help="Where Argo is."
)
@with_cluster
@click.option("--volumes", is_flag=True, help="Also the volumes of runs, with the work in them.")
@click.option("--force", is_flag=True, help="Also while agents run, which ends them.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
@click.option("--json", "as_json", is_flag=True, help="One object: {objects, news, counts}.")
def remove(
    cluster: Cluster,
    namespace: str | None,
    argo_namespace: str,
    volumes: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Remove all that `apply` put into a cluster, and the AgentRuns with it.

    Volumes stay unless --volumes is said: one that is still there is of a run that has not
    succeeded. What another paddock needs, and a namespace with other things in it, stay.

    \b
    Examples:
      paddock kubernetes remove --dry-run
      paddock kubernetes remove --namespace agents --volumes
    """
    from paddock.config import cluster_settings as c
    from paddock.manifests.removing import AgentsRun, Going, Remover
    from paddock.manifests.values import NAMESPACE

    name = namespace or settings_of_host()[c.NAMESPACE] or NAMESPACE
    if not NAMESPACE_NAME.fullmatch(name):
        raise CommandError(f"--namespace: {safe(name)!r} is no name of a namespace")
    going = Going(
        namespace=name,
        argo_namespace=argo_namespace,
        volumes=volumes,
        force=force,
        dry_run=dry_run,
    )
    shown = Shown(as_json=as_json, dry_run=dry_run)

    async def do(api: Api) -> None:
        await gathered(Remover(api, going).run(), shown.show)

    try:
        cluster.ask(name, do)
    except AgentsRun as running:
        raise CommandError(str(running), ExitCode.REFUSED) from None
    shown.finish()
    return ExitCode.ENDED_OTHERWISE if "refused" in shown.counts else ExitCode.DONE
