"""The contract of every driver once more, for the local one within walls of cgroup v2."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contract.drivers.bed import Bed, MakeBed
from tests.contract.drivers.conftest import walls
from tests.contract.drivers.test_driver_contract import *  # noqa: F403

# Everything takes ten times as long under emulation, and fifty Pythons at once took more than a
# minute on a machine with other things to do: fifty are started at once on v1.
PATIENCE_S = 240.0
MANY = 10


pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def make_bed() -> MakeBed:
    async def patient(directory: Path) -> Bed:
        bed = await walls(directory)
        bed.patience_s, bed.many = PATIENCE_S, MANY
        return bed

    return patient
