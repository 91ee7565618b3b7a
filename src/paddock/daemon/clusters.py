"""The driver for Kubernetes, where a cluster is configured and can be reached."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Final

from paddock.cluster.client import Api, ClusterTrouble
from paddock.config import cluster_settings as c
from paddock.config.layers import load_settings
from paddock.config.mistakes import ConfigError
from paddock.config.places import Places
from paddock.config.settings import Settings
from paddock.core.run import Ended, Outcome, outcome_of
from paddock.drivers.attempts import instance_of
from paddock.drivers.kubernetes.driver import DriverTrouble, KubernetesDriver
from paddock.logs.output import OutputStore
from paddock.ports import Driver
from paddock.supervisor.cluster_settings import kubernetes_settings, where_of
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.recovery import has_succeeded, take_up
from paddock.supervisor.thoughts import Parting

NAME: Final = "kubernetes"
RECONNECT_S: Final = 5.0
IN_VAIN: Final = 2  # a server that is started anew is not worth a line in every story

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
    except (ClusterTrouble, OSError) as trouble:  # the note of it may be impossible, too
        return f"cannot be used: {trouble}"
    try:
        await driver.connect()
    except DriverTrouble as trouble:
        await driver.close()
        return f"cannot be used: {trouble}"
    return driver


class ClusterLine:
    """The cluster as a daemon has it: there, silent, or not wanted.

    A daemon starts also while it is silent. Runs that live there are left as they are until it
    answers: whoever took them for lost would start some of them a second time.
    """

    def __init__(
        self,
        supervisor: Supervisor,
        drivers: dict[str, Driver],
        places: Places,
        output: OutputStore,
    ) -> None:
        self._supervisor, self._drivers = supervisor, drivers
        self._places, self._output = places, output
        self._driver: ClusterDriver | None = None
        self._in_vain = 0  # times in a row that it was asked and did not answer

    async def connect(self, stack: AsyncExitStack) -> bool:
        """Among the drivers, or whoever asks for it is told why not."""
        settings, fleet = load_settings(None), self._supervisor.fleet
        if not any(run.spec.away and outcome_of(run) is None for run in fleet.runs.values()):
            with suppress(OSError):  # it costs a question to a cluster, at the most
                _used(self._places).unlink(missing_ok=True)  # only an image asks for one now
        found = await cluster_driver(self._places, settings, self._output)
        if isinstance(found, str):
            self._supervisor.absent[NAME] = found
            if fleet.away or is_wanted(self._places, settings):
                self._supervisor.silence.goes_on(found)
            return False
        self._supervisor.absent.pop(NAME, None)
        self._drivers[NAME] = self._driver = found
        self._supervisor.on_parting.append(partial(_part, found))
        stack.push_async_callback(found.close)
        found.tidy_up(partial(has_succeeded, self._supervisor))
        return True

    async def watch(self, stack: AsyncExitStack) -> None:
        """One that is silent is asked again: runs wait for it, or live there."""
        while True:
            await asyncio.sleep(RECONNECT_S)
            if self._driver is not None:
                await self._look_at(self._driver)
            elif self._supervisor.silence.since_at is not None:
                await self._ask_again(stack)

    async def _ask_again(self, stack: AsyncExitStack) -> None:
        try:
            if await self.connect(stack):
                self._supervisor.silence.is_over()
                await take_up(self._supervisor, NAME)
        except ConfigError as error:
            log.warning("the cluster is not asked: %s", error)

    async def _look_at(self, driver: ClusterDriver) -> None:
        """Only where a watch broke off: else the cluster speaks by itself."""
        trouble: ClusterTrouble | None = None
        if driver.is_broken:
            try:
                await driver.api.reachable()
            except ClusterTrouble as error:
                trouble = error
        self._in_vain = 0 if trouble is None else self._in_vain + 1
        if trouble is None:
            self._supervisor.silence.is_over()
        elif self._in_vain >= IN_VAIN:
            self._supervisor.silence.goes_on(str(trouble))

    def notices(self) -> tuple[str, ...]:
        silence, there = self._supervisor.silence, len(self._supervisor.fleet.away)
        if silence.since_at is None:
            return ()
        runs = f"; {there} taken for alive there until it does" if there else ""
        return (f"{silence.sentence} ({silence.because}){runs}",)


def _part(driver: ClusterDriver, parting: Parting) -> None:
    if parting.recipe is not None and parting.recipe.labels.get("driver") == NAME:
        state = parting.run.state
        succeeded = isinstance(state, Ended) and state.outcome is Outcome.SUCCEEDED
        driver.part(parting.run.id, succeeded=succeeded)
