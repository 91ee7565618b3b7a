"""Which cluster is meant: by the configuration, or by what was said instead."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from paddock.cluster.client import Api
from paddock.config.settings import Settings
from paddock.supervisor.cluster_settings import where_of


async def connected(
    settings: Settings, *, namespace: str, kubeconfig: Path | None, context: str | None
) -> Api:
    """ClusterTrouble where there is none, in one line."""
    where = replace(where_of(settings), namespace=namespace)
    if kubeconfig is not None:
        where = replace(where, kubeconfig=kubeconfig)
    if context is not None:
        where = replace(where, context=context)
    api = Api(where)
    try:
        await api.reachable()
    except BaseException:
        await api.close()
        raise
    return api
