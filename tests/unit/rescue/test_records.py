"""What the daemon left on disk: read as far as it makes sense, and never more trusted than that."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from paddock.cgroups.v1 import Group1
from paddock.cgroups.v2 import Group2
from paddock.rescue.records import (
    Facts,
    NotOurs,
    Records,
    note_killed,
    own_records,
    read_facts,
    read_home,
)

FACTS = {
    "run": "3f2a",
    "attempt": 2,
    "name": "review",
    "priority": 3,
    "limit_bytes": 4096,
    "expected_bytes": 2048,
    "begun_at": 12.5,
    "group": "claude/payments",
}


@pytest.fixture
def records(tmp_path: Path) -> Records:
    (tmp_path / "keeper/attempts").mkdir(parents=True)
    return Records(str(tmp_path))


def write(path: str, value: Any) -> None:
    text = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()
    Path(path).write_bytes(text)


def test_facts_are_found_by_the_name_of_their_attempt(records: Records) -> None:
    write(f"{records.attempts}/3f2a.2.facts", FACTS)
    write(f"{records.attempts}/3f2a.2.killed", FACTS)
    assert read_facts(records) == {"3f2a.2": Facts("3f2a", 2, "review", 3, 2048, 12.5)}


def test_a_name_may_be_in_any_script(records: Records) -> None:
    write(f"{records.attempts}/3f2a.1.facts", FACTS | {"name": "Prüfung 検査"})
    assert read_facts(records)["3f2a.1"].name == "Prüfung 検査"


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"{",
        b"[1]",
        b"\xff\xfe",
        b"[" * 60_000,
        {"name": 7, "priority": "low", "expected_bytes": -5, "begun_at": "now"},
        {"priority": 17, "expected_bytes": 1e300, "begun_at": True},
    ],
)
def test_torn_facts_leave_the_name_and_a_normal_priority(records: Records, said: Any) -> None:
    write(f"{records.attempts}/3f2a.2.facts", said)
    assert read_facts(records) == {"3f2a.2": Facts("3f2a", 2, "3f2a", 2, None, 0.0)}


@pytest.mark.parametrize("name", ["x.facts", ".1.facts", "a.b.facts", "a.².facts"])
def test_a_file_that_names_no_attempt_is_passed_over(records: Records, name: str) -> None:
    write(f"{records.attempts}/{name}", FACTS)
    assert read_facts(records) == {}


def test_no_records_are_no_agents(tmp_path: Path) -> None:
    records = Records(str(tmp_path / "none"))
    assert (read_facts(records), read_home(records), records.instance()) == ({}, None, "")


def test_the_home_says_which_kind_of_cgroups_it_has(records: Records, tmp_path: Path) -> None:
    write(records.home, {"version": 2, "directories": {"unified": str(tmp_path)}})
    home = read_home(records)
    assert home is not None and isinstance(home.group, Group2)
    assert home.fleet.path == f"{tmp_path}/fleet"
    write(records.home, {"version": 1, "directories": {"memory": str(tmp_path)}})
    home = read_home(records)
    assert home is not None and isinstance(home.group, Group1)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        {"version": 1},
        {"version": 1, "directories": {"memory": "relative"}},
        {"version": 1, "directories": {"memory": "/tmp/../etc"}},
        {"version": 1, "directories": {"memory": 7}},
        {"version": 1, "directories": {"pids": "/tmp"}},
        {"version": 2, "directories": {"memory": "/tmp"}},
        {"version": 3, "directories": {"memory": "/tmp", "unified": "/tmp"}},
        {"version": 1, "directories": {"memory": "/not/there/since/the/restart"}},
    ],
)
def test_a_home_that_makes_no_sense_is_none(records: Records, said: Any) -> None:
    write(records.home, said)
    assert read_home(records) is None


@pytest.mark.parametrize("text", ["", "short", "../../../../etc!", "0123456789abcdef0"])
def test_only_a_whole_name_is_a_paddocks_name(records: Records, text: str) -> None:
    Path(records.state, "instance").write_text(text)
    assert records.instance() == ""


def test_the_daemon_is_told_of_a_kill_that_was_not_its_own(records: Records) -> None:
    write(f"{records.attempts}/a.1.facts", FACTS)
    note_killed(records, "a.1", {"outcome": "cancelled"})
    note_killed(records, "a.1", {"outcome": "another"})  # the first reason counts
    path = Path(records.attempts, "a.1.killed")
    assert json.loads(path.read_text()) == {"outcome": "cancelled"}
    assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_for_an_attempt_that_the_daemon_has_forgotten(records: Records) -> None:
    note_killed(records, "a.1", {"outcome": "cancelled"})
    assert os.listdir(records.attempts) == []  # noqa: PTH208


def test_facts_that_are_a_pipe_hold_nobody_up(records: Records) -> None:
    os.mkfifo(f"{records.attempts}/a.1.facts")
    assert read_facts(records)["a.1"].name == "a"


def test_records_of_another_user_are_not_believed(
    records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They could name any cgroup, and root would kill what is in it."""
    assert own_records(records.state) == records
    us = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: us + 1)
    with pytest.raises(NotOurs, match=f"sudo -u '#{us}' PADDOCK_STATE={records.state} paddock"):
        own_records(records.state)
    assert own_records("/nowhere/at/all").state == "/nowhere/at/all"
