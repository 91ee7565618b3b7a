"""A container driver of a test's own, on podman; leaves nothing behind, or the test fails."""

from __future__ import annotations

import asyncio
import functools
import os
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from paddock.core.events import Event
from paddock.core.run import Attempt, Outcome
from paddock.core.units import MIB
from paddock.drivers.container.driver import ContainerDriver
from paddock.drivers.container.engine import Engine
from paddock.drivers.container.settings import ContainerSettings
from paddock.ports import Launch, Stop
from tests.integration.container import engine_room
from tests.kit import leaks

E = TypeVar("E", bound=Event)
MakeEngine = Callable[[Path], Engine]
CANCELLED = Stop(Outcome.CANCELLED, "killed on request")


class Pasture:
    """`driver` is the one of the moment; `heard` is what all of them told, in order."""

    def __init__(
        self, directory: Path, *, engine: MakeEngine = engine_room.engine, **settings: Any
    ) -> None:
        self.directory = directory
        self._make_engine = engine
        self.state = directory / "state"
        self.state.mkdir()
        self.heard: list[Event] = []
        self.known: set[Attempt] = set()
        self.cgroup = f"/paddock-test-{uuid.uuid4().hex[:12]}"
        self._epoch = 0
        self._settings = settings
        self._before = leaks.descriptors()
        self.connect()

    def connect(self, **changed: Any) -> frozenset[Attempt]:
        """A newer daemon's driver; what it adopted."""
        self._epoch += 1
        usual: dict[str, Any] = {
            "image": engine_room.IMAGE,
            "network": "none",
            "cgroup_parent": self.cgroup,
        }
        usual |= {"mounts": engine_room.mounts()} | self._settings | changed
        self.engine = self._make_engine(self.state)
        self.driver = ContainerDriver(
            self.state,
            self.state / "output",
            engine=self.engine,
            settings=ContainerSettings(**usual),
            epoch=self._epoch,
        )
        self.driver.connect()
        self.instance = (self.state / "instance").read_text(encoding="ascii").strip()
        found = self.driver.adopt(self.heard.append)
        self.known |= found
        return found

    def start(self, *command: str, run: str = "a", number: int = 1, **more: Any) -> Attempt:
        attempt = Attempt(run, number)
        usual: dict[str, Any] = {"environment": {"PATH": "/bin"}, "limit_bytes": 256 * MIB}
        usual |= {"directory": self.directory} | more
        self.known.add(attempt)
        launch = Launch(attempt=attempt, command=command, **usual)
        self.driver.start(launch, self.heard.append)
        return attempt

    def of(self, kind: type[E], attempt: Attempt) -> list[E]:
        found = [event for event in self.heard if isinstance(event, kind)]
        return [event for event in found if getattr(event, "attempt", None) == attempt]

    async def hear(self, kind: type[E], attempt: Attempt, within_s: float = 20.0) -> E:
        await self.until(lambda: bool(self.of(kind, attempt)), within_s)
        return self.of(kind, attempt)[0]

    async def until(self, condition: Callable[[], bool], within_s: float = 20.0) -> None:
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

    def containers(self) -> str:
        label = f"label=dev.paddock.instance={self.instance}"
        found = engine_room.podman("ps", "--all", "--quiet", "--filter", label)
        assert found.returncode == 0, found.stderr
        return found.stdout.decode()

    async def go_home(self) -> None:
        """Kill and forget through the driver itself: what then is left is a leak."""
        for attempt in self.known:
            self.driver.kill(attempt, CANCELLED)
            self.driver.forget(attempt)
        try:
            await self.until(lambda: not self.driver.used_bytes(), 60)
            await self.driver.settled()
        finally:
            containers, left = self.containers(), self.processes()
            self.driver.close()
            leaks.end(left)
        await self.until(lambda: not holders(self.state))
        await self.until(lambda: not serves(self.state))
        assert (containers, left) == ("", {}), "containers or processes of ours are left"
        boxes = [path.name for path in self.state.glob("containers/*/*") if path.is_dir()]
        assert boxes == [], "boxes are left"
        now = leaks.descriptors()
        assert {k: v for k, v in now.items() if self._before.get(k) != v} == {}
        await self.until(self._cgroups_removed)

    def _cgroups_removed(self) -> bool:
        """Ours only, by its random name; the engine leaves the parent and its conmon's behind."""
        for parent in self._parents():
            try:
                for path in [*(each for each in parent.iterdir() if each.is_dir()), parent]:
                    path.rmdir()
            except OSError:
                return False
        return True

    def _parents(self) -> list[Path]:
        roots = [Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").iterdir()]
        return [found for root in roots if (found := root / self.cgroup[1:]).is_dir()]


def holders(state: Path) -> list[int]:
    """Holder processes that look after this directory: one of their arguments is its name."""
    return [pid for live in state.glob("containers/*") for pid in _with_argument(os.fsencode(live))]


def serves(state: Path) -> list[int]:
    """Podman's services for this directory."""
    return _with_argument(b"unix://" + os.fsencode(state / "podman-"))


def _with_argument(wanted: bytes) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if _is_among(words, wanted) and leaks.is_alive(int(path.parent.name)):
            found.append(int(path.parent.name))
    return found


def _is_among(words: list[bytes], wanted: bytes) -> bool:
    """As a whole, or for what ends in a hyphen as the beginning of one."""
    if wanted.endswith(b"-"):
        return any(word.startswith(wanted) for word in words)
    return wanted in words


Scenario = Callable[[Pasture], Awaitable[None]]


def in_a_pasture(scenario: Scenario) -> Callable[[Path], None]:
    """An async scenario as a test. The leak check is here, so that no test can leave it out."""

    @functools.wraps(scenario)
    def test(tmp_path: Path) -> None:
        if (reason := engine_room.lacking()) is not None:
            pytest.skip(reason)

        async def whole() -> None:
            pasture = Pasture(tmp_path)
            try:
                await scenario(pasture)
            finally:
                await pasture.go_home()

        asyncio.run(whole())

    del test.__wrapped__  # pytest would ask for a fixture `pasture`
    return test
