"""Real agent programs under paddock, with a stand-in for their models.

The version of each is pinned beside this file. A newer one that breaks its preset or does not take
the stand-in's shapes fails here, with its name in the message.
"""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from paddock.bench import report
from tests.kit.house import is_running, shell
from tests.kit.waiting import until

from .theatre import WITHIN_S, Theatre, paused, pinned

pytestmark = pytest.mark.timeout(900)

ALL = ("claude", "codex", "opencode", "gemini")
# Those that leave when they are limited; Gemini CLI waits by itself for as long as five minutes.
LEAVE_WHEN_LIMITED = ("claude", "codex", "opencode")
WHOLE = """\
steps:
  - say: I begin.
  - write: {path: notes.txt, text: "written\\n"}
  - run: echo "$HOME $ANTHROPIC_API_KEY $OPENAI_API_KEY" > seen; cat /proc/net/dev >> seen
  - memory: {size: 64M, for: 1s}
end: That was all of it.
"""
# Once through, it goes on at once; the first time it is there to be cut. Cut in its middle: Claude
# Code writes its session down up to 0.1 s later, also when it is told to end, and does again what
# is not there.
CUT = """\
steps:
  - run: echo one >> log
  - run: |
      if [ ! -e started ]; then sleep 1; touch started; while true; do sleep 1; done; fi
      echo two >> log
  - run: echo three >> log
"""
LIMITED = """\
steps:
  - run: echo one >> log
  - rate_limit: 30s
  - run: echo two >> log
"""


@pytest.mark.parametrize("agent", ALL)
def test_it_runs_to_its_end_and_sees_nothing_of_the_user(agent: str, theatre: Theatre) -> None:
    told = theatre.rehearse(agent, WHOLE, "--name", "whole", "--role", "review")
    told.check_ended_well(attempts=1)
    run = told.run
    told.check(run["rehearsal"]["done"] == 3, "left tool calls undone")
    told.check("That was all of it." in told.output, "did not say its model's last word")
    told.check(theatre.read("notes.txt") == "written\n", "did not write the file")
    told.check(run["limit_bytes"] == 1500 << 20, "had another wall")
    told.check(run["peak_bytes"] > 64 << 20, "used less memory than it was asked to")
    told.check(run["group"].endswith("/rehearsal-review"), "counts as the real thing")
    seen = theatre.read("seen")
    told.check("lo:" in seen and "eth" not in seen, "has a network")
    told.check("the-users-own-key" not in seen, "has the user's key")
    assert theatre.left() == []


def test_aider_writes_and_commits_what_its_model_says(theatre: Theatre) -> None:
    subprocess.run(["git", "init", "-q", theatre.directory / "repository"], check=True)
    script = "steps: [{write: {path: notes.txt, text: written}}]"
    told = theatre.rehearse("aider", script, "--dir", theatre.directory / "repository")
    told.check_ended_well(attempts=1)
    told.check(theatre.read("repository/notes.txt").strip() == "written", "wrote no file")
    words = ["git", "log", "--format=%s %an"]
    log = subprocess.check_output(words, cwd=theatre.directory / "repository", text=True)
    told.check("Rehearse a change" in log and "paddock rehearsal" in log, "did not commit")


@pytest.mark.parametrize("theatre", [1], indirect=True)
@pytest.mark.parametrize("agent", ALL)
def test_preempted_in_the_middle_of_a_tool_call_it_goes_on_to_the_same_end(
    agent: str, theatre: Theatre
) -> None:
    with theatre.rehearsing(agent, CUT, "--priority", "low") as performing:
        theatre.wait_for_file("started", performing, agent)
        (urgent,) = theatre.house.submit(shell("urgent", "true", priority="critical")).runs
        (view,) = theatre.house.ended([urgent.id], within_s=WITHIN_S)
        assert view.outcome == "succeeded"
        told = theatre.ended(performing, agent)
    told.check_ended_well(attempts=2)
    told.check(theatre.read("log") == "one\ntwo\nthree\n", "came to another end")
    told.check(told.run["rehearsal"]["asked_again"] >= 1, "was not cut in a tool call")


