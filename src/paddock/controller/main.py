"""`paddock kubernetes controller`: one replica, until it is told to stop or may lead no more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import secrets
import signal
import sys
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from paddock.cluster.client import Api
    from paddock.controller.controller import Controller

# The codes of the command line, whose room may not be imported from here.
DONE, OTHERWISE, BAD_USAGE, NO_CLUSTER = 0, 1, 2, 69
HEALTH: Final = "0.0.0.0:8081"

log = logging.getLogger("paddock.controller")


@click.command("controller")
@click.option("--health", default=HEALTH, show_default=True, help="Where probes are answered.")
@click.option("--json", "as_json", is_flag=True, help="Log lines as JSON objects.")
def command(health: str, as_json: bool) -> int:  # noqa: FBT001
    """Be a controller of AgentRuns: one of several replicas leads, the others wait for their turn.

    It runs in the cluster, or where a kubeconfig leads to one; `kubernetes:` in the configuration
    says the namespace, the image of agents and the rest. Manifests start two of it.

    \b
    Example:
      paddock kubernetes controller --health 127.0.0.1:8081
    """
    from paddock.config.mistakes import ConfigError

    host, _, port = health.rpartition(":")
    if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        message = f"--health: found {health!r}; allowed: an address, as in 0.0.0.0:8081"
        raise click.UsageError(message)
    _log(as_json=as_json)
    try:
        return asyncio.run(_run(host, int(port)))
    except ConfigError as error:
        click.echo(f"paddock: {error}", err=True)
        return BAD_USAGE


def _log(*, as_json: bool) -> None:
    shape = "%(asctime)s %(name)s: %(message)s"
    if as_json:
        shape = '{"at": "%(asctime)s", "from": "%(name)s", "message": "%(message)s"}'
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=shape)
    logging.getLogger("httpx2").setLevel(logging.WARNING)


async def _run(host: str, port: int) -> int:
    from paddock.cluster.client import Api, ClusterTrouble
    from paddock.config.cluster_settings import IMAGE
    from paddock.config.layers import load_settings
    from paddock.controller.controller import Controller, ControllerSettings
    from paddock.supervisor.cluster_settings import kubernetes_settings, where_of

    settings = load_settings(None)
    if settings[IMAGE] is None:
        click.echo("paddock: kubernetes.image: found none; name the image of agents", err=True)
        return BAD_USAGE
    try:
        api = Api(where_of(settings))
        await api.reachable()
    except ClusterTrouble as trouble:
        click.echo(f"paddock: {trouble}", err=True)
        return NO_CLUSTER
    chosen = ControllerSettings(kubernetes=kubernetes_settings(settings), identity=identity())
    try:
        async with await _answering(host, port):
            return await _live(Controller(api, chosen), api)
    except OSError as error:
        click.echo(f"paddock: --health {host}:{port}: {error.strerror}", err=True)
        return BAD_USAGE


def identity() -> str:
    """Of this very process: on a host's network two have its name, and in a container often 1."""
    return f"{os.uname().nodename}_{os.getpid()}_{secrets.token_hex(4)}"


async def _live(controller: Controller, api: Api) -> int:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    leading = asyncio.ensure_future(controller.run())
    stopping = asyncio.ensure_future(told.wait())
    await asyncio.wait({leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
    if leading.done():
        stopping.cancel()
        if (error := leading.exception()) is not None:
            log.error("the controller met a bug", exc_info=error)
        await api.close()
        return OTHERWISE  # whoever started it starts it anew
    leading.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await leading
    await controller.stop()
    await api.close()
    return DONE


async def _answering(host: str, port: int) -> asyncio.Server:
    """That it answers is what probes want to know: one that waits for its turn is well, too."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError):
            line = await reader.readline()
            known = line.startswith((b"GET /healthz", b"GET /readyz"))
            head = b"HTTP/1.1 200 OK" if known else b"HTTP/1.1 404 Not Found"
            writer.write(head + b"\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            await writer.drain()
        writer.close()

    return await asyncio.start_server(answer, host, port)
