"""The ladder of rescue is the core's: same steps, same sentences, same numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.core import pressure
from paddock.core.events import Host
from paddock.core.policy import LadderPolicy
from paddock.host.pace import LONGEST_S, next_look_s
from paddock.rescue.ladder import Goal, Ladder, read_ladder, relief_goal, rest_s, step_of
from paddock.rescue.memory import Reading

GIB = 2**30
_readings = st.builds(
    lambda total, used: Reading(total, int(total * (100 - used) / 100), used),
    st.integers(1, 2048).map(lambda number: number * GIB // 2),
    st.floats(0, 100).map(lambda percent: round(percent, 2)),
)


def host(reading: Reading) -> Host:
    return Host(
        available_bytes=reading.available_bytes,
        used_percent=reading.used_percent,
        total_bytes=reading.total_bytes,
    )


def test_what_is_built_in_is_what_the_core_has() -> None:
    policy = LadderPolicy()
    assert Ladder()._asdict() == {name: getattr(policy, name) for name in Ladder._fields}


@given(_readings)
def test_the_step_is_the_cores(reading: Reading) -> None:
    ladder = pressure.climb(pressure.Ladder(), host(reading), LadderPolicy(), at=0.0)
    assert step_of(reading, Ladder()) == (ladder.rung.name.lower(), ladder.because)


def test_memory_that_cannot_be_read_is_the_step_that_it_is_in_the_core() -> None:
    reading = Reading(GIB, None, None)
    ladder = pressure.climb(pressure.Ladder(), host(reading), LadderPolicy(), at=0.0)
    assert step_of(reading, Ladder()) == (ladder.rung.name.lower(), ladder.because)


@given(_readings)
def test_it_looks_as_often_as_the_daemon(reading: Reading) -> None:
    expected = next_look_s(reading.available_bytes, reading.total_bytes)
    assert rest_s(reading, Ladder(), longest_s=LONGEST_S) == pytest.approx(expected, abs=1e-6)


def test_memory_that_cannot_be_read_is_tried_again_soon() -> None:
    assert rest_s(Reading(GIB, None, None), Ladder(), longest_s=1.0) == next_look_s(None, GIB)


def test_what_must_come_free_is_the_larger_of_percent_and_floor() -> None:
    reading = Reading(10 * GIB, GIB, 90.0)
    assert Goal(75.0).over_bytes(reading) == pytest.approx(1.5 * GIB)
    assert Goal(75.0, free_bytes=3 * GIB).over_bytes(reading) == 2 * GIB
    assert Goal(95.0).over_bytes(reading) < 0
    assert relief_goal(Ladder()) == Goal(75.0, 640 * 2**20)


def test_the_daemons_ladder_counts(tmp_path: Path) -> None:
    path = tmp_path / "ladder"
    path.write_text(json.dumps({"emergency": 90, "relief_target": 60.5, "other": 1}))
    assert read_ladder(str(path)) == Ladder(emergency=90, relief_target=60.5)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "7", '{"emergency": "x"}', '{"emergency": true}', '{"emergency": -1}', "\0"],
)
def test_a_ladder_that_makes_no_sense_is_the_built_in_one(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ladder"
    path.write_text(text)
    assert read_ladder(str(path)) == Ladder()


def test_no_ladder_is_the_built_in_one(tmp_path: Path) -> None:
    assert read_ladder(str(tmp_path / "none")) == Ladder()
