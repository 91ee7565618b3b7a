"""The state machine of `step`, and that it gets everywhere."""

from __future__ import annotations

from tests.properties.fleet_machine import FleetMachine

TestFleet = FleetMachine.TestCase
