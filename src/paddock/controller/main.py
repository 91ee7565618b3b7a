"""`paddock kubernetes controller`: one replica, until it is told to stop or may lead no more."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import re
import secrets
import signal
import sys
from collections.abc import Callable, Mapping
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
@click.option("--metrics", metavar="ADDRESS", help="Where Prometheus is; nowhere unless said.")
@click.option("--json", "as_json", is_flag=True, help="Log lines as JSON objects.")
def command(health: str, metrics: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Be a controller of AgentRuns: one of several replicas leads, the others wait for their turn.

    It runs in the cluster, or where a kubeconfig leads to one; `kubernetes:` in the configuration
    says the namespace, the image of agents and the rest. Manifests start two of it.

    \b
    Example:
      paddock kubernetes controller --health 127.0.0.1:8081 --metrics 127.0.0.1:8082
    """
    from paddock.config.mistakes import ConfigError

    doors = {"--health": _address("--health", health)}
    if metrics is not None:
        doors["--metrics"] = _address("--metrics", metrics)
    _log(as_json=as_json)
    try:
        return asyncio.run(_run(doors))
    except ConfigError as error:
        click.echo(f"paddock: {error}", err=True)
        return BAD_USAGE


def _address(option: str, said: str) -> tuple[str, int]:
    host, _, port = said.rpartition(":")
    if not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65535:
        message = f"{option}: found {said!r}; allowed: an address, as in 0.0.0.0:8081"
        raise click.UsageError(message)
    return host, int(port)


class JsonLines(logging.Formatter):
    """One object a line, whatever is in the message."""

    def format(self, record: logging.LogRecord) -> str:
        said = {
            "at": self.formatTime(record),
            "level": record.levelname.lower(),
            "from": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            said["trace"] = self.formatException(record.exc_info)
        return json.dumps(said)


def _log(*, as_json: bool) -> None:
    told = logging.StreamHandler(sys.stderr)
    plain = logging.Formatter("%(asctime)s %(name)s: %(message)s")
    told.setFormatter(JsonLines() if as_json else plain)
    logging.basicConfig(level=logging.INFO, handlers=[told])
    logging.getLogger("httpx2").setLevel(logging.WARNING)


async def _run(doors: Mapping[str, tuple[str, int]]) -> int:
    from paddock.cluster.client import Api, ClusterTrouble
    from paddock.config.cluster_settings import IMAGE
    from paddock.config.layers import load_settings
    from paddock.controller.answering import answer
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
    controller = Controller(api, chosen)
    async with contextlib.AsyncExitStack() as stack:
        for option, (host, port) in doors.items():
            try:
                await stack.enter_async_context(
                    await answer(host, port, _pages(option, controller))
                )
            except OSError as error:
                click.echo(f"paddock: {option} {host}:{port}: {error.strerror}", err=True)
                return BAD_USAGE
        return await _live(controller, api)


def _pages(option: str, controller: Controller) -> dict[str, Callable[[], bytes]]:
    """Each at its own door: who may look at the fleet is for the network to say."""
    if option == "--metrics":
        return {"/metrics": controller.metrics}
    return {"/healthz": _well, "/readyz": _well}


def _well() -> bytes:
    return b"ok"


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
