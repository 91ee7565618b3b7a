"""`paddock doctor` as people and scripts see it, with a daemon in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.client.errors import Failed
from tests.unit.cli.conftest import Paddock

KEYS = {"containment", "because", "guarantees", "engines", "problems", "proof"}
PROMISES = {
    *("hard_memory_wall", "fleet_wall", "no_swap", "pids_wall", "kills_whole_tree"),
    *("catches_escapes", "can_freeze", "survives_daemon", "keeps_daemon_memory"),
}


def test_the_json_has_the_keys_scripts_rely_on(paddock: Paddock) -> None:
    called = paddock("doctor", "--json")
    assert set(called.json) == KEYS
    assert set(called.json["guarantees"]) == PROMISES
    assert called.json["proof"] is None
    assert all(set(each) == {"name", "level", "what", "mend"} for each in called.json["problems"])


def test_a_daemon_without_walls_is_a_problem_and_exit_1(paddock: Paddock) -> None:
    called = paddock("doctor")  # the daemon in memory is no process, so it lives in no cgroup
    assert called.code == 1
    assert "none: the daemon that runs found no walls" in called.out
    assert "wrong: agents have no memory walls" in called.out
    assert "paddock host setup" in called.out


def test_no_daemon_is_started_to_look(paddock: Paddock) -> None:
    paddock.daemon.running = False
    called = paddock("doctor", "--json")
    assert called.code in (0, 1)
    assert (paddock.daemon.starts, called.json["proof"]) == (0, None)


def test_a_daemon_that_does_not_answer_is_a_problem(paddock: Paddock) -> None:
    paddock.daemon.fails_with = Failed("it broke off", "lost")
    called = paddock("doctor")
    assert called.code == 1
    assert "the daemon does not answer: it broke off" in called.out


def test_an_unknown_driver_is_bad_usage(paddock: Paddock) -> None:
    assert paddock("doctor", "--driver", "cloud").code == 2


def test_time_that_is_no_time_is_bad_usage(paddock: Paddock) -> None:
    assert paddock("doctor", "--prove", "--within", "soon").code == 2


def test_without_an_image_containers_are_not_tried_and_that_is_said_once(
    paddock: Paddock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    called = paddock("doctor", "--prove", "--driver", "container")
    assert called.code == 1
    assert called.out.count("not proven: no image to begin with: sandbox.container_image") == 1
    assert "could not be started" not in called.out
    assert "nothing is wrong" not in called.err
    assert called.err.endswith("0 of 1 proof held, 1 not proven\n")
    assert paddock.daemon.runs == {}
