"""`paddock submit` prints ids and nothing else on stdout."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from paddock.core.units import GIB
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_daemon import FakeDaemon, Life


def test_one_run_prints_its_id(paddock: Paddock) -> None:
    called = paddock("submit", "--", "make", "test")
    assert (called.code, called.out, called.err) == (0, "r0001\n", "")


def test_why_it_waits_goes_to_stderr(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.lives["make"] = Life(queued=True)
    called = paddock("submit", "--", "make")
    assert called.out == "r0001\n"
    assert called.err == "paddock: make: queued, at place 3 in the queue\n"


def test_json_is_one_object_with_the_promised_keys(paddock: Paddock) -> None:
    found = paddock("submit", "--json", "--", "make").json
    assert found == {
        "id": "r0001",
        "name": "make",
        "state": "running",
        "place": None,
        "waits_for": None,
    }


def test_a_file_gives_one_run_a_line_in_one_submission(
    paddock: Paddock, daemon: FakeDaemon, tmp_path: Path
) -> None:
    file = tmp_path / "jobs"
    file.write_text(
        '# jobs\nmake "a b"\n\n{name: x, command: [pytest], memory: 1G, env: {A: 2}}\n',
        encoding="utf-8",
    )
    options = ("--memory", "2G", "--priority", "low", "--env", "A=1", "--env", "B=3")
    called = paddock("submit", *options, "--from", str(file))
    assert (called.code, called.out) == (0, "r0001\nr0002\n")
    first, second = daemon.submits[0].runs
    assert (first.command, first.memory_bytes) == (("make", "a b"), 2 * GIB)
    assert (second.name, second.memory_bytes, second.priority) == ("x", GIB, "low")
    assert second.env == {"A": "2", "B": "3"}
    assert len(daemon.submits) == 1


def test_from_a_pipe_json_is_one_object_a_line(
    paddock: Paddock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("true\nfalse\n"))
    called = paddock("submit", "--json", "--from", "-")
    assert [json.loads(line)["name"] for line in called.out.splitlines()] == ["true", "false"]


def test_a_line_with_shell_syntax_is_a_shells(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "echo $HOME && echo two | cat"
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{line}\n"))
    assert paddock("submit", "--from", "-").code == 0
    (run,) = daemon.submits[0].runs
    assert (run.name, run.command) == ("echo", ("sh", "-c", line))


def test_every_mistake_of_a_file_is_said_with_its_line(
    paddock: Paddock, daemon: FakeDaemon, tmp_path: Path
) -> None:
    file = tmp_path / "jobs"
    file.write_text("make 'x\n{name: a}\ntrue\n", encoding="utf-8")
    called = paddock("submit", "--from", str(file))
    assert (called.code, called.out) == (2, "")
    first, second, last = called.err.splitlines()
    assert f"{file}:1:" in first
    assert f"{file}:2:" in second
    assert last == f"paddock: 2 mistakes in {file}"
    assert daemon.submits == []


@pytest.mark.parametrize(
    "also", [["--", "make"], ["--name", "x"], ["--stdin"], ["--agent", "a", "--prompt", "p"]]
)
def test_a_file_and_a_run_beside_it_is_bad_usage(paddock: Paddock, also: list[str]) -> None:
    called = paddock("submit", "--from", "jobs", *also)
    assert called.code == 2
    assert "--from: found" in called.err


def test_a_file_that_is_not_there_is_bad_usage(paddock: Paddock) -> None:
    called = paddock("submit", "--from", "/nowhere/jobs")
    assert (called.code, called.err) == (2, "paddock: /nowhere/jobs: No such file or directory\n")


def test_a_file_that_is_no_text_is_bad_usage(paddock: Paddock, tmp_path: Path) -> None:
    (tmp_path / "jobs").write_bytes(b"\xff\xfe\x00")
    assert "no UTF-8 text" in paddock("submit", "--from", str(tmp_path / "jobs")).err


def test_of_many_that_wait_the_first_are_said(
    paddock: Paddock, daemon: FakeDaemon, tmp_path: Path
) -> None:
    daemon.lives["true"] = Life(queued=True)
    (tmp_path / "jobs").write_text("true\n" * 9, encoding="utf-8")
    err = paddock("submit", "--from", str(tmp_path / "jobs")).err
    assert err.splitlines()[-1] == "paddock: and 4 more are queued"
    assert len(err.splitlines()) == 6


def test_a_line_with_a_place_of_its_own_takes_no_part_of_the_options_repository(
    paddock: Paddock, daemon: FakeDaemon, tmp_path: Path
) -> None:
    lines = 'make\n{"command": ["x"], "dir": "/"}\n{"command": ["x"], "repo": "/other"}\n'
    (tmp_path / "jobs").write_text(lines, encoding="utf-8")
    options = ("--repo", "/shop", "--branch", "dev", "--shallow", "--ready-marker", "ok")
    assert paddock("submit", *options, "--from", str(tmp_path / "jobs")).code == 0
    said = [(run.repo, run.branch, run.ready_marker) for run in daemon.submits[0].runs]
    assert said == [("/shop", "dev", "ok"), (None, None, None), ("/other", None, "ok")]
