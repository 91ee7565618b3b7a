"""Containers of podman on cgroup v2: their walls, and the fleet's around them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from paddock.cgroups.files import number, read_or_empty
from paddock.core.events import Started
from paddock.core.units import MIB
from tests.integration.container import test_lives
from tests.integration.container.pasture import Pasture, in_a_pasture
from tests.integration.container.test_lives import TAIL

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True, scope="module")
def _the_root_is_as_it_was() -> Iterator[None]:
    """podman moves whoever lives in the root into a cgroup `init`; others make walls there, too."""
    init = Path("/sys/fs/cgroup/init")
    was_there = init.exists()
    yield
    if was_there or not init.exists():
        return
    for pid in (init / "cgroup.procs").read_text(encoding="ascii").split():
        with suppress(OSError):
            (init.parent / "cgroup.procs").write_text(pid, encoding="ascii")
    init.rmdir()


def test_the_fleets_wall_is_told_apart_from_its_own(tmp_path: Path) -> None:
    test_lives.test_the_fleets_wall_is_told_apart_from_its_own("podman", tmp_path)


@in_a_pasture
async def test_it_is_throttled_where_local_agents_are(pasture: Pasture) -> None:
    labels = {"memory_high": str(48 * MIB)}
    attempt = pasture.start(*TAIL, limit_bytes=64 * MIB, labels=labels)
    await pasture.hear(Started, attempt)
    fleet = pasture.home.fleet.child("containers")
    (group,) = (fleet.child(name) for name in fleet.children() if "conmon" not in name)
    names = {"memory.max": 64 * MIB, "memory.high": 48 * MIB, "memory.swap.max": 0}
    found = {name: number(read_or_empty(f"{group.path}/{name}")) for name in names}
    assert found == names
