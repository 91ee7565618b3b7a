"""A driver of a test's own, whichever it is: starting attempts on it and hearing of them."""

from __future__ import annotations

import asyncio
import functools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from paddock.core.events import Event
from paddock.core.run import Attempt, Outcome
from paddock.ports import Driver, Launch, Stop
from tests.kit import leaks
from tests.kit.waiting import pauses_s

E = TypeVar("E", bound=Event)
G = TypeVar("G", bound="Grounds")
CANCELLED = Stop(Outcome.CANCELLED, "killed on request")


class Grounds(ABC):
    """`driver` is the one of the moment; `heard` is what all of them told, in order."""

    driver: Driver
    instance: str
    patience_s = 10.0
    usual: dict[str, Any]  # what attempts are launched with, unless a test says otherwise

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.state = directory / "state"
        self.heard: list[Event] = []
        self.known: set[Attempt] = set()
        self._epoch = 0
        self._before = leaks.descriptors()

    @abstractmethod
    async def go_home(self) -> None:
        """Kill and forget through the driver itself: what then is left is a leak."""

    def start(self, *command: str, run: str = "a", number: int = 1, **more: Any) -> Attempt:
        attempt = Attempt(run, number)
        given = self.usual | {"directory": self.directory} | more
        self.known.add(attempt)
        self.driver.start(Launch(attempt=attempt, command=command, **given), self.heard.append)
        return attempt

    def of(self, kind: type[E], attempt: Attempt) -> list[E]:
        found = [event for event in self.heard if isinstance(event, kind)]
        return [event for event in found if getattr(event, "attempt", None) == attempt]

    async def hear(self, kind: type[E], attempt: Attempt, within_s: float | None = None) -> E:
        await self.until(lambda: bool(self.of(kind, attempt)), within_s)
        return self.of(kind, attempt)[0]

    async def until(self, condition: Callable[[], bool], within_s: float | None = None) -> None:
        loop = asyncio.get_running_loop()
        within_s = within_s or self.patience_s
        give_up_at, pauses = loop.time() + within_s, pauses_s()
        while not condition():
            assert loop.time() < give_up_at, f"not within {within_s:g} s; heard {self.heard}"
            await asyncio.sleep(next(pauses))

    async def look_until(self, condition: Callable[[], bool], within_s: float = 15.0) -> int:
        """Looks as the eyes do; how many looks it took."""
        loop = asyncio.get_running_loop()
        give_up_at, looks = loop.time() + within_s, 0
        while not condition():
            assert loop.time() < give_up_at, f"not within {within_s:g} s; heard {self.heard}"
            self.driver.used_bytes()
            looks += 1
            for _ in range(20):
                if not condition():
                    await asyncio.sleep(0.01)
        return looks

    def written(self, attempt: Attempt) -> bytes:
        path = self.state / "output" / attempt.run / f"{attempt.number}.log"
        return path.read_bytes() if path.exists() else b""

    def processes(self) -> dict[int, int]:
        return leaks.marked(f"PADDOCK_ATTEMPT={self.instance}.")

    def end_all(self) -> None:
        for attempt in self.known:
            self.driver.kill(attempt, CANCELLED)
            self.driver.forget(attempt)

    def check_descriptors(self) -> None:
        # Lines of the event loop's own (its epoll, its wake-up pair) come and go with it.
        now = leaks.descriptors()
        assert {k: v for k, v in now.items() if self._before.get(k) != v} == {}


Scenario = Callable[[G], Awaitable[None]]


def scenarios_on(
    make: Callable[[Path], G], *, lacking: Callable[[], str | None] = lambda: None
) -> Callable[[Scenario[G]], Callable[[Path], None]]:
    """Async scenarios as tests. The leak check is here, so that no test can leave it out."""

    def made(scenario: Scenario[G]) -> Callable[[Path], None]:
        @functools.wraps(scenario)
        def test(tmp_path: Path) -> None:
            if (reason := lacking()) is not None:
                pytest.skip(reason)

            async def whole() -> None:
                grounds = make(tmp_path)
                try:
                    await scenario(grounds)
                finally:
                    await grounds.go_home()

            asyncio.run(whole())

        del test.__wrapped__  # pytest would ask for a fixture of that name
        return test

    return made
