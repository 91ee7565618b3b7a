"""A stable with real walls: a home of its own among this machine's cgroups, gone with the test."""

from __future__ import annotations

import asyncio
import functools
import os
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from paddock.cgroups.home import Home, NoHome, find_home
from paddock.cgroups.v2 import Group2
from paddock.core.run import Attempt
from paddock.core.units import GIB
from paddock.drivers.local.containment.cgroup import CgroupContainment
from tests.kit.stable import Stable

PYTHON_HOG = "x = bytearray({mib} << 20); print('filled', flush=True); import time; time.sleep({s})"


def a_home() -> Home:
    """Made, without anybody moving in: where the tests run, a cgroup without processes is above."""
    try:
        home = find_home(f"test-{uuid.uuid4().hex[:8]}")
    except NoHome as error:
        pytest.skip(f"this machine has no cgroups for us: {error}")
    home.group.ensure()
    if home.version == 2:
        Group2(home.group.path.rpartition("/")[0]).hand_down()
    home.group.hand_down()
    home.fleet.ensure()
    home.fleet.hand_down()
    return home


class WalledStable(Stable):
    def __init__(self, directory: Path, *, wall_bytes: int = GIB, **settings: Any) -> None:
        self.home = a_home()
        self.wall_bytes = wall_bytes
        self.settings = settings
        super().__init__(directory)

    def connect(self, **more: Any) -> frozenset[Attempt]:
        self.walls = CgroupContainment(self.home, **self.settings)
        self.walls.set_wall(self.wall_bytes)
        return super().connect(containment=self.walls, **more)

    def group(self, attempt: Attempt) -> Any:
        return self.home.fleet.child(f"{attempt.run}.{attempt.number}")

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

    async def go_home(self) -> None:
        try:
            await super().go_home()
        finally:
            self.home.group.kill()
            for _ in range(200):
                if self.home.group.remove():
                    break
                await asyncio.sleep(0.01)
        assert not os.path.exists(self.home.group.path), "a cgroup is left"  # noqa: PTH110


Scenario = Callable[[WalledStable], Awaitable[None]]


def within_walls(**settings: Any) -> Callable[[Scenario], Callable[[Path], None]]:
    """An async scenario as a test; the leak check is here, so that no test can leave it out."""

    def made(scenario: Scenario) -> Callable[[Path], None]:
        @functools.wraps(scenario)
        def test(tmp_path: Path) -> None:
            async def whole() -> None:
                stable = WalledStable(tmp_path, **settings)
                try:
                    await scenario(stable)
                finally:
                    await stable.go_home()

            asyncio.run(whole())

        del test.__wrapped__  # pytest would ask for a fixture `stable`
        return test

    return made
