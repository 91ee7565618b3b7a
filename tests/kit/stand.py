"""Grounds of a test's own: real repositories, scratch and ports; the driver notes who begins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from paddock.core.events import Event
from paddock.core.policy import Policy
from paddock.core.run import Attempt
from paddock.drivers.fake.driver import FakeDriver
from paddock.ports import Launch, Store
from paddock.storage.memory import MemoryStore
from paddock.supervisor.grounds import Grounds
from paddock.supervisor.wanted import REPOSITORY_LABEL, Wanted
from paddock.workspaces.port_blocks import PortBlocks
from paddock.workspaces.room import Room
from paddock.workspaces.scratch import Scratch
from paddock.workspaces.sources import Manner
from tests.kit.factories import a_policy
from tests.kit.supervising import Supervised, supervised


class Noting(FakeDriver):
    def __init__(self) -> None:
        super().__init__()
        self.launched: dict[str, Launch] = {}

    def start(self, launch: Launch, tell: Callable[[Event], None]) -> None:
        self.launched[launch.attempt.run] = launch
        super().start(launch, tell)


class Counting(Room):
    """Counts how often somebody looked for room."""

    looks = 0

    def vacancy(self) -> int:
        self.looks += 1
        return super().vacancy()


class Stand:
    def __init__(self, directory: Path, *, most: int = 10) -> None:
        self.directory = directory
        self.room: Room = Counting(directory / "workspaces", most=most)
        self.grounds = Grounds(self.room, Scratch(directory / "scratch"), self.blocks())
        self.driver: Noting = Noting()
        self.store: Store = MemoryStore()

    def blocks(self) -> PortBlocks:
        (self.directory / "locks").mkdir(exist_ok=True)
        return PortBlocks((self.directory / "locks",))

    @property
    def looks(self) -> int:
        assert isinstance(self.room, Counting)
        return self.room.looks

    @property
    def scratches(self) -> list[str]:
        return sorted(path.name for path in (self.directory / "scratch").glob("*"))

    def fleeting_manner(self, repository: Path) -> Manner:
        return Wanted(repository=str(repository), fleeting=True).manner

    def state(self, run: str) -> str:
        """Of its workspace; empty where there is none."""
        record = self.room.record(run)
        return record.state.value if record else ""

    @asynccontextmanager
    async def life(self, policy: Policy | None = None) -> AsyncIterator[Supervised]:
        async with supervised(self.store, policy or a_policy(), self.driver) as one:
            one.supervisor.hands.grounds = self.grounds
            fleet = one.supervisor.fleet
            self.grounds.serve(one.supervisor.post, placeless=lambda: len(fleet.placeless))
            try:
                yield one
            finally:
                self.grounds.close()


def of(repository: Path | str, **more: Any) -> dict[str, str]:
    wanted = Wanted(repository=str(repository), **more)
    return {REPOSITORY_LABEL: msgspec.json.encode(wanted).decode()}


def a_launch(attempt: Attempt, repository: Path) -> Launch:
    """Of an attempt that works in a workspace of it."""
    return Launch(
        attempt=attempt,
        command=("true",),
        environment={},
        directory=Path("/"),
        limit_bytes=1,
        labels=of(repository),
    )
