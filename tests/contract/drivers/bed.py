"""What the contract suite needs to try a driver: a place to start attempts and to hear of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from paddock.core.events import Event, Started
from paddock.core.run import Attempt, Outcome
from paddock.core.units import GIB
from paddock.ports import Driver, Launch, Stop
from tests.kit.waiting import pauses_s

E = TypeVar("E", bound=Event)
WITHIN_S = 10.0


async def _nothing() -> None:
    pass


@dataclass
class Bed:
    """One driver under test. `speak` turns words of the pretend agents' language into a command."""

    driver: Driver
    speak: Callable[..., tuple[str, ...]]
    directory: Path
    missing_command: tuple[str, ...]
    output: Callable[[Attempt], bytes]
    # Whether the agent can be told things: a real one needs a moment after its start.
    is_awake: Callable[[Attempt], bool] = lambda _: True
    finish: Callable[[], Awaitable[None]] = _nothing
    patience_s: float = WITHIN_S
    many: int = 50  # at once
    heard: list[Event] = field(default_factory=list)
    begun: set[Attempt] = field(default_factory=set)

    def tell(self, event: Event) -> None:
        self.heard.append(event)

    def start(self, *words: str, run: str = "a", number: int = 1, limit: int = GIB) -> Attempt:
        attempt = Attempt(run, number)
        self.launch(self.speak(*words), attempt=attempt, limit=limit)
        return attempt

    def launch(self, command: tuple[str, ...], *, attempt: Attempt, limit: int = GIB) -> None:
        launch = Launch(
            attempt=attempt,
            command=command,
            environment={"PATH": "/usr/bin:/bin"},
            directory=self.directory,
            limit_bytes=limit,
        )
        self.begun.add(attempt)
        self.driver.start(launch, self.tell)

    def kill(self, attempt: Attempt) -> None:
        self.driver.kill(attempt, Stop(Outcome.CANCELLED, "killed on request"))

    def of(self, kind: type[E], attempt: Attempt) -> list[E]:
        found = [event for event in self.heard if isinstance(event, kind)]
        return [event for event in found if getattr(event, "attempt", None) == attempt]

    async def hear(self, kind: type[E], attempt: Attempt) -> E:
        """The first event of a kind about an attempt, once it has come."""
        await self.until(lambda: bool(self.of(kind, attempt)))
        return self.of(kind, attempt)[0]

    async def runs(self, attempt: Attempt) -> None:
        """Started, and able to hear."""
        await self.hear(Started, attempt)
        await self.until(lambda: self.is_awake(attempt))

    async def until(self, condition: Callable[[], bool], within_s: float | None = None) -> None:
        loop = asyncio.get_running_loop()
        within_s = within_s or self.patience_s
        give_up_at, pauses = loop.time() + within_s, pauses_s()
        while not condition():
            if loop.time() > give_up_at:
                raise AssertionError(f"waited {within_s:g} s in vain; heard {self.heard}")
            await asyncio.sleep(next(pauses))

    async def stays(self, condition: Callable[[], bool], for_s: float) -> None:
        """Holds the whole time: for what must not happen."""
        loop = asyncio.get_running_loop()
        end_at = loop.time() + for_s
        while loop.time() < end_at:
            assert condition()
            await asyncio.sleep(0.01)


MakeBed = Callable[[Path], Awaitable[Bed]]
