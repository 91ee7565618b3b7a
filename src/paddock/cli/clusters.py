"""What commands that speak to a cluster share: which one, and one line where that goes wrong."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .exits import CommandError, ExitCode
from .here import settings_of_host
from .printing import safe

if TYPE_CHECKING:
    from paddock.cluster.client import Api

T = TypeVar("T")

_OPTIONS = (
    click.option(
        "--kubeconfig",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Which kubeconfig.  [default: the configuration's, or kubectl's]",
    ),
    click.option("--context", metavar="NAME", help="Which context of it."),
)


class Cluster:
    """Said by options; connected when it is used."""

    def __init__(self, kubeconfig: Path | None, context: str | None) -> None:
        self._kubeconfig, self._context = kubeconfig, context

    def ask(self, namespace: str, do: Callable[[Api], Awaitable[T]]) -> T:
        """Connected, and closed again. Whatever a cluster may say no with is one line."""
        from paddock.cluster.client import ClusterTrouble, Refused

        try:
            return asyncio.run(self._ask(namespace, do))
        except ClusterTrouble as trouble:
            raise CommandError(safe(str(trouble)), ExitCode.NO_DAEMON) from None
        except Refused as refused:
            from paddock.manifests.applying import why

            told = f"the cluster said no: {why(refused)}"
            raise CommandError(safe(told), ExitCode.REFUSED) from None

    async def _ask(self, namespace: str, do: Callable[[Api], Awaitable[T]]) -> T:
        from paddock.manifests.connecting import connected

        api = await connected(
            settings_of_host(),
            namespace=namespace,
            kubeconfig=self._kubeconfig,
            context=self._context,
        )
        try:
            return await do(api)
        finally:
            await api.close()


def with_cluster(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which; they become one `cluster`."""

    @functools.wraps(command)
    def inner(**options: Any) -> Any:
        cluster = Cluster(options.pop("kubeconfig"), options.pop("context"))
        return command(cluster=cluster, **options)

    for option in reversed(_OPTIONS):
        inner = option(inner)
    return inner


async def gathered(told: AsyncIterator[T], show: Callable[[T], None]) -> list[T]:
    """All of it, each shown as it comes."""
    found = []
    async for one in told:
        found.append(one)
        show(one)
    return found
