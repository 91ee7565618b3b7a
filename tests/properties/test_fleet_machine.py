"""The state machine of `step`, lived by hypothesis and by plain walks: it gets everywhere."""

from __future__ import annotations

import os

import pytest

from paddock.core.run import ALLOWED_MOVES
from tests.properties.fleet_machine import FleetMachine, live_through
from tests.properties.fleet_walk import walk

TestFleet = FleetMachine.TestCase
WALKS = 2000 if os.environ.get("HYPOTHESIS_PROFILE") == "long" else 60


@pytest.mark.parametrize("first", range(0, WALKS, 20))
def test_long_lives_keep_every_promise(first: int) -> None:
    for seed in range(first, first + 20):
        walk(seed)


def test_every_allowed_move_is_reached() -> None:
    """A move that no life reaches is not tested, or not needed: either way it must be noticed."""
    allowed = {(before, after) for before, to in ALLOWED_MOVES.items() for after in to}
    FleetMachine.reached.clear()
    for seed in range(10):
        live_through(lives=20, steps=40, seed=seed)
        walk(seed)
        if FleetMachine.reached == allowed:
            return
    assert FleetMachine.reached == allowed, f"never seen: {allowed - FleetMachine.reached}"
