"""`paddock tool` and its options; what it does inside an agent is in tests/integration/tool."""

from __future__ import annotations

import pytest

from tests.unit.cli.conftest import Paddock


@pytest.mark.parametrize("size", ["0%", "101%", "x%", "-5%", "1M", "nan%", "lots"])
def test_a_wall_that_makes_no_sense_is_refused(paddock: Paddock, size: str) -> None:
    called = paddock("tool", "--memory", size, "--", "true")
    assert called.code == 2
    assert "--memory" in called.err


def test_without_a_command_there_is_nothing_to_do(paddock: Paddock) -> None:
    assert paddock("tool").code == 2


def test_a_lease_without_a_proper_name_is_refused(paddock: Paddock) -> None:
    called = paddock("tool", "--lease", "a/b", "--", "true")
    assert (called.code, "--lease: 'a/b' is no name" in called.err) == (2, True)


def test_a_command_that_is_not_there_is_127(paddock: Paddock) -> None:
    called = paddock("tool", "--", "no-such-tool")
    assert (called.code, called.err) == (127, "paddock: no-such-tool: not found\n")


def test_outside_an_agent_the_command_runs_and_json_says_that_there_was_no_wall(
    paddock: Paddock,
) -> None:
    called = paddock("tool", "--json", "-v", "--", "sh", "-c", "exit 5")
    found = called.json
    assert called.code == 5
    assert (found["exit_code"], found["wall_bytes"], found["stopped_at"]) == (5, None, None)
