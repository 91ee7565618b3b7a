"""A stable with real walls: a home of its own among this machine's cgroups, gone with the test."""

from __future__ import annotations

import asyncio
import functools
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from paddock.cgroups.group import Group
from paddock.cgroups.home import Home, NoHome, find_home
from paddock.cgroups.v2 import Group2
from paddock.core.run import Attempt
from paddock.core.units import GIB
from paddock.drivers.local.containment.cgroup import CgroupContainment
from tests.kit.grounds import Scenario, scenarios_on
from tests.kit.stable import Stable


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


async def removed(group: Group) -> None:
    group.kill()
    for _ in range(200):
        if group.remove():
            break
        await asyncio.sleep(0.01)
    assert not group.exists(), "a cgroup is left"


class WalledStable(Stable):
    """`home`: one that somebody lives in, and that stays. `kind`: walls that do something else."""

    patience_s = 60.0  # in a guest whose host is busy, too

    def __init__(
        self,
        directory: Path,
        *,
        wall_bytes: int = GIB,
        home: Home | None = None,
        kind: type[CgroupContainment] = CgroupContainment,
        **settings: Any,
    ) -> None:
        self.kind = kind
        self.is_ours = home is None
        self.home = home or a_home()
        self.wall_bytes = wall_bytes
        self.settings = settings
        super().__init__(directory)

    def connect(self, **more: Any) -> frozenset[Attempt]:
        self.walls = self.kind(self.home, **self.settings)
        self.walls.set_wall(self.wall_bytes)
        return super().connect(containment=self.walls, **more)

    def group(self, attempt: Attempt) -> Any:
        return self.home.fleet.child(f"{attempt.run}.{attempt.number}")

    async def go_home(self) -> None:
        try:
            await super().go_home()
        finally:
            mine = [self.home.fleet.child(name) for name in self.home.fleet.children()]
            for group in [self.home.group] if self.is_ours else mine:
                await removed(group)


def within_walls(**settings: Any) -> Callable[[Scenario[WalledStable]], Callable[[Path], None]]:
    return scenarios_on(functools.partial(WalledStable, **settings))
