"""`paddock fleet`: taken whole, watched, summed up."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
import threading
from pathlib import Path

import pytest

from paddock.cli.exits import ExitCode
from paddock.cli.fleet_progress import Lines, Redrawn
from paddock.cli.fleet_summary import ran_s, summary
from paddock.cli.fleet_watch import Watched
from paddock.cli.printing import clock_time
from paddock.client.errors import BadRequest, Refused
from paddock.wire.views import HeartbeatView, MoveView
from tests.kit.waiting import until
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_daemon import FakeDaemon, Life

FLEET = """
fleet: trio
defaults: {memory: 1G}
runs:
  - {name: implement, command: [make], priority: high}
  - {name: review, needs: [implement], command: [./review.sh]}
heartbeats:
  - {name: health, every: 30s, command: [./health.sh]}
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "trio.yaml"
    path.write_text(FLEET, encoding="utf-8")
    return str(path)


def test_all_succeeded_is_exit_0_with_a_line_a_change_and_a_summary(
    paddock: Paddock, file: str
) -> None:
    called = paddock("fleet", file)
    assert called.code == 0
    lines = called.out.splitlines()
    assert any(line.endswith("review is queued: at place 3 in the queue") for line in lines)
    assert any(line.endswith("implement ended: succeeded (exit code 0)") for line in lines)
    assert any(line.endswith("review is running") for line in lines)
    head = next(line for line in lines if line.startswith("name"))
    assert head.split() == ["name", "outcome", "exit", "tries", "time", "peak"]
    assert lines[-1].startswith("2 runs in ")
    # From their submission, here in 1970, not from our first look. At midnight there are no hours.
    assert re.search(r" in \d{5} d\b", lines[-1])
    assert lines[-1].endswith(": 2 succeeded")
    assert "3.5 s" in called.out
    assert "128 MiB" in called.out


def test_it_is_submitted_whole_with_its_name_and_heartbeats(
    paddock: Paddock, daemon: FakeDaemon, file: str
) -> None:
    paddock("fleet", "--strict", file)
    (submit,) = daemon.submits
    assert (submit.fleet, [run.name for run in submit.runs]) == ("trio", ["implement", "review"])
    assert [beat.run.name for beat in submit.heartbeats] == ["health"]
    assert all(run.strict for run in submit.runs)


def test_its_heartbeats_end_with_it(paddock: Paddock, daemon: FakeDaemon, file: str) -> None:
    paddock("fleet", file)
    assert daemon.beats == {}


def test_one_that_fails_is_exit_1_and_what_needs_it_is_skipped(
    paddock: Paddock, daemon: FakeDaemon, file: str
) -> None:
    daemon.lives["implement"] = Life(outcome="failed", exit_code=2, because="ended with code 2")
    called = paddock("fleet", file)
    assert called.code == 1
    assert "implement ended: failed (exit code 2)" in called.out
    assert "skipped: it needs implement, which ended as failed" in called.out
    assert called.out.splitlines()[-4:-1] == [
        "implement: failed: ended with code 2; paddock logs implement",
        "review: skipped: it needs implement, which ended as failed",
        "",
    ]
    assert called.out.splitlines()[-1].endswith("1 failed, 1 skipped")


def test_a_summary_is_never_wider_than_the_terminal(daemon: FakeDaemon) -> None:
    because = "used 287.9 MiB, over its soft limit of 64 MiB"
    end = {"state": "ended", "outcome": "memory_limit_exceeded", "because": because, "signal": 15}
    runs = [daemon.add("an-agent-with-a-name-that-never-ends-and-goes-on-and-on-and-on", **end)]
    watched = Watched(runs=runs, code=ExitCode.ENDED_OTHERWISE, took_s=5.0)
    lines = list(summary(watched, width=80, colour=False))
    assert max(map(len, lines)) <= 80
    assert lines[1].split()[1:3] == ["memory", "-"]
    reason = " ".join(line.strip() for line in lines[3:-2])
    assert (
        reason == f"{runs[0].name}: memory_limit_exceeded: {because}; paddock logs {runs[0].name}"
    )
    assert lines[-1] == "1 run in 5 s: 1 memory"


