"""The contract of every driver, in a scope that systemd gave this very process, as it gives a
daemon one. Not for collecting: it moves whoever runs it (`tests/vm/test_scope_contract.py`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.cgroups.home import Home, find_home, move_in
from paddock.core.units import GIB
from paddock.daemon.birthplace import settle
from tests.contract.drivers.bed import Bed, MakeBed
from tests.contract.drivers.conftest import bed_on
from tests.contract.drivers.test_driver_contract import *  # noqa: F403
from tests.kit.walls import WalledStable
from tests.vm.test_driver_contract import MANY, PATIENCE_S

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="session")
def home() -> Home:
    """With us in its `supervisor`, and the keepers that we start."""
    assert settle("contract", 16 * GIB) is None
    found = find_home("contract")
    assert ".scope/paddock-contract" in found.group.path
    move_in(found)
    return found


@pytest.fixture
def make_bed(home: Home) -> MakeBed:
    async def in_the_scope(directory: Path) -> Bed:
        stable = WalledStable(directory, wall_bytes=16 * GIB, home=home)
        bed = bed_on(stable, patience_s=PATIENCE_S)
        bed.many = MANY
        return bed

    return in_the_scope
