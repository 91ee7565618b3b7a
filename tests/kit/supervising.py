"""A whole supervisor in a test: the real loop, the fake driver, a store of the test's choice."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from paddock.core.actions import Refuse
from paddock.core.events import Host, Sampled, Submitted
from paddock.core.policy import Policy
from paddock.core.run import Ended, Run, RunSpec
from paddock.drivers.fake.driver import FakeDriver
from paddock.ports import Driver, Recipe, Step, Store
from paddock.storage.memory import MemoryStore
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.recovery import inherit, recover
from tests.kit.factories import a_host, a_policy
from tests.kit.waiting import pauses_s


@dataclass
class Supervised:
    supervisor: Supervisor
    driver: Driver

    async def submit(
        self, spec: RunSpec, *command: str, labels: Mapping[str, str] | None = None
    ) -> Sequence[Refuse]:
        recipe = a_recipe(*command, labels=labels)
        return await self.supervisor.ask(
            lambda now: Submitted(now, (spec,)), recipes={spec.id: recipe}
        )

    def look(self, host: Host | None = None) -> None:
        used = self.supervisor.hands.used_bytes()
        self.supervisor.post(Sampled(0.0, host or a_host(), used))

    async def ended(self, *runs: str, within_s: float = 10.0) -> list[Ended]:
        assert await self.supervisor.ended(runs, within_s=within_s), self.states()
        found = [self.supervisor.fleet.runs[run].state for run in runs]
        return [state for state in found if isinstance(state, Ended)]

    def states(self) -> dict[str, str]:
        return {run: type(r.state).__name__ for run, r in self.supervisor.fleet.runs.items()}

    def run(self, run: str) -> Run:
        return self.supervisor.fleet.runs[run]


def a_recipe(*command: str, labels: Mapping[str, str] | None = None) -> Recipe:
    environment = {"PATH": "/usr/bin:/bin"}
    return Recipe(
        command=command, directory=Path("/"), environment=environment, labels=labels or {}
    )


@asynccontextmanager
async def supervised(
    store: Store | None = None, policy: Policy | None = None, driver: Driver | None = None
) -> AsyncIterator[Supervised]:
    """One daemon's life, from what the store remembers until it stops in good order."""
    kept = MemoryStore() if store is None else store
    inherited = inherit(kept, policy or a_policy())
    chosen = FakeDriver() if driver is None else driver
    supervisor = Supervisor(inherited.fleet, kept, inherited.clock, {"fake": chosen}, "fake")
    writer = asyncio.create_task(supervisor.write())
    supervisor.begin(inherited.epoch)
    try:
        await recover(supervisor, inherited)
        one = Supervised(supervisor, chosen)
        one.look()
        yield one
    finally:
        writer.cancel()
        with suppress(asyncio.CancelledError):
            await writer
        if store is None:
            await supervisor.close()


async def until(condition: Callable[[], bool], within_s: float = 30.0) -> None:
    give_up_at, pauses = time.monotonic() + within_s, pauses_s()
    while not condition():
        assert time.monotonic() < give_up_at, "waited in vain"
        await asyncio.sleep(next(pauses))


def in_a_loop(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario()

    asyncio.run(whole())


class SlowStore(MemoryStore):
    """Every write waits until it is let through."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.writes = 0

    def remember_many(self, steps: Sequence[Step]) -> None:
        self.gate.wait(10)
        self.writes += 1
        super().remember_many(steps)
