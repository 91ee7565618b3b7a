"""Agents with presets, on real processes: sessions, rate limits, retries, a daemon that dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.wire.run_request import RunRequest, Step
from tests.kit.house import House, a_house, shell
from tests.kit.waiting import until

PATIENT_S = 120.0  # the machine may have ten times the work it has cores for
pytestmark = pytest.mark.timeout(400)
EXAMPLE = Path(__file__).parents[3] / "examples/ten-issues.yaml"
WHO = ("-c", "user.name=a", "-c", "user.email=a@b")
CODER = Path(__file__).parents[2] / "kit/agents/coder.sh"
CONFIG = f"""\
performance: {{max_concurrent_agents: 2}}
queue: {{min_run: 0.1s}}
breaker: {{failures: 100}}
agents:
  coder:
    start: [sh, {CODER}, start, "{{session}}", "{{model}}", "{{arguments}}", "{{prompt}}"]
    resume: [sh, {CODER}, resume, "{{session}}", "{{again}}"]
    model: [-m, "{{model}}"]
    session: given
    stdin: "-"
    memory: 64M
    env: {{KIND: coder}}
    later:
      - {{pattern: '^usage limit reached\\|(?P<epoch>[0-9]+)'}}
      - {{pattern: '^429 .*try again in (?P<duration>\\S+)'}}
      - {{exit: [44]}}
    lost:
      - {{pattern: '^No conversation found'}}
  finder:
    like: coder
    start: [sh, {CODER}, own, "-", "{{prompt}}"]
    model: null
    session: '^session id: (?P<session>\\S+)$'
  unheard:
    start: [unheard-of, "{{prompt}}"]
    install: make it
