"""`paddock rehearse` with a small program in the place of a real one. Those are in tests/agents."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.house import House, a_house

PRETEND = Path(__file__).parents[2] / "kit/agents/pretend_claude.py"
SECRET = "a-secret-of-the-user"
SCRIPT = """\
steps:
  - run: echo one >> log; cat /proc/net/dev > net
  - write: {path: notes.txt, text: written}
end: Well done.
"""


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path) as house:
        programs = tmp_path / "programs"
        programs.mkdir()
        text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {PRETEND} "$@"\n'
        (programs / "claude").write_text(text, encoding="utf-8")
        (programs / "claude").chmod(0o755)
        house.env |= {"PATH": f"{programs}:{house.env['PATH']}", "ANTHROPIC_API_KEY": SECRET}
        (tmp_path / "script.yaml").write_text(SCRIPT, encoding="utf-8")
        yield house


def last_line(text: str, start: str) -> str:
    return next(line for line in reversed(text.splitlines()) if line.startswith(start))


def test_one_agent_from_its_start_to_the_summary(house: House) -> None:
    mark = f"TEST_MARK={house.mark}"
    words = ("rehearse", "--agent", "claude", "--env", mark, "--memory", "200M")
    done = house.paddock(*words, "--env", "MY_TOKEN=t", "--script", "script.yaml")
    assert done.returncode == 0, done.stderr + done.stdout
    seen = json.loads(last_line(done.stdout, "{"))
    assert seen["text"] == "Well done."
    assert "MY_TOKEN" not in seen["env"] and SECRET not in str(seen)
    assert seen["env"]["TEST_MARK"] == house.mark
    assert seen["env"]["HOME"].startswith(str(house.places.state / "rehearsals"))
    said = last_line(done.stdout, "rehearsal of")
    assert said.startswith("rehearsal of claude: succeeded, 2 of 2 tool calls done, peak ")
    assert (house.home / "notes.txt").read_text(encoding="utf-8") == "written"
    interfaces = (house.home / "net").read_text(encoding="utf-8")
    assert interfaces.count(":") == 1 and "lo:" in interfaces
    (run,) = house.told("ls", "--all")
    assert run["group"].endswith("/rehearsal") and run["limit_bytes"] == 200 << 20
    assert list((house.places.state / "rehearsals").iterdir()) == []
    # The way to the program is gone with the rehearsal: a retry must not run the real one.
    again = house.paddock("retry", run["id"])
    assert (again.returncode, again.stdout) == (3, "")
    assert "a rehearsal cannot be retried; rehearse again" in again.stderr
    assert len(again.stderr.splitlines()) == 1 and len(house.told("ls", "--all")) == 1


def test_a_fleet_file_whose_plain_commands_run_as_they_are(house: House) -> None:
    env = f"env: {{TEST_MARK: {house.mark}}}"
    fleet = f"""\
runs:
  - {{name: work, agent: claude, prompt: do it, {env}, memory: 200M}}
  - {{name: early, agent: claude, prompt: do it, env: {{EARLY: 1}}, memory: 200M}}
  - {{name: plain, command: [sh, -c, 'echo $ANTHROPIC_API_KEY > plain'], memory: 64M}}
heartbeats:
  - {{name: beat, every: 1s, command: ['true']}}
"""
    (house.home / "fleet.yaml").write_text(fleet, encoding="utf-8")
    done = house.paddock("rehearse", "fleet.yaml", "--script", "script.yaml", "--json")
    runs = {run["name"]: run for run in json.loads(done.stdout)}
    assert {run["outcome"] for run in runs.values()} == {"succeeded"}
    assert (house.home / "plain").read_text(encoding="utf-8").strip() == SECRET
    assert "rehearsal" not in runs["plain"]
    assert runs["work"]["rehearsal"]["whole"]
    # One that leaves before its script is over has not shown what it was to show.
    assert not runs["early"]["rehearsal"]["whole"] and done.returncode == 1
    assert "heartbeats are left out" in done.stderr
    assert list((house.places.state / "rehearsals").iterdir()) == []


def test_what_cannot_be_rehearsed_is_said_before_anything_runs(house: House) -> None:
    (house.home / "bad.yaml").write_text("steps: [{rnu: a}, {wait: x}]", encoding="utf-8")
    (house.home / "plain.yaml").write_text("runs: [{name: a, command: ['true']}]", encoding="utf-8")
    (house.home / "other.yaml").write_text("runs: {nobody: {steps: [{run: a}]}}", encoding="utf-8")
    cases = {
        "": (2, "nothing to rehearse: say --agent claude, or name a fleet file"),
        "--agent nobody": (2, "nobody"),
        "--agent plain": (2, "plain has no model to stand in for; allowed: aider, claude, codex"),
        "--agent codex": (127, "codex is not installed here; to get it: npm install -g"),
        "--agent claude --script bad.yaml": (2, "2 mistakes in bad.yaml"),
        "--agent claude --script other.yaml": (2, "found steps for 'nobody'"),
        "--agent claude --script none.yaml": (2, "no readable file"),
        "--agent claude --driver container": (2, "allowed in a rehearsal: local"),
        "plain.yaml": (2, "none of these runs has an agent"),
        "plain.yaml --memory 1G": (2, "--memory: found beside a fleet file, plain.yaml"),
    }
    house.env["PATH"] = f"{house.home}/programs:/usr/bin:/bin"
    for words, (code, says) in cases.items():
        done = house.paddock("rehearse", *words.split())
        assert (done.returncode, says in done.stderr) == (code, True), (words, done.stderr)
    assert not (house.places.state / "paddock.sock").exists()


def test_the_network_is_ones_own_for_root_and_for_others() -> None:
    command = [sys.executable, "-P", "-m", "paddock.rehearsal.namespace"]
    others = ["unshare", "--user"]  # somebody without rights in the namespace that we are in
    for before in ([], others):
        done = subprocess.run([*before, *command], capture_output=True, text=True, check=False)
        # Where a host gives none, one line says so and what to do.
        refused = done.returncode == 1 and "no network namespace here" in done.stderr
        assert done.returncode == 0 or refused, done.stderr
        assert len(done.stderr.splitlines()) == (1 if refused else 0)
