"""`paddock run` behaves like the command it runs."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from paddock.client.errors import BadRequest, Failed, Refused, Trouble
from paddock.core.units import GIB, MIB
from paddock.wire.views import MoveView
from tests.kit.waiting import until
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_daemon import FakeDaemon, Life


def test_it_passes_output_on_and_ends_with_the_agents_own_code(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    because = "ended with exit code 7"
    daemon.lives["sh"] = Life(
        output=b"hello\nworld\n", outcome="failed", exit_code=7, because=because
    )
    called = paddock("run", "--", "sh", "-c", "exit 7")
    assert (called.code, called.out, called.err) == (7, "hello\nworld\n", "")
    assert daemon.submits[0].runs[0].command == ("sh", "-c", "exit 7")


def test_options_after_the_program_are_the_programs(paddock: Paddock, daemon: FakeDaemon) -> None:
    assert paddock("run", "make", "-j4", "--name", "x").code == 0
    assert daemon.submits[0].runs[0].command == ("make", "-j4", "--name", "x")


@pytest.mark.parametrize(
    ("outcome", "because", "code"),
    [
        ("timeout_exceeded", "took longer than 5 s", 124),
        ("memory_limit_exceeded", "went over its memory limit of 64 MiB", 137),
        ("spawn_failed", "could not be started: nope: not found", 127),
        ("spawn_failed", "could not be started: ./x: not executable", 126),
        ("spawn_failed", "could not be started: a cgroup could not be joined: /x", 125),
        ("cancelled", "somebody asked", 130),
        ("lost", "nobody knows how it ended", 1),
        ("skipped", "it needs a, which ended as failed", 1),
    ],
)
def test_where_paddock_ended_it_the_code_and_one_line_say_so(
    paddock: Paddock, daemon: FakeDaemon, outcome: str, because: str, code: int
) -> None:
    daemon.lives["true"] = Life(outcome=outcome, exit_code=None, because=because)
    called = paddock("run", "--", "true")
    assert called.code == code
    assert called.err == f"paddock: true: {outcome}: {because} (paddock why r0001)\n"


def test_a_signal_that_paddock_sent_is_not_what_is_said(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    because = "ran into its hard timeout of 2 s"
    life = Life(outcome="timeout_exceeded", exit_code=None, because=because, signal=15)
    daemon.lives["sleep"] = life
    called = paddock("run", "--", "sleep", "9")
    assert called.err == f"paddock: sleep: timeout_exceeded: {because} (paddock why r0001)\n"


def test_death_by_a_signal_is_128_and_its_number(paddock: Paddock, daemon: FakeDaemon) -> None:
    said = "ended with signal 11"
    daemon.lives["true"] = Life(outcome="failed", exit_code=None, because=said, signal=11)
    called = paddock("run", "--", "true")
    assert (called.code, called.err) == (
        139,
        "paddock: true ended: signal 11 (paddock why r0001)\n",
    )


def test_why_it_waits_is_said_once_on_stderr(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.cli.following.WAITING_EVERY_S", 0.001)
    daemon.lives["true"] = Life(queued=True, endless=True)

    def stop_when_looked_at_often() -> None:
        until(lambda: daemon.looks > 5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=stop_when_looked_at_often)
    thread.start()
    called = paddock("run", "--", "true")
    thread.join()
    assert called.err.count("paddock: queued: at place 3 in the queue\n") == 1


LATER = "tried again in 5 s (ended with exit code 3)"
IN_LINE = "at place 1 in the queue"


@pytest.mark.parametrize(
    ("queued", "said"),
    [
        ({"place": None, "waits_for": LATER}, LATER),
        ({"place": 1, "waits_for": IN_LINE}, f"queued again: made room for fix; {IN_LINE}"),
    ],
)
def test_why_it_waits_to_be_tried_again_is_said_once(
    paddock: Paddock,
    daemon: FakeDaemon,
    monkeypatch: pytest.MonkeyPatch,
    queued: dict[str, Any],
    said: str,
) -> None:
    monkeypatch.setattr("paddock.cli.following.WAITING_EVERY_S", 0.001)
    monkeypatch.setattr("paddock.cli.following.RETRIED_EVERY_S", 0.001)
    daemon.lives["sh"] = Life(endless=True)
    daemon.moves = [
        MoveView(at=1.0, state="running", attempt=1, because="the agent runs"),
        MoveView(at=2.0, state="queued", attempt=1, because="made room for fix"),
        MoveView(at=3.0, state="queued", attempt=1, because="first in line"),
    ]

    def fail_once() -> None:
        until(lambda: bool(daemon.runs))
        before = daemon.looks
        # Needs itself, so that it stays where it is however often somebody looks.
        daemon.change("r0001", state="queued", needs=("r0001",), **queued)
        until(lambda: daemon.looks > before + 5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=fail_once)
    thread.start()
    called = paddock("run", "--retries", "1", "--", "sh", "-c", "exit 3")
    thread.join()
    assert called.err.count(f"paddock: {said}\n") == 1


def test_one_whose_start_takes_its_time_says_so_on_a_terminal(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.cli.following.WAITING_EVERY_S", 0.001)
    monkeypatch.setattr("paddock.cli.following.RETRIED_EVERY_S", 0.001)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    daemon.lives["true"] = Life(endless=True)

    def clone() -> None:
        until(lambda: bool(daemon.runs))
        before = daemon.looks
        daemon.change("r0001", state="starting", sentence="starting for 3 s")
        until(lambda: daemon.looks > before + 5)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=clone)
    thread.start()
    called = paddock("run", "--retries", "1", "--", "true")
    thread.join()
    assert "\r\x1b[Kpaddock: starting for 3 s" in called.err


def test_a_daemon_that_restarts_costs_no_byte(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.cli.staying.PAUSE_S", 0.0)
    daemon.lives["true"] = Life(output=bytes(range(65, 91)))
    daemon.breaks_at = [8, 20]
    called = paddock("run", "--", "true")
    assert (called.code, called.out) == (0, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


class ClosedPipe(io.RawIOBase):
    """What stdout is to a program whose reader has left."""

    def write(self, data: object) -> int:
        del data
        raise BrokenPipeError


def test_a_reader_that_leaves_ends_the_run_with_141(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.lives["yes"] = Life(output=b"y\n" * 10, endless=True)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(ClosedPipe()))  # type: ignore[type-var]
    assert paddock("run", "--", "yes").code == 141
    assert daemon.killed == [("r0001", False)]


class FullDisk(io.RawIOBase):
    def write(self, data: object) -> int:
        del data
        raise OSError(errno.ENOSPC, "No space left on device")


def test_where_its_output_cannot_be_written_the_run_goes_on(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.lives["yes"] = Life(output=b"y\n" * 10, endless=True)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(FullDisk()))  # type: ignore[type-var]
    called = paddock("run", "--", "yes")
    assert (called.code, daemon.killed) == (125, [])
    assert called.err == (
        "paddock: its output could not be written: No space left on device; "
        "yes goes on: paddock logs -f r0001\n"
    )


def test_as_json_the_end_is_on_stdout_and_the_output_on_stderr(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    daemon.lives["true"] = Life(output=b"hello\n")
    called = paddock("run", "--json", "--", "true")
    assert (called.json["outcome"], called.json["exit_code"]) == ("succeeded", 0)
    assert called.err == "hello\n"


def test_every_option_arrives_as_a_request(
    paddock: Paddock, daemon: FakeDaemon, tmp_path: Path
) -> None:
    options = (
        "--name tests --priority high --memory 2G --memory-high 75% --cpu 1.5 --pids 256 "
        "--timeout none --soft-timeout 15m --complexity complex --role quality --model small "
        "--group g/h --needs a --needs b --retries 3 --env A=1 --env B=x=y --driver fake "
        "--performance-profile high --strict --on-end notify "
    )
    assert paddock("run", *options.split(), "--dir", str(tmp_path), "--", "make").code == 0
    (run,) = daemon.submits[0].runs
    assert (run.name, run.priority, run.memory_bytes) == ("tests", "high", 2 * GIB)
    assert (run.memory_high_percent, run.cpu, run.pids) == (75.0, 1.5, 256)
    assert (run.timeout_s, run.soft_timeout_s, run.complexity) == ("none", 900.0, "complex")
    assert (run.role, run.model, run.group, run.retries) == ("quality", "small", "g/h", 3)
    assert (run.needs, run.env) == (("a", "b"), {"A": "1", "B": "x=y"})
    assert (run.driver, run.performance_profile, run.strict) == ("fake", "high", True)
    assert (run.dir, run.on_end) == (str(tmp_path), "notify")


def test_the_options_of_a_repository_arrive(paddock: Paddock, daemon: FakeDaemon) -> None:
    options = "--branch dev --shallow --sparse src --sparse docs/api --submodules --yes"
    words = ("--repo", ".", *options.split(), "--ready-marker", "tests green", "--", "make")
    assert paddock("run", *words).code == 0
    (run,) = daemon.submits[0].runs
    assert (run.repo, run.branch, run.shallow) == (str(Path.cwd()), "dev", True)
    assert (run.sparse, run.submodules, run.any_size) == (("src", "docs/api"), True, True)
    assert run.ready_marker == "tests green"


@pytest.mark.parametrize("address", ["https://h/x.git", "git@h:o/x.git", "host:x.git"])
def test_a_repository_may_be_an_address(paddock: Paddock, daemon: FakeDaemon, address: str) -> None:
    assert paddock("submit", "--repo", address, "--", "make").code == 0
    assert daemon.submits[0].runs[0].repo == address


def test_an_agent_with_a_prompt_is_accepted_and_left_to_the_daemon(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    prompt = "Fix it:\n1. the tests"
    assert paddock("run", "--agent", "claude", "--prompt", prompt, "--repo", ".").code == 0
    (run,) = daemon.submits[0].runs
    assert (run.name, run.agent, run.prompt) == ("claude", "claude", prompt)
    assert run.repo == str(Path.cwd())


def test_directory_environment_profile_and_umask_go_along(
    paddock: Paddock, daemon: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKEN", "secret")
    monkeypatch.setenv("PADDOCK_ATTEMPT", "r9/1")
    monkeypatch.setenv("PADDOCK_SOFT_TIMEOUT", "/x")
    monkeypatch.setenv("PADDOCK_PROFILE", "high")
    monkeypatch.setenv("PADDOCK_STATE", "state")
    assert paddock("run", "--memory-high", "512M", "--", "true").code == 0
    (submit,) = daemon.submits
    assert submit.directory == str(tmp_path)
    assert submit.environment["TOKEN"] == "secret"
    assert "PADDOCK_ATTEMPT" not in submit.environment
    assert "PADDOCK_SOFT_TIMEOUT" not in submit.environment
    assert submit.environment["PADDOCK_STATE"] == str(tmp_path / "state")
    assert submit.profile == "high"
    assert submit.umask == os.umask(os.umask(0o022))
    assert submit.runs[0].memory_high_bytes == 512 * MIB
    assert len(submit.key) == 32


def test_a_variable_that_is_no_utf8_is_left_out_with_a_note(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODD", "\udcff")
    called = paddock("run", "--", "true")
    assert "ODD" not in daemon.submits[0].environment
    assert "no UTF-8 text: ODD" in called.err


def test_stdin_is_uploaded_before_the_run_is_submitted(
    paddock: Paddock, daemon: FakeDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").write_bytes(b"\x00some input\n")
    with (tmp_path / "in").open(encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert paddock("run", "--stdin", "--", "cat").code == 0
    assert daemon.stdin == b"\x00some input\n"
    assert (daemon.submits[0].stdin, daemon.submits[0].runs[0].stdin) == ("upload-1", True)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ([], "nothing to run: say it after --, as in paddock run -- make test"),
        (["--memory", "4X", "--", "x"], "--memory: found '4X'; allowed: a size from 16M to 1T"),
        (["--memory", "1G", "--memory-high", "2G", "--", "x"], "--memory-high: found 2G"),
        (
            ["--timeout", "5m", "--soft-timeout", "6m", "--", "x"],
            "--soft-timeout: found 6m; allowed: less than its timeout of 5m",
        ),
        (["--timeout", "400d", "--", "x"], "allowed: none, or a time from 1s to 366d"),
        (["--timeout", "never", "--", "x"], "--timeout: found 'never'; allowed: none, or a time"),
        (["--pids", "3", "--", "x"], "--pids: found 3; allowed: a whole number from 16 to 65536"),
        (["--cpu", "0", "--", "x"], "--cpu: found 0; allowed: unlimited, or a number"),
        (["--retries", "many", "--", "x"], "--retries: found 'many'"),
        (["--name", "../x", "--", "x"], "--name: found '../x'"),
        (["--env", "hunter2", "--", "x"], "--env: found no = in it; allowed: K=V"),
        (["--env", "PADDOCK_RUN=1", "--", "x"], "--env: found the variable 'PADDOCK_RUN'"),
        (["--env", "PADDOCK_RUN=1", "--", "x"], "allowed: K=V, where K does not begin with PADD"),
        (["--env", "A-B=hunter2", "--", "x"], "--env: found the variable 'A-B'; allowed: K=V"),
        (["--dir", "/nowhere", "--", "x"], "--dir: found no directory '/nowhere'"),
        (["--dir", "/", "--repo", "/", "--", "x"], "found dir and repo"),
        (["--branch", "main", "--", "x"], "--branch: found no repo beside it"),
        (["--repo", ".", "--sparse", "/x", "--", "x"], "--sparse: found '/x'; allowed: a list of"),
        (["--agent", "claude", "--", "x"], "an agent without a prompt"),
        (["--agent", "claude"], "an agent without a prompt"),
        (["--priority", "urgent", "--", "x"], "'urgent' is not one of"),
        (["--", "a\udcff"], "is no UTF-8 text"),
        (["--", ""], "an empty program"),
    ],
)
def test_bad_usage_is_one_clear_line_exit_2_and_nothing_submitted(
    paddock: Paddock, daemon: FakeDaemon, bad: list[str], said: str
) -> None:
    called = paddock("run", *bad)
    assert called.code == 2
    assert said in called.err
    assert called.err.count("\n") == 1
    assert "hunter2" not in called.err
    assert daemon.submits == []


def test_several_mistakes_are_all_said(paddock: Paddock) -> None:
    called = paddock("run", "--memory", "4X", "--pids", "1", "--", "x")
    assert called.code == 2
    assert called.err.splitlines()[-1] == "paddock: 2 mistakes in the options"
    assert len(called.err.splitlines()) == 3


@pytest.mark.parametrize(
    ("option", "named"),
    [([], "PADDOCK_PROFILE"), (["--performance-profile", "hgh"], "--performance-profile")],
)
def test_a_wrong_profile_is_called_by_where_it_was_said(
    paddock: Paddock,
    daemon: FakeDaemon,
    monkeypatch: pytest.MonkeyPatch,
    option: list[str],
    named: str,
) -> None:
    monkeypatch.setenv("PADDOCK_PROFILE", "hgh")
    text = "--performance-profile: found the unknown profile 'hgh'; did you mean high?"
    daemon.fails_with = BadRequest(text, "bad_request")
    called = paddock("run", *option, "--", "true")
    assert called.code == 2
    assert called.err.startswith(f"paddock: {named}: found the unknown profile 'hgh'")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Refused("8 GiB can never fit", "refused"), 3),
        (Trouble("the disk is full", "trouble"), 3),
        (Failed("it broke", "internal"), 125),
    ],
)
def test_what_the_daemon_refuses_is_one_line_and_a_code(
    paddock: Paddock, daemon: FakeDaemon, error: Failed, code: int
) -> None:
    daemon.fails_with = error
    called = paddock("run", "--", "true")
    assert (called.code, called.err) == (code, f"paddock: {error}\n")
