"""The contract of every driver once more, for the local one within walls of cgroup v2."""

from __future__ import annotations

import pytest

from tests.contract.drivers.bed import MakeBed
from tests.contract.drivers.conftest import walls
from tests.contract.drivers.test_driver_contract import *  # noqa: F403


@pytest.fixture
def make_bed() -> MakeBed:
    return walls
