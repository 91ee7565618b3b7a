"""A bed in a cluster: the stand-in with real processes, or a real one where the tests are given it.

PADDOCK_TEST_KUBECONFIG names a kubeconfig. With PADDOCK_TEST_NODES=ours the tests bring the nodes,
and agents are processes of this machine. Else the kubeconfig's current namespace is used, and
PADDOCK_TEST_IMAGE in it, which must have python3 and a shell (python:3-slim unless said). A cluster
without volumes of its own is told by PADDOCK_TEST_VOLUMES=0.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from pathlib import Path

from paddock.cluster.client import JOB, POD, Api, Where
from paddock.cluster.labels import INSTANCE, volume_name
from paddock.core.run import Attempt
from paddock.drivers.kubernetes.driver import KubernetesDriver
from paddock.drivers.kubernetes.settings import KubernetesSettings
from tests.contract.drivers.bed import Bed
from tests.kit.cluster.choice import KUBECONFIG, OWN_NODES, a_cluster

IMAGE = os.environ.get("PADDOCK_TEST_IMAGE", "python:3-slim")
AGENT = Path(__file__).parents[2] / "kit" / "agents" / "scripted.py"


async def kubernetes(directory: Path) -> Bed:
    if KUBECONFIG is None or OWN_NODES:
        return await _on_our_nodes(directory)
    return await _real(Path(KUBECONFIG), directory)


class Yield:
    """What agents wrote, as a log store would keep it."""

    def __init__(self) -> None:
        self._kept: dict[Attempt, bytes] = {}

    def write(self, attempt: Attempt, data: bytes) -> None:
        self._kept[attempt] = self._kept.get(attempt, b"") + data

    def of(self, attempt: Attempt) -> bytes:
        return self._kept.get(attempt, b"")


async def _on_our_nodes(directory: Path) -> Bed:
    volumes = directory / "volumes"
    volumes.mkdir()
    cluster = a_cluster(second_s=1.0, processes=volumes)
    api = Api(Where(kubeconfig=cluster.kubeconfig(directory)))
    instance, kept = secrets.token_hex(8), Yield()
    settings = KubernetesSettings(image="any", gauge_s=0.1)
    driver = KubernetesDriver(api, settings, instance=instance, write=kept.write)
    await driver.connect()

    def is_awake(attempt: Attempt) -> bool:
        claim = volumes / volume_name(instance, attempt.run)
        return (claim / f"awake.{attempt.run}.{attempt.number}").exists()

    async def finish() -> None:
        await driver.close()
        await api.close()
        cluster.stop()

    return Bed(
        driver=driver,
        speak=lambda *words: (sys.executable, str(AGENT), *words),
        directory=directory,
        missing_command=("no-such-command",),
        output=kept.of,
        is_awake=is_awake,
        finish=finish,
        patience_s=cluster.patience_s,
        many=30,
    )


async def _real(kubeconfig: Path, directory: Path) -> Bed:
    api = Api(Where(kubeconfig=kubeconfig))
    instance, kept = secrets.token_hex(8), Yield()
    volumes = os.environ.get("PADDOCK_TEST_VOLUMES", "1") != "0"
    settings = KubernetesSettings(image=IMAGE, gauge_s=5.0, volumes=volumes)
    driver = KubernetesDriver(api, settings, instance=instance, write=kept.write)
    await driver.connect()
    source = AGENT.read_text(encoding="utf-8")
    seen: dict[Attempt, float] = {}

    def is_awake(attempt: Attempt) -> bool:
        """Nobody can look into it: python takes less than this to begin."""
        return time.monotonic() - seen.setdefault(attempt, time.monotonic()) > 3.0

    async def finish() -> None:
        for kind in (JOB, POD):
            found, _ = await api.list(kind, labels={INSTANCE: instance})
            for one in found:
                await api.delete(kind, one["metadata"]["name"], grace_s=1)
        await driver.close()
        await api.close()

    return Bed(
        driver=driver,
        speak=lambda *words: ("python3", "-c", source, *words),
        directory=directory,
        missing_command=("no-such-command",),
        output=kept.of,
        is_awake=is_awake,
        finish=finish,
        patience_s=180.0,
        many=10,
    )
