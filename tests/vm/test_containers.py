"""Containers of podman on cgroup v2: their walls, and the fleet's around them."""

from __future__ import annotations

import pytest

from paddock.cgroups.files import number, read_or_empty
from paddock.core.events import Started
from paddock.core.units import MIB
from tests.integration.container.pasture import Pasture, in_a_pasture
from tests.integration.container.test_lives import (
    TAIL,
    test_the_fleets_wall_is_told_apart_from_its_own,
)

pytestmark = pytest.mark.timeout(300)

__all__ = ["test_the_fleets_wall_is_told_apart_from_its_own"]


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
