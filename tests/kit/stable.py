"""A local driver of a test's own, with its keeper; leaves nothing behind, or the test fails."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from paddock.core.events import Event
from paddock.core.run import Attempt, Outcome
from paddock.core.units import GIB
from paddock.drivers.local.driver import LocalDriver
from paddock.drivers.local.keeper.members import look_at
from paddock.logs.output import OutputStore
from paddock.ports import Launch, Stop
from tests.kit import leaks

E = TypeVar("E", bound=Event)
CANCELLED = Stop(Outcome.CANCELLED, "killed on request")


class Stable:
    """`driver` is the one of the moment; `heard` is what all of them told, in order."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.state = directory / "state"
        self.heard: list[Event] = []
        self.output = OutputStore(self.state / "output")
        self.known: set[Attempt] = set()
        self._epoch = 0
        self._before = leaks.descriptors()
        self.connect()

    def connect(self, **more: Any) -> frozenset[Attempt]:
        """A newer daemon's driver; what it adopted."""
        self._epoch += 1
        self.driver = LocalDriver(
            self.state / "keeper", self.state / "output", epoch=self._epoch, **more
        )
        self.driver.connect()
        found = self.driver.adopt(self.heard.append)
        self.instance = (self.state / "instance").read_text(encoding="ascii").strip()
        self.known |= found
        return found

    def start(self, *command: str, run: str = "a", number: int = 1, **more: Any) -> Attempt:
        attempt = Attempt(run, number)
        usual: dict[str, Any] = {"environment": {"PATH": os.environ["PATH"]}, "limit_bytes": GIB}
        usual |= {"directory": self.directory} | more
        launch = Launch(attempt=attempt, command=command, **usual)
        self.known.add(attempt)
        self.driver.start(launch, self.heard.append)
        return attempt

    def of(self, kind: type[E], attempt: Attempt) -> list[E]:
        found = [event for event in self.heard if isinstance(event, kind)]
        return [event for event in found if getattr(event, "attempt", None) == attempt]

    async def hear(self, kind: type[E], attempt: Attempt, within_s: float = 10.0) -> E:
        await self.until(lambda: bool(self.of(kind, attempt)), within_s)
        return self.of(kind, attempt)[0]

    async def until(self, condition: Callable[[], bool], within_s: float = 10.0) -> None:
        loop = asyncio.get_running_loop()
        give_up_at = loop.time() + within_s
        while not condition():
            assert loop.time() < give_up_at, f"not within {within_s:g} s; heard {self.heard}"
            await asyncio.sleep(0.005)

    def written(self, attempt: Attempt) -> bytes:
        path = self.state / "output" / attempt.run / f"{attempt.number}.log"
        return path.read_bytes() if path.exists() else b""

    def processes(self) -> dict[int, int]:
        return leaks.marked(f"PADDOCK_ATTEMPT={self.instance}.")

    async def go_home(self) -> None:
        """Kill, forget and retire through the driver itself: what then is left is a leak."""
        driver = self.driver
        await self.until(lambda: leaks.is_alive(driver.keeper_pid))
        keeper = driver.keeper_pid
        found = look_at(keeper)
        for attempt in self.known:
            driver.kill(attempt, CANCELLED)
            driver.forget(attempt)
        left: dict[int, int] = {}
        try:
            await self.until(lambda: not driver.used_bytes())
            driver.leave(retire=True)
            await self.until(lambda: not keeper or not leaks.is_alive(keeper))
        finally:
            left = self.processes()
            leaks.end(left | ({keeper: found.start} if found else {}))
        assert left == {}, "processes of ours are left"
        fifos = [path.name for path in self.state.rglob("*") if path.is_fifo()]
        assert fifos == [], "FIFOs are left"
        assert list((self.state / "keeper").glob("*.journal")) == []
        assert (self.state / "keeper.log").read_text(encoding="utf-8") == ""
        # Lines of the event loop's own (its epoll, its wake-up pair) come and go with it.
        now = leaks.descriptors()
        assert {k: v for k, v in now.items() if self._before.get(k) != v} == {}


Scenario = Callable[[Stable], Awaitable[None]]


def in_a_stable(scenario: Scenario) -> Callable[[Path], None]:
    """An async scenario as a test. The leak check is here, so that no test can leave it out."""

    @functools.wraps(scenario)
    def test(tmp_path: Path) -> None:
        async def whole() -> None:
            stable = Stable(tmp_path)
            try:
                await scenario(stable)
            finally:
                await stable.go_home()

        asyncio.run(whole())

    del test.__wrapped__  # pytest would ask for a fixture `stable`
    return test
