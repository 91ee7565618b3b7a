"""The state machine of `step`, and that it gets everywhere."""

from __future__ import annotations

from paddock.core.run import ALLOWED_MOVES
from tests.properties.fleet_machine import FleetMachine, live_through

TestFleet = FleetMachine.TestCase


def test_every_allowed_move_is_reached() -> None:
    """A move that no life reaches is not tested, or not needed: either way it must be noticed."""
    allowed = {(before, after) for before, to in ALLOWED_MOVES.items() for after in to}
    FleetMachine.reached.clear()
    for seed in range(10):
        live_through(lives=30, steps=40, seed=seed)
        if FleetMachine.reached == allowed:
            return
    assert FleetMachine.reached == allowed, f"never seen: {allowed - FleetMachine.reached}"
