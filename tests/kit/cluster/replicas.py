"""Controllers against the stand-in: as many replicas as a test likes, and AgentRuns for them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from paddock.cluster.agent_run import crd
from paddock.cluster.client import Api, Where
from paddock.controller.controller import Controller, ControllerSettings
from paddock.controller.leading import Terms
from paddock.drivers.kubernetes.settings import KubernetesSettings
from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.objects import Kind, Object

AGENT_RUNS = Kind("paddock.dev", "v1", "agentruns", "AgentRun", has_status=True)
# A renewal that takes longer than that is none: a busy machine needs its time.
QUICK = Terms(lease_s=2.0, renew_s=1.5, retry_s=0.1)
REAL = Terms(lease_s=6.0, renew_s=5.0, retry_s=0.2)  # with a server that writes to a disk


class Replicas:
    def __init__(
        self, cluster: AnyCluster, directory: Path, definition: Object | None = None
    ) -> None:
        self.cluster, self._directory = cluster, directory
        self.terms = REAL if cluster.is_real else QUICK
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self.controllers: dict[str, Controller] = {}
        self.apis: dict[str, Api] = {}
        cluster.define(definition or crd())

    def add(self, name: str, **settings: Any) -> Controller:
        api = Api(Where(kubeconfig=self.cluster.kubeconfig(self._directory)))
        driver = KubernetesSettings(image="agents:1", **settings)
        chosen = ControllerSettings(
            kubernetes=driver,
            identity=name,
            terms=self.terms,
            tick_s=0.05,
            explain_s=0.2,
            patience_s=0.2,
        )
        controller = Controller(api, chosen)
        self.controllers[name], self.apis[name] = controller, api
        self._tasks[name] = asyncio.ensure_future(self._live(controller))
        return controller

    async def _live(self, controller: Controller) -> None:
        """As a Deployment does: one that may not lead any more begins anew."""
        while True:
            await controller.run()

    async def kill(self, name: str) -> None:
        """Without a word: the lease is not given back, nothing more is written."""
        task = self._tasks.pop(name)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await self.apis.pop(name).close()
        del self.controllers[name]

    def leader(self) -> str | None:
        return next((name for name, one in self.controllers.items() if one.ready.is_set()), None)

    async def close(self) -> None:
        for name in list(self._tasks):
            await self.kill(name)

    # -- runs -----------------------------------------------------------------------------

    def apply(self, name: str, *words: str, **spec: Any) -> Object:
        wanted = {"metadata": {"name": name}, "spec": {"command": list(words), **spec}}
        return self.cluster.create(AGENT_RUNS, wanted)

    def status(self, name: str) -> Object:
        found = self.cluster.find(AGENT_RUNS, name)
        return {} if found is None else found.get("status", {})

    def outcomes(self) -> Counter[str]:
        found = self.cluster.all(AGENT_RUNS)
        return Counter(str(one.get("status", {}).get("outcome")) for one in found)

    async def ended(self, *names: str, within_s: float | None = None) -> None:
        await self.until(
            lambda: all(self.status(name).get("state") == "ended" for name in names), within_s
        )

    async def until(self, condition: Callable[[], bool], within_s: float | None = None) -> None:
        within_s = max(within_s or 0.0, self.cluster.patience_s)
        give_up_at = asyncio.get_running_loop().time() + within_s
        while not condition():
            if asyncio.get_running_loop().time() > give_up_at:
                found = self.cluster.all(AGENT_RUNS)
                shown = [(one["metadata"]["name"], one.get("status")) for one in found][:5]
                raise AssertionError(f"waited {within_s:g} s in vain: {shown}")
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def replicas(
    cluster: AnyCluster, directory: Path, definition: Object | None = None
) -> AsyncIterator[Replicas]:
    found = Replicas(cluster, directory, definition)
    try:
        yield found
    finally:
        await found.close()
