"""A container driver of a test's own; leaves nothing behind, or the test fails."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from paddock.cgroups.mounts import mounts
from paddock.core.run import Attempt
from paddock.core.units import MIB
from paddock.drivers.container.driver import ContainerDriver
from paddock.drivers.container.engine import Engine
from paddock.drivers.container.fleet_wall import FleetWall
from paddock.drivers.container.settings import ContainerSettings
from paddock.drivers.local.containment.choosing import write_home
from tests.integration.container import docker_room, engine_room
from tests.kit import leaks
from tests.kit.grounds import CANCELLED, Grounds, Scenario, scenarios_on
from tests.kit.guest_place import in_a_guest
from tests.kit.walls import a_home, removed

__all__ = ["CANCELLED", "ROOMS", "Pasture", "holders", "in_a_pasture", "on_each_engine", "serves"]

Ask = Callable[..., subprocess.CompletedProcess[bytes]]


@dataclass(frozen=True)
class Room:
    """An engine to try the driver on. `ask` is its command, as somebody else would use it, and
    `environment` what our stand-in for a daemon finds it by."""

    engine: Callable[[Path], Engine]
    ask: Ask
    lacking: Callable[[], str | None]
    environment: Callable[[], dict[str, str]] = dict


PODMAN = Room(engine_room.engine, engine_room.ask, engine_room.lacking)
DOCKER = Room(docker_room.engine, docker_room.ask, docker_room.lacking, docker_room.environment)
ROOMS = {"podman": PODMAN, "docker": DOCKER}


class Pasture(Grounds):
    driver: ContainerDriver
    patience_s = 90.0 if in_a_guest() else 20.0  # a container takes 20 s to start under emulation

    def __init__(self, directory: Path, *, room: Room = PODMAN, **settings: Any) -> None:
        super().__init__(directory)
        self.usual = {"environment": {"PATH": "/bin"}, "limit_bytes": 256 * MIB}
        self.room = room
        self.state.mkdir()
        self.home = a_home()
        self.wall = FleetWall(self.home.fleet)
        write_home(self.state / "keeper", self.home)
        self._settings = settings
        self.connect()

    def connect(self, **changed: Any) -> frozenset[Attempt]:
        """A newer daemon's driver; what it adopted."""
        self._epoch += 1
        usual: dict[str, Any] = {"image": engine_room.IMAGE, "network": "none"}
        usual |= {"mounts": engine_room.mounts()} | self._settings | changed
        self.engine = self.room.engine(self.state)
        self.driver = ContainerDriver(
            self.state,
            self.state / "output",
            engine=self.engine,
            settings=ContainerSettings(**usual),
            epoch=self._epoch,
            wall=self.wall,
        )
        self.driver.connect()
        self.instance = (self.state / "instance").read_text(encoding="ascii").strip()
        found = self.driver.adopt(self.heard.append)
        self.known |= found
        return found

    def containers(self) -> str:
        label = f"label=dev.paddock.instance={self.instance}"
        found = self.room.ask("ps", "--all", "--quiet", "--filter", label)
        assert found.returncode == 0, found.stderr
        return found.stdout.decode()

    async def go_home(self) -> None:
        """With all that the engine started."""
        self.end_all()
        try:
            await self._leave()
        finally:
            left = self._cgroups(self.wall.parent)
            await removed(self.home.group)
            self.wall.tidy()
        assert left == [], "cgroups of containers are left"
        assert self._cgroups(str(Path(self.wall.parent).parents[1])) == [], "cgroups are left"

    async def _leave(self) -> None:
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
        self.check_descriptors()

    def _cgroups(self, path: str) -> list[str]:
        """Also where only the engine makes any."""
        places = [f"{mount.point}{path}" for mount in mounts()]
        return [place for place in places if Path(place).exists()]


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


in_a_pasture = scenarios_on(Pasture, lacking=engine_room.lacking)


def on_each_engine(scenario: Scenario[Pasture]) -> Callable[..., None]:
    tests = {
        name: scenarios_on(functools.partial(Pasture, room=room), lacking=room.lacking)(scenario)
        for name, room in ROOMS.items()
    }

    @pytest.mark.parametrize("engine", tests)
    @functools.wraps(scenario)
    def test(engine: str, tmp_path: Path) -> None:
        tests[engine](tmp_path)

    del test.__wrapped__  # pytest would ask for a fixture of that name
    return test