"""
LIMITED = (
    '[ $HOW = resume ] && echo went on && exit 0; echo "429 key=hush: try again in 1s"; exit 1'
)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path, config=CONFIG) as house:
        yield house


def asked(name: str, prompt: str, *, agent: str = "coder", **more: object) -> RunRequest:
    return RunRequest(name=name, agent=agent, prompt=prompt, **more)  # type: ignore[arg-type]


def calls(house: House, name: str) -> list[tuple[str, str]]:
    """How its program was called, and with which session."""
    path = house.home / "calls"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    words = (line.split() for line in lines)
    return [(how, session) for who, how, session, *_ in words if who == name]


def reasons(house: House, run: str) -> list[str]:
    return [move["because"] for move in house.told("story", run)]


def test_a_rate_limit_is_waited_for_and_the_session_gone_on_with(house: House) -> None:
    house.start()
    made = house.submit(
        asked("limited", LIMITED),
        asked("finds", LIMITED, agent="finder"),
        asked("waits", "exit 44"),
        asked("talks", "echo 'I wrote: 429, try again in 1s'; exit 3"),
        asked("does", "echo '429 try again in 9h'; echo $KIND"),
    ).runs
    ids = {run.name: run.id for run in made}
    # Of `waits` only that it waits is looked at: the usual pause is a minute.
    ended = {
        run.name: run
        for run in house.ended([ids[n] for n in ids if n != "waits"], within_s=PATIENT_S)
    }
    for name in ("limited", "finds"):
        assert (ended[name].outcome, ended[name].attempt) == ("succeeded", 2), ended[name]
        (first, session), (second, same) = calls(house, name)
        assert (second, same) == ("resume", session) and first != "resume"
        assert house.output(ids[name]).endswith(b"went on\n")
    told = reasons(house, ids["limited"])
    # The time that was stated; the pause of who states none is a minute, as that of `waits`.
    assert "asked to be tried again in 1 s (exit code 1)" in told, told
    assert not any("hush" in line for line in told)
    assert "hush" not in house.paddock("why", ids["limited"]).stdout
    assert (ended["talks"].outcome, ended["talks"].attempt) == ("failed", 1)
    assert (ended["does"].outcome, ended["does"].attempt) == ("succeeded", 1)
    assert house.output(ids["does"]).endswith(b"coder\n")
    pause = "asked to be tried again in 1 min (exit code 44)"
    until(lambda: pause in reasons(house, ids["waits"]), within_s=PATIENT_S)
    house.paddock("kill", ids["waits"])
    house.ended([ids["waits"]], within_s=PATIENT_S)


def test_a_lost_session_begins_afresh_once_and_two_retries_share_none(house: House) -> None:
    house.start()
    lose = "[ -e $HOME/lost ] && echo new && exit 0; >$HOME/lost; rm -r $AT; "
    (lost,) = house.submit(asked("loses", lose + "echo '429 try again in 1s'; exit 1")).runs
    (failed,) = house.submit(asked("fails", "[ $HOW = resume ]")).runs
    ended, other = house.ended([lost.id, failed.id], within_s=PATIENT_S)
    assert (ended.outcome, ended.attempt, other.outcome) == ("succeeded", 3, "failed")
    (_, first), (how, second) = calls(house, "loses")  # the resume in between found no session
    assert how == "start" and first != second
    story = reasons(house, lost.id)
    assert any("its session is lost, so it begins afresh" in line for line in story), story

    one, two = (house.told("retry", failed.id)["id"] for _ in range(2))
    anew = house.told("retry", "--from-start", failed.id)["id"]
    outcomes = sorted(
        run.outcome or "" for run in house.ended([one, two, anew], within_s=PATIENT_S)
    )
    assert outcomes == ["failed", "failed", "succeeded"]
    (_, session), *more = calls(house, "fails")
    assert [same for how, same in more if how == "resume"] == [session]
    begun = [other for how, other in more if how == "start"]
    assert len(set(begun)) == 2 and session not in begun


def test_what_ends_without_a_daemon_or_makes_room_goes_on_in_its_session(house: House) -> None:
    house.start()
    wait = "while [ ! -e $HOME/go ]; do sleep 0.05; done; "
    (alone,) = house.submit(asked("alone", f">>$HOME/begun; {wait}{LIMITED}")).runs
    until((house.home / "begun").exists, within_s=PATIENT_S)
    os.kill(house.daemon()["pid"], signal.SIGKILL)
    (house.home / "go").touch()
    (ended,) = house.ended([alone.id], within_s=PATIENT_S)
    assert (ended.outcome, ended.attempt) == ("succeeded", 2)
    (_, session), (how, same) = calls(house, "alone")
    assert (how, same) == ("resume", session)

    stay = "[ $HOW = resume ] && exit 0; >>$HOME/$PADDOCK_RUN_NAME; exec sleep 600"
    low = house.submit(asked("low", stay), asked("lower", stay, agent="finder")).runs
    until(
        lambda: all((house.home / name).exists() for name in ("low", "lower")), within_s=PATIENT_S
    )
    both = ">>u-$PADDOCK_RUN_NAME; until [ -e u-one ] && [ -e u-two ]; do sleep 0.05; done"
    house.submit(*(shell(name, both, priority="critical") for name in ("one", "two")))
    for run in house.ended([each.id for each in low], within_s=PATIENT_S):
        assert run.outcome == "succeeded", run
        known = calls(house, run.name)
        assert len({session for _, session in known}) == 1 and known[-1][0] == "resume"


def test_the_command_line_fleet_files_steps_and_prompts_that_are_too_long(house: House) -> None:
    house.start()
    done = house.paddock("run", "--agent", "cluade", "--prompt", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no preset 'cluade'; there are aider, claude, coder" in done.stderr
    long = "echo long; : " + "x" * 200_000
    done = house.paddock("run", "--agent", "coder", "--prompt-file", "-", input=long)
    assert (done.returncode, done.stdout) == (0, "long\n"), done.stderr
    (house.home / "long.txt").write_text(long, encoding="utf-8")
    done = house.paddock("run", "--agent", "finder", "--prompt-file", "long.txt")
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["long"]), done.stderr
    done = house.paddock("run", "--agent", "plain", "--prompt-file", "long.txt", "--", "echo")
    assert done.returncode == 2 and "131,071 at most" in done.stderr
    words = ("--model", "big", "--agent", "coder", "--prompt", "echo $PADDOCK_MODEL", "--", "-x")
    done = house.paddock("run", *words)
    assert (done.returncode, done.stdout) == (0, "big\n"), done.stderr
    assert (house.home / "calls").read_text(encoding="utf-8").splitlines()[-1].endswith(" 4")

    steps = (
        Step(name="think", agent="coder", prompt="echo thought > $HOME/thought"),
        Step(name="look", command=("cat", "thought")),
        Step(name="last", agent="finder", prompt=LIMITED),
    )
    (taken,) = house.submit(RunRequest(name="steps", steps=steps)).runs
    (ended,) = house.ended([taken.id], within_s=PATIENT_S)
    assert (ended.outcome, ended.steps_done, ended.attempt) == ("succeeded", 3, 4)
    assert [how for how, _ in calls(house, "steps")] == ["start", "own", "resume"]

    project = house.home / ".paddock"
    project.mkdir()
    (project / "config.yaml").write_text(
        "agents:\n  coder: {memory: 80M}\n  claude:\n    start: [rm, '{prompt}']\n",
        encoding="utf-8",
    )
    done = house.paddock("run", "--agent", "coder", "--prompt", "echo hi")
    assert done.returncode == 2
    assert "config.yaml:4: agents.claude.start: found it in a project's file" in done.stderr


def test_a_program_that_is_not_installed_is_refused_and_leaves_nothing(house: House) -> None:
    house.start()
    shop, programs = house.home / "shop", house.home / "programs"
    for each in (shop, programs):
        each.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *WHO, *words], cwd=shop, check=True)
    branches = ["git", "for-each-ref", "--format=%(refname)"]
    before = subprocess.check_output(branches, cwd=shop, text=True)
    asks = ("run", "--agent", "unheard", "--prompt", "x", "--repo", str(shop))
    done = house.paddock(*asks)
    assert (done.returncode, done.stdout) == (127, ""), done.stderr
    assert "unheard-of is not installed here; to get it: make it" in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    fleet = "runs: [{name: a, command: ['true']}, {name: b, agent: unheard, prompt: x}]"
    (house.home / "fleet.yaml").write_text(fleet, encoding="utf-8")
    done = house.paddock("fleet", "fleet.yaml")
    assert done.returncode == 127 and "b: unheard-of is not installed here" in done.stderr
    assert house.told("ls", "--all") == [] and house.told("workspace", "ls") == []
    assert subprocess.check_output(branches, cwd=shop, text=True) == before

    (programs / "unheard-of").write_text("#!/bin/sh\necho $1\n", encoding="utf-8")
    (programs / "unheard-of").chmod(0o755)
    path = f"PATH={programs}:{house.env['PATH']}"
    done = house.paddock("run", "--agent", "unheard", "--prompt", "heard", "--env", path)
    assert (done.returncode, done.stdout) == (0, "heard\n"), done.stderr


def test_ten_issues_end_on_ten_branches_of_one_repository(tmp_path: Path) -> None:
    """The example as it is, with a script in the place of the program."""
    solve = 'echo "$1" > solved && git add . && git commit -qm "$(echo "$1" | head -n 1)"'
    config = f"""\
