"""`paddock relieve`: its words, its JSON, what it refuses. Kills are in the integration tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from paddock.cli.relieve import as_object, kill_line, summary
from paddock.rescue.ladder import Goal
from paddock.rescue.memory import Reading
from paddock.rescue.relief import Kill, Relief
from tests.unit.cli.conftest import Paddock
from tests.unit.rescue.made import MIB, an_agent

GIB = 2**30
BEFORE = Reading(10 * GIB, GIB // 2, 95.0)
AFTER = Reading(10 * GIB, 3 * GIB, 70.0)


@pytest.fixture(autouse=True)
def _nobodys_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PADDOCK_STATE", str(tmp_path))


def a_relief(*, reached: bool = True, gone: bool = True) -> Relief:
    victim = an_agent("3f2a", used=200 * MIB)
    kills = [Kill(victim, "host memory at 95 %; frees 200 MiB (low priority)", gone)]
    return Relief(Goal(75.0), BEFORE, AFTER, kills, [an_agent("spared")], reached)


def test_every_kill_says_who_why_and_what_came_back() -> None:
    relief = a_relief()
    assert kill_line(relief.kills[0]) == (
        "killed 3f2a (3f2a): host memory at 95 %; frees 200 MiB (low priority)"
    )
    assert summary(relief) == (
        "memory at 70 %, 3 GiB of 10 GiB available; 1 agent killed, 2.5 GiB came back"
    )


def test_what_could_not_be_killed_is_not_said_to_be() -> None:
    relief = a_relief(reached=False, gone=False)
    assert kill_line(relief.kills[0]).startswith("could not kill 3f2a")
    assert summary(relief).endswith(
        "0 agents killed, 2.5 GiB came back; still above 75 %, and nobody is left to kill"
    )


def test_a_name_cannot_act_on_the_terminal() -> None:
    victim = an_agent("x")
    victim.facts = victim.facts._replace(name="\x1b[2Jx\n")
    line = kill_line(Kill(victim, "because \x07", gone=True))
    assert line.isprintable()


def test_its_json_has_what_scripts_need() -> None:
    said = json.loads(json.dumps(as_object(a_relief())))
    assert said["reached"] is True
    assert said["used_percent_before"] == 95.0
    assert said["freed_bytes"] == int(2.5 * GIB)
    assert said["killed"][0] == {
        "id": "3f2a",
        "name": "3f2a",
        "attempt": 1,
        "priority": "normal",
        "memory_bytes": 200 * MIB,
        "expected_bytes": 100 * MIB,
        "because": "host memory at 95 %; frees 200 MiB (low priority)",
        "gone": True,
    }
    assert [one["id"] for one in said["spared"]] == ["spared"]


@pytest.mark.parametrize("percent", ["0", "100", "-5", "nan", "x", "75%"])
def test_a_percentage_that_is_none_is_refused(paddock: Paddock, percent: str) -> None:
    called = paddock("relieve", "--", percent)
    assert (called.code, called.err.count("\n")) == (2, 1)
    assert "from 1 to 99" in called.err


def test_a_dry_run_with_nobody_there_says_so(paddock: Paddock) -> None:
    called = paddock("relieve", "1", "--dry-run")
    assert (called.code, called.out) == (0, "")
    assert "nobody would be killed" in called.err
    assert paddock("relieve", "1", "--dry-run", "--json").json["would_kill"] == []
