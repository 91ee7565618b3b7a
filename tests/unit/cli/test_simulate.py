"""`paddock simulate`: what it prints, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from paddock.cli.live_line import LiveLine
from paddock.cli.main import main
from paddock.cli.simulate import _progress, command
from paddock.config.settings import TOUCHES
from tests.kit.waiting import until
from tests.unit.cli.test_live_line import Terminal

SMALL = ["simulate", "--ram", "64G", "--runs", "20", "--workload", "bursty"]


def answer(capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    assert main([*SMALL, "--json", *more]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_json_has_the_keys_that_scripts_rely_on(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys)
    promised = {"makespan_s", "wait_s", "peak_bytes", "oom_kills", "preemptions", "completed"}
    assert promised | {"lower_bound_s", "clairvoyant_s"} <= found.keys()
    assert found["wait_s"].keys() == {"p50", "p95"}
    assert found["completed"] == 20


def test_every_risk_that_can_be_set_can_be_tried(capsys: pytest.CaptureFixture[str]) -> None:
    [option] = [one for one in command.params if one.name == "risk"]
    simulated: Any = option.type
    configured: Any = TOUCHES.kind
    assert simulated.least <= configured.least and simulated.most == configured.most
    assert answer(capsys, "--risk", f"{configured.most:g}", "--warm")["completed"] == 20


def test_a_described_host_has_a_core_for_every_8_gib(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(capsys)["cpus"] == 8.0


def test_the_host_is_counted_as_the_size_it_was_sold_as(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert answer(capsys, "--ram", "62.7G") == answer(capsys)


def test_words_say_time_waits_memory_and_trouble(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(SMALL) == 0
    words = capsys.readouterr().out
    for name in ("time", "wait", "at once", "memory", "cores", "ended", "trouble", "ladder"):
        assert f"  {name}  " in words
    assert "20 succeeded; 0 lost" in words


def test_it_says_whether_there_is_a_cap_as_a_daemon_has_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(SMALL) == 0
    assert ", no cap on agents at once (--max-agents sets one), " in capsys.readouterr().out
    assert main([*SMALL, "--max-agents", "5"]) == 0
    words = capsys.readouterr().out
    assert ", 5 agents at once at most, " in words and "average, 5 at most" in words


def test_time_is_held_against_a_bound_and_perfect_foresight(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(SMALL) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "   time  " in line]
    assert re.search(r"; lower bound .+; with perfect foresight .+ \(ours is [\d.]+ × that\)$", row)


def test_a_ladder_that_was_seldom_calm_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    few_cores = ["simulate", "--ram", "64G", "--cpus", "1", "--workload", "steady", "--runs", "40"]
    assert main(few_cores) == 0
    words = capsys.readouterr().out
    assert ", 1 core, " in words
    assert re.search(r"%; mostly: runs take [\d.]+ times as long as usual$", words)
    assert main(SMALL) == 0
    assert "mostly:" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (["--ram", "-4G"], "above zero"),
        (["--ram", "0"], "above zero"),
        (["--ram", "4 Gigs"], "not a size"),
        (["--ram", "nan"], "not a size"),
        (["--ram", ""], "size"),
        (["--ram", "16G", "--reserve", "20G"], "leaves nothing"),
        (["--ram", "16G", "--reserve", "16G"], "leaves nothing"),
        (["--cpus", "0"], "not a number"),
        (["--cpus", "nan"], "not a number"),
        (["--cpus", "inf"], "not a number"),
        (["--cpus", "-1"], "not a number"),
        (["--runs", "0"], "range"),
        (["--runs", "-5"], "range"),
        (["--runs", "many"], "not a valid integer"),
        (["--seed", "-1"], "range"),
        (["--risk", "0"], "not a number"),
        (["--risk", "nan"], "not a number"),
        (["--workload", "nonsense"], "not one of"),
        (["--max-agents", "0"], "range"),
        (["--admission", "hopeful"], "not one of"),
    ],
)
def test_bad_input_gets_one_clear_line_and_exit_2(
    bad: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *bad]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert len(printed.err.strip().splitlines()) == 1


def test_a_workload_that_cannot_fit_is_refused_with_exit_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["simulate", "--ram", "8G", "--workload", "builds"]) == 3
    assert "8 GiB can never fit" in capsys.readouterr().err


def test_nothing_is_written_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    answer(capsys)
    assert list(tmp_path.iterdir()) == []


FLEET = """
fleet: trio
defaults: {memory: 2G}
runs:
  - {name: implement, command: [make], priority: high}
  - {name: review, needs: [implement], command: [./review.sh], memory: 1G}
  - {name: test, needs: [implement], command: [pytest]}
heartbeats:
  - {name: health, every: 30s, command: [./health.sh]}
"""


@pytest.fixture
def fleet_file(tmp_path: Path) -> str:
    path = tmp_path / "trio.yaml"
    path.write_text(FLEET, encoding="utf-8")
    return str(path)


def test_a_fleet_file_is_simulated_with_its_needs(
    fleet_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["simulate", "--ram", "16G", "--workload", "steady", "--fleet", fleet_file, "--json"]
    assert main(args) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["fleet"], found["runs"], found["completed"]) == ("trio", 3, 3)
    assert found["peak_agents"] == 2  # the two that need the first
    assert err == "paddock: 1 heartbeat left out of the simulation\n"
    assert main(args) == 0
    assert capsys.readouterr().out == out


def test_a_fleet_that_cannot_fit_is_refused_by_the_name_of_its_run(
    fleet_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--ram", "2G", "--reserve", "1G", "--fleet", fleet_file]) == 3
    assert "trio: implement cannot be started" in capsys.readouterr().err


@pytest.mark.parametrize("also", [["--runs", "5"], ["--warm"]])
def test_what_a_fleet_file_says_itself_is_not_said_beside_it(
    fleet_file: str, also: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", "--fleet", fleet_file, *also]) == 2
    assert "--fleet: found" in capsys.readouterr().err


def test_a_fleet_file_with_mistakes_is_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.yaml").write_text("runs: [{name: a}]", encoding="utf-8")
    assert main(["simulate", "--fleet", str(tmp_path / "bad.yaml")]) == 2
    assert "found nothing to run" in capsys.readouterr().err


def test_on_a_terminal_it_shows_what_it_is_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with LiveLine(terminal, every_s=0.01) as line:
        show = _progress(1000, line)
        show(400)
        until(lambda: "400 of 1,000 runs have ended · 0 s" in terminal.getvalue())
        show(1000)
        until(lambda: "have ended; how a perfect scheduler would do" in terminal.getvalue())


def test_ctrl_c_in_a_terminal_is_quiet_in_all_its_processes() -> None:
    words = [sys.executable, "-m", "paddock", "simulate", "--ram", "64G", "--runs", "5000"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        until(lambda: len(_group_of(process.pid)) == 2)  # the other one reckons beside it
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=10)
    assert (process.returncode, out, err) == (130, b"", b"")
    assert _group_of(process.pid) == []


def _group_of(leader: int) -> list[int]:
    return [int(p.name) for p in Path("/proc").glob("[0-9]*") if _group(int(p.name)) == leader]


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None