agents:
  claude:
    start: [sh, -c, {json.dumps(solve)}, sh, "{{prompt}}"]
    resume: null
    model: null
    memory: 64M
"""
    shop = tmp_path / "shop"
    shop.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *WHO, *words], cwd=shop, check=True)
    for key, value in (("user.name", "a"), ("user.email", "a@b")):
        subprocess.run(["git", "config", key, value], cwd=shop, check=True)
    text = EXAMPLE.read_text(encoding="utf-8")
    # Ten walls of 2G are for a real machine; what the preset says is enough for a script.
    (shop / "ten-issues.yaml").write_text(text.replace("  memory: 2G", "  # 2G"), encoding="utf-8")
    with a_house(tmp_path, config=config) as house:
        done = house.paddock("fleet", shop / "ten-issues.yaml", within_s=PATIENT_S)
        assert done.returncode == 0, done.stdout + done.stderr
        there = {each["name"]: each for each in house.told("workspace", "ls")}
        names = [f"issue-{number}" for number in range(1, 11)]
        assert sorted(there) == sorted(names)
        for name in names:
            log = ["git", "log", "-1", "--format=%s", there[name]["branch"]]
            said = subprocess.check_output(log, cwd=shop, text=True)
            assert said.startswith(f"Solve issue {name.removeprefix('issue-')}: "), said
        assert list(shop.iterdir()) != [] and not (shop / "solved").exists()
