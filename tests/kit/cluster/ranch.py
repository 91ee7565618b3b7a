"""A driver on a cluster of scripted pods, and what it told."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from paddock.cluster.client import Api, Where
from paddock.core.events import Event
from paddock.core.run import Attempt, Priority
from paddock.core.units import GIB
from paddock.drivers.kubernetes.driver import KubernetesDriver
from paddock.drivers.kubernetes.settings import KubernetesSettings
from paddock.ports import Launch
from tests.kit.cluster.choice import AnyCluster, a_cluster

E = TypeVar("E", bound=Event)


@dataclass
class Ranch:
    cluster: AnyCluster
    directory: Path
    driver: KubernetesDriver
    api: Api
    heard: list[Event] = field(default_factory=list)
    written: dict[Attempt, bytes] = field(default_factory=dict)

    def start(self, *words: str, run: str = "a", number: int = 1, **facts: object) -> Attempt:
        attempt = Attempt(run, number)
        known = {"limit_bytes": GIB, "priority": Priority.NORMAL} | facts
        launch = Launch(
            attempt=attempt,
            command=words,
            environment={},
            directory=Path("/"),
            **known,  # type: ignore[arg-type]
        )
        self.driver.start(launch, self.heard.append)
        return attempt

    async def hear(self, kind: type[E], attempt: Attempt) -> E:
        def found() -> list[E]:
            of_kind = [event for event in self.heard if isinstance(event, kind)]
            return [event for event in of_kind if getattr(event, "attempt", None) == attempt]

        await self.until(lambda: bool(found()))
        return found()[0]

    async def until(self, condition: Callable[[], bool]) -> None:
        give_up_at = time.monotonic() + self.cluster.patience_s
        while not condition():
            assert time.monotonic() < give_up_at, f"waited in vain; heard {self.heard}"
            await asyncio.sleep(0.01)

    def pod(self) -> str:
        (found,) = self.cluster.pods()
        return str(found["metadata"]["name"])

    async def again(self, **settings: object) -> None:
        """Another daemon, after this one died without a word."""
        await self.driver.close()
        self.heard.clear()
        self.driver = make_driver(self.api, self.written, **settings)
        await self.driver.connect()
        self.driver.adopt(self.heard.append)


def make_driver(api: Api, written: dict[Attempt, bytes], **settings: object) -> KubernetesDriver:
    def write(attempt: Attempt, data: bytes) -> None:
        written[attempt] = written.get(attempt, b"") + data

    known = KubernetesSettings(image="agents:1", **settings)  # type: ignore[arg-type]
    size = lambda attempt: len(written.get(attempt, b""))  # noqa: E731
    return KubernetesDriver(api, known, instance="0123456789abcdef", write=write, written=size)


Scenario = Callable[[Ranch], Awaitable[None]]


def on_a_ranch(**settings: object) -> Callable[[Scenario], Callable[[Path], None]]:
    def decorate(scenario: Scenario) -> Callable[[Path], None]:
        @functools.wraps(scenario)
        def test(tmp_path: Path) -> None:
            async def whole() -> None:
                with a_cluster() as cluster:
                    api = Api(Where(kubeconfig=cluster.kubeconfig(tmp_path)))
                    written: dict[Attempt, bytes] = {}
                    driver = make_driver(api, written, **settings)
                    await driver.connect()
                    ranch = Ranch(cluster, tmp_path, driver, api, written=written)
                    try:
                        await scenario(ranch)
                    finally:
                        await ranch.driver.close()
                        await api.close()

            asyncio.run(whole())

        del test.__wrapped__
        return test

    return decorate