@pytest.mark.parametrize("agent", LEAVE_WHEN_LIMITED)
def test_a_rate_limit_is_waited_for_in_the_queue(agent: str, theatre: Theatre) -> None:
    told = theatre.rehearse(agent, LIMITED)
    # Two: one that came back before the stated time would have been refused once more.
    told.check_ended_well(attempts=2)
    told.check(theatre.read("log") == "one\ntwo\n", "did not go on where it was")
    story = theatre.story(told.run["id"])
    # In seconds: without the time that it states, the pause would be a minute.
    told.check(re.fullmatch(r"[0-9.]+ s", paused(story) or ""), f"was not understood: {story}")
    # No failure: nothing for a breaker.
    assert theatre.house.told("status")["breakers"] == []


def test_a_baseline_measures_the_real_program(theatre: Theatre) -> None:
    """The small row of the matrix: one file edited, tested and committed through its tools."""
    words = ("--agent", "codex", "--rehearse", "--rounds", "1", "--every", "100ms", "--json")
    done = theatre.house.paddock("bench", "baseline", *words, within_s=WITHIN_S)
    assert done.returncode == 0, done.stderr
    found = report.read(theatre.directory / json.loads(done.stdout)["report"])
    for cell in found.cells:
        assert cell.row == "codex, small"
        assert cell.verdict.startswith("ended well"), f"{pinned('codex')}: {cell.verdict}"
        peak = next(figure.middle for figure in cell.figures if figure.name == "peak")
        assert 40 < peak < 1000, f"{pinned('codex')} used {peak:.0f} MiB"


def test_a_wall_kills_opencode_alone_and_why_says_so(theatre: Theatre) -> None:
    (beside,) = theatre.house.submit(shell("beside", "sleep 800")).runs
    until(lambda: is_running(theatre.house, beside.id), within_s=WITHIN_S)
    script = "steps: [{memory: {size: 300M, for: 60s}}]"
    told = theatre.rehearse("opencode", script, "--memory", "256M")
    told.check(told.code == 137, f"ended with code {told.code}")
    told.check(told.run["outcome"] == "memory_limit_exceeded", "was not killed by its wall")
    why = theatre.house.told("why", told.run["id"])
    told.check("256 MiB" in why["sentence"], f"died otherwise: {why['sentence']}")
    told.check("opencode" in str(why["black_box"]), f"is not in its black box: {why}")
    assert is_running(theatre.house, beside.id)
    theatre.house.paddock("kill", "--force", beside.id)


def test_the_daemon_is_killed_under_three_of_them_and_nothing_is_lost(theatre: Theatre) -> None:
    agents = LEAVE_WHEN_LIMITED
    runs = "".join(
        f"  - {{name: {agent}, agent: {agent}, prompt: do it, memory: 1500M,"
        f" env: {{TEST_MARK: {theatre.house.mark}}}}}\n"
        for agent in agents
    )
    fleet = theatre.directory / "fleet.yaml"
    fleet.write_text(f"runs:\n{runs}  - {{name: plain, command: ['true']}}\n", encoding="utf-8")
    steps = "".join(
        f"  {agent}:\n    steps:\n"
        f"      - run: touch {agent}.started; until [ -e go ]; do sleep 0.2; done\n"
        f"      - run: echo once >> {agent}.log\n"
        for agent in agents
    )
    script = theatre.script(f"runs:\n{steps}")
    with theatre.command("rehearse", fleet, "--script", script) as performing:
        for agent in agents:
            theatre.wait_for_file(f"{agent}.started", performing, agent)
        for _ in range(2):
            _kill_daemon(theatre)
        (theatre.directory / "go").touch()
        told = theatre.ended(performing, ", ".join(agents))
    told.check_ended_well(attempts=1)
    told.check(len(told.runs) == 4, "lost one")
    for agent in agents:
        told.check(theatre.read(f"{agent}.log") == "once\n", f"({agent}) came to another end")


def _kill_daemon(theatre: Theatre) -> None:
    killed = until(theatre.house.kill_daemon, within_s=60)

    def another() -> bool:
        done = theatre.house.paddock("daemon", "status", "--json")
        return done.returncode == 0 and f'"pid": {killed},' not in done.stdout

    until(another, within_s=WITHIN_S)
