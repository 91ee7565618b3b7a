"""The driver for Kubernetes, where a cluster is configured and can be reached."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Final

from paddock.cluster.client import Api, ClusterTrouble
from paddock.config import cluster_settings as c
from paddock.config.layers import load_settings
from paddock.config.mistakes import ConfigError
from paddock.config.places import Places
from paddock.config.settings import Settings
from paddock.core.run import Ended, Outcome
from paddock.drivers.attempts import instance_of
from paddock.drivers.kubernetes.driver import DriverTrouble, KubernetesDriver
from paddock.logs.output import OutputStore
from paddock.ports import Driver
from paddock.supervisor.cluster_settings import kubernetes_settings, where_of
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.thoughts import Parting

NAME: Final = "kubernetes"
RECONNECT_S: Final = 5.0

log = logging.getLogger("paddock.daemon")


def is_wanted(places: Places, settings: Settings) -> bool:
    """Whoever named a cluster to kubectl or an image to paddock, or has agents in one. Nobody else
    waits for a cluster when a daemon starts."""
    if importlib.util.find_spec("lightkube") is None:
        return False
    return settings[c.IMAGE] is not None or _used(places).exists()


def _used(places: Places) -> Path:
    return places.state / "kubernetes"


class ClusterDriver(KubernetesDriver):
    """With an Api of its own, and a note that agents may be in the cluster."""

    def __init__(self, places: Places, settings: Settings, output: OutputStore) -> None:
        super().__init__(
            Api(where_of(settings)),
            kubernetes_settings(settings),
            instance=instance_of(places.state),
            write=output.append,
            expect=output.intake.expect,
            written=output.written,
        )
        _used(places).touch(mode=0o600)

    async def close(self) -> None:
        await super().close()
        await self.api.close()


async def cluster_driver(
    places: Places, settings: Settings, output: OutputStore
) -> ClusterDriver | str:
    """Connected; or what is to be done about it, as the end of a sentence."""
    if importlib.util.find_spec("lightkube") is None:
        how = "pip install '.[kubernetes]' in paddock's checkout"
        return f"needs lightkube: {how}, then paddock daemon stop"
    if not is_wanted(places, settings):
        return "needs an image to run agents in: set kubernetes.image, then paddock daemon stop"
    try:
        driver = ClusterDriver(places, settings, output)
    except ClusterTrouble as trouble:
        return f"cannot be used: {trouble}"
    try:
        await driver.connect()
    except DriverTrouble as trouble:
        await driver.close()
        return f"cannot be used: {trouble}"
    return driver


async def connect_cluster(
    stack: AsyncExitStack,
    supervisor: Supervisor,
    drivers: dict[str, Driver],
    places: Places,
    output: OutputStore,
) -> str | None:
    """Among the drivers, or whoever asks for it is told why not. A sentence: a daemon that went on
    without it would take agents for lost."""
    found = await cluster_driver(places, load_settings(None), output)
    if isinstance(found, str):
        supervisor.absent[NAME] = found
        if any(run.spec.away for run in supervisor.fleet.live_runs()):
            return f"agents run in a cluster, and the driver for it {found}"
        return None
    supervisor.absent.pop(NAME, None)
    drivers[NAME] = found
    supervisor.on_parting.append(partial(_part, found))
    stack.push_async_callback(found.close)
    return None


async def await_cluster(
    stack: AsyncExitStack,
    supervisor: Supervisor,
    drivers: dict[str, Driver],
    places: Places,
    output: OutputStore,
) -> None:
    """One that did not answer when the daemon started is asked again: runs may wait for it."""
    wanted = is_wanted(places, load_settings(None))
    while True:
        await asyncio.sleep(RECONNECT_S)
        if not wanted or NAME in drivers:
            continue
        try:
            await connect_cluster(stack, supervisor, drivers, places, output)
        except ConfigError as error:
            log.warning("the cluster is not asked: %s", error)


def _part(driver: ClusterDriver, parting: Parting) -> None:
    if parting.recipe is not None and parting.recipe.labels.get("driver") == NAME:
        state = parting.run.state
        succeeded = isinstance(state, Ended) and state.outcome is Outcome.SUCCEEDED
        driver.part(parting.run.id, succeeded=succeeded)
