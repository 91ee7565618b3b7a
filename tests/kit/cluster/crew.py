"""Controllers as a Deployment starts them: in pods of the tests' nodes, with the settings of their
ConfigMap, and no more rights than their account has.

They are the real `Controller`, in the nodes' own loop, over HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from paddock.cluster.client import Api, Where
from paddock.config.layers import settings_of
from paddock.controller.controller import Controller, ControllerSettings
from paddock.controller.leading import Terms
from paddock.controller.requests import Reader
from paddock.supervisor.cluster_settings import kubernetes_settings
from tests.kit.cluster.lives import End, Life, Log, Scripted
from tests.kit.cluster.objects import CONFIG, Object

if TYPE_CHECKING:
    from tests.kit.cluster.choice import AnyCluster


# One that is told to go gives its lease back at once: only a death takes so long.
PATIENT = Terms(lease_s=6.0, renew_s=5.0, retry_s=0.2)


def man(cluster: AnyCluster) -> None:
    """From now on pods of controllers are real ones."""

    def life_of(pod: Object, log: Log) -> Life:
        is_controller = pod["spec"]["containers"][0]["name"] == "controller"
        return ControllerLife(cluster, pod) if is_controller else Scripted(pod, log)

    cluster.live_as(life_of)


class ControllerLife:
    def __init__(self, cluster: AnyCluster, pod: Object) -> None:
        self._cluster, self._pod = cluster, pod
        self._gentle = True
        self._over = asyncio.Event()

    async def live(self) -> End:
        meta = self._pod["metadata"]
        with tempfile.TemporaryDirectory() as directory:
            account, space = self._pod["spec"]["serviceAccountName"], meta["namespace"]
            token = await self._cluster.token_of(account, space)
            path = Path(directory)
            api = Api(
                Where(
                    namespace=meta["namespace"],
                    kubeconfig=self._cluster.kubeconfig(path, token=token),
                )
            )
            controller = self._controller(api, await self._settings(), path)
        leading = asyncio.ensure_future(self._lead(controller))
        try:
            await self._over.wait()
            leading.cancel()
            await asyncio.gather(leading, return_exceptions=True)
            if self._gentle:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(controller.stop(), 2)
        finally:
            await api.close()
        return End(0)

    async def _settings(self) -> str:
        """As its container would read the file that is mounted for it."""
        volumes = {one["name"]: one for one in self._pod["spec"]["volumes"]}
        name = volumes["settings"]["configMap"]["name"]
        found = await self._cluster.read(CONFIG, name, self._pod["metadata"]["namespace"])
        return str(found["data"]["config.yaml"])

    def _controller(self, api: Api, said: str, directory: Path) -> Controller:
        meta = self._pod["metadata"]
        file = directory / "config.yaml"
        file.write_text(said, encoding="utf-8")
        settings = settings_of({"host": file})
        chosen = ControllerSettings(
            kubernetes=kubernetes_settings(settings),
            identity=meta["name"],
            terms=PATIENT,
            tick_s=0.05,
            explain_s=0.2,
            patience_s=0.5,
        )
        return Controller(api, chosen, Reader(chosen.kubernetes.tiers, settings))

    async def _lead(self, controller: Controller) -> None:
        while True:
            await controller.run()

    def term(self) -> None:
        self._over.set()

    def kill(self) -> None:
        self._gentle = False
        self._over.set()

    def annotate(self, annotations: dict[str, str]) -> None:
        pass

    def used_bytes(self) -> int:
        return 64 << 20
