"""How soon the eyes look again: by whether bursts of the fleet may meet, or take turns."""

from __future__ import annotations

import pytest

from paddock.core.policy import Admission
from paddock.supervisor.eyes import (
    BURSTS_AT_ONCE,
    BURSTS_IN_TURNS,
    bursts_at_once,
    waits_for_a_look,
    weighed_s,
)
from tests.kit.factories import a_policy, a_spec, with_parts
from tests.kit.yard import Yard


def a_learned(touches_per_hour: float) -> Yard:
    """A wall of 12 GiB, and a group of 4 GiB each that is known to take little."""
    sizing = {"evidence": 1, "touches_per_hour": touches_per_hour}
    yard = Yard(with_parts(a_policy(admission=Admission.LEARNED), sizing=sizing))
    yard.run(a_spec("warm", memory="4G"))
    yard.sample(warm="200M")
    yard.advance(600)
    yard.end("warm")
    return yard


@pytest.mark.parametrize(("touches", "most"), [(900.0, BURSTS_AT_ONCE), (1800.0, BURSTS_IN_TURNS)])
def test_bursts_that_meet_are_looked_for(touches: float, most: int) -> None:
    yard = a_learned(touches)
    yard.run(a_spec("one", memory="4G"))
    assert bursts_at_once(yard.fleet) == 1
    for name in ("two", "three", "four", "five"):
        yard.run(a_spec(name, memory="4G"))
        yard.sample()
    assert bursts_at_once(yard.fleet) == most


@pytest.mark.parametrize(("touches", "weighed"), [(900.0, 0.003), (1800.0, 0.001)])
def test_where_bursts_take_turns_a_look_may_cost_three_times_as_much(
    touches: float, weighed: float
) -> None:
    yard = a_learned(touches)
    yard.run(a_spec("one", memory="4G"))
    assert weighed_s(yard.fleet, 0.003) == 0.003
    for name in ("two", "three", "four", "five"):
        yard.run(a_spec(name, memory="4G"))
        yard.sample()
    assert weighed_s(yard.fleet, 0.003) == pytest.approx(weighed)


def test_who_waits_only_for_a_look_gets_one_soon() -> None:
    yard = a_learned(1800.0)
    yard.submit(*(a_spec(f"r{number}", memory="3G") for number in range(12)))
    assert yard.fleet.paced
    assert waits_for_a_look(yard.fleet)


def test_by_default_who_waits_for_a_look_waits_for_the_next_one() -> None:
    yard = a_learned(0.001)
    yard.submit(*(a_spec(f"r{number}", memory="1G") for number in range(30)))
    assert yard.fleet.queue
    assert not waits_for_a_look(yard.fleet)