@pytest.mark.parametrize("words", [["fleet", ""], ["submit", "--from", ""]])
def test_an_empty_name_is_no_file(paddock: Paddock, words: list[str]) -> None:
    called = paddock(*words)
    assert called.code == 2 and "no file is named: found ''" in called.err


def test_a_refusal_that_names_a_run_says_where_it_stands(
    paddock: Paddock, daemon: FakeDaemon, file: str
) -> None:
    daemon.fails_with = BadRequest("review: presets are not there yet", "bad_request")
    called = paddock("fleet", file)
    assert called.code == 2
    assert called.err == f"paddock: {file}:6: review: presets are not there yet\n"


def test_json_is_one_list_at_the_end_and_progress_goes_to_stderr(
    paddock: Paddock, file: str
) -> None:
    called = paddock("fleet", "--json", file)
    assert [run["outcome"] for run in called.json] == ["succeeded", "succeeded"]
    assert "implement ended" in called.err


def test_detached_it_prints_ids_and_says_how_heartbeats_end(
    paddock: Paddock, daemon: FakeDaemon, file: str
) -> None:
    called = paddock("fleet", "--detach", file)
    assert (called.code, called.out) == (0, "r0001\nr0002\n")
    until = "the last of these runs has ended, or: paddock kill health"
    assert f"paddock: health beats until {until}\n" in called.err
    assert daemon.beats == {"health": 30.0}


def test_heartbeats_without_runs_say_that_only_a_kill_ends_them(
    paddock: Paddock, tmp_path: Path
) -> None:
    beats = tmp_path / "beats.yaml"
    lines = ("heartbeats:", "  - {name: a, every: 30s, command: [x]}")
    beats.write_text("\n".join([*lines, "  - {name: b, every: 30s, command: [x]}"]))
    called = paddock("fleet", "--detach", str(beats))
    assert (called.code, called.out) == (0, "")
    assert called.err == "paddock: a, b beat until paddock kill a b\n"


def test_a_refusal_is_exit_3(paddock: Paddock, daemon: FakeDaemon, file: str) -> None:
    daemon.fails_with = Refused("the queue is full", "refused")
    assert paddock("fleet", file).code == 3


