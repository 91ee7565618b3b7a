"""On what something was measured."""

from __future__ import annotations

from paddock.bench import machine

BEFORE = "cpu  1000 0 500 8000 100 0 10 390 0 0"


def test_time_that_the_host_gave_to_others_is_told() -> None:
    after = "cpu  1020 0 510 8060 100 0 10 420 0 0"
    assert machine.stolen_percent(BEFORE, after) == 25.0


def test_where_nothing_is_told_of_it_nothing_is_claimed() -> None:
    assert machine.stolen_percent(BEFORE, BEFORE) is None
    assert machine.stolen_percent("", "") is None
    assert machine.stolen_percent("cpu  1 2 3 4", "cpu  2 3 4 5") is None


def test_it_is_part_of_every_description() -> None:
    assert "stolen_percent" in machine.describe()