def test_a_broken_file_is_exit_2_with_every_mistake(paddock: Paddock, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("runs:\n  - {name: a, comand: [x]}\n  - {name: a, command: [x]}\n", "utf-8")
    called = paddock("fleet", str(path))
    assert (called.code, called.out) == (2, "")
    assert f"{path}:2: runs.a.comand: found an unknown key" in called.err
    assert called.err.splitlines()[-1] == f"paddock: 2 mistakes in {path}"


def test_a_dash_reads_stdin(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(FLEET))
    assert paddock("fleet", "-").code == 0
    assert len(daemon.runs) == 2


@pytest.mark.parametrize(
    ("numbers", "killed"),
    [
        ((signal.SIGINT,), [("r0001", False), ("r0002", False)]),
        ((signal.SIGTERM,), [("r0001", False), ("r0002", False)]),
    ],
)
def test_ctrl_c_stops_all_of_it_and_ends_with_130(
    paddock: Paddock,
    daemon: FakeDaemon,
    file: str,
    numbers: tuple[int, ...],
    killed: list[tuple[str, bool]],
) -> None:
    daemon.lives["implement"] = Life(endless=True)
    thread = threading.Thread(target=lambda: _send(daemon, numbers))
    thread.start()
    called = paddock("fleet", file)
    thread.join()
    assert called.code == 130
    assert daemon.killed == killed
    assert "stopping what has not ended" in called.out


def test_ctrl_backslash_leaves_it_running(paddock: Paddock, daemon: FakeDaemon, file: str) -> None:
    daemon.lives["implement"] = Life(endless=True)
    thread = threading.Thread(target=lambda: _send(daemon, (signal.SIGQUIT,)))
    thread.start()
    called = paddock("fleet", file)
    thread.join()
    assert called.code == 131
    assert daemon.killed == []
    assert daemon.beats == {"health": 30.0}


def _send(daemon: FakeDaemon, numbers: tuple[int, ...]) -> None:
    until(lambda: daemon.looks > 1)
    for number in numbers:
        os.kill(os.getpid(), number)


def test_on_a_terminal_the_table_is_drawn_over_itself(daemon: FakeDaemon) -> None:
    stream = io.StringIO()
    drawn = Redrawn(stream)
    beat = HeartbeatView(
        name="health", every_s=30.0, next_in_s=2.0, beats=4, skipped_pressure=0, skipped_busy=0
    )
    daemon.add("implement", state="stopping", sentence="told to stop\x1b[2J")
    daemon.add("review", state="ended", outcome="failed", exit_code=1, because="ended")
    drawn.show(list(daemon.runs.values()), [beat])
    drawn.show(list(daemon.runs.values()), [beat])
    text = stream.getvalue()
    assert "2 runs: 1 stopping, 1 failed" in text
    assert "heartbeat health every 30 s, next in 2 s (4 beats)" in text
    assert text.count("\x1b[5F") == 1
    assert "\x1b[2J" not in text
    drawn.close()
    assert stream.getvalue().endswith("\x1b[5F\x1b[J")


def test_more_runs_than_the_screen_has_lines_are_counted_not_drawn(daemon: FakeDaemon) -> None:
    stream = io.StringIO()
    for number in range(500):
        daemon.add(f"run-{number}")
    Redrawn(stream).show(list(daemon.runs.values()), [])
    assert stream.getvalue().count("\n") <= 24
    assert "500 runs: 500 running" in stream.getvalue()


def test_of_a_large_fleet_the_summary_lists_what_did_not_succeed(
    paddock: Paddock, daemon: FakeDaemon, tmp_path: Path
) -> None:
    names = [f"  - {{name: run-{n}, command: [x]}}" for n in range(150)]
    (tmp_path / "large.yaml").write_text("\n".join(["runs:", *names]), encoding="utf-8")
    daemon.lives["run-7"] = Life(outcome="failed", exit_code=1, because="ended with exit code 1")
    called = paddock("fleet", str(tmp_path / "large.yaml"))
    table = called.out.partition("name ")[2].splitlines()
    assert table[1].split()[0] == "run-7"
    assert table[3] == "run-7: failed: ended with exit code 1; paddock logs run-7"
    assert table[5].startswith("150 runs in")


def test_the_time_of_a_run_is_that_of_all_its_attempts() -> None:
    moves = [
        MoveView(at=0.0, state="queued", attempt=0, because=""),
        MoveView(at=10.0, state="starting", attempt=1, because=""),
        MoveView(at=11.0, state="running", attempt=1, because=""),
        MoveView(at=15.0, state="queued", attempt=1, because=""),
        MoveView(at=20.0, state="starting", attempt=2, because=""),
        MoveView(at=22.0, state="ended", attempt=2, because=""),
    ]
    assert ran_s(moves) == 7.0
    assert ran_s(moves[:1]) is None


def test_lines_of_progress_never_go_back_in_time(daemon: FakeDaemon) -> None:
    told = "stopping (told): ran into its hard timeout"
    runs = [
        daemon.add("first", since_at=2000.0),
        daemon.add("late", since_at=1000.0, state="queued", waits_for="at place 1"),
        daemon.add("slow", since_at=3000.0, state="stopping", sentence=told),
    ]
    lines = Lines(stream := io.StringIO())
    for run in runs:
        lines.show([run], [])
    assert stream.getvalue().splitlines() == [
        f"{clock_time(2000.0)} first is running",
        f"{clock_time(2000.0)} late is queued again: at place 1",
        f"{clock_time(3000.0)} slow is stopping: ran into its hard timeout",
    ]


def test_without_colours_progress_is_lines_on_a_terminal_too(
    paddock: Paddock, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", screen := Terminal())
    assert paddock("fleet", file).code == 0
    assert "review is running" in screen.getvalue()
    assert "\x1b" not in screen.getvalue()
