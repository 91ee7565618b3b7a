"""What goes wrong with a model: errors, broken answers, hangs and limits, with all programs."""

from __future__ import annotations

import re
import subprocess
from functools import partial

import pytest

from paddock.rehearsal import ledger
from tests.kit.waiting import until

from .theatre import WITHIN_S, Performance, Theatre, paused

pytestmark = pytest.mark.timeout(900)

WITH_TOOLS = ("claude", "codex", "opencode", "gemini")
ALL = (*WITH_TOOLS, "aider")


def fleet(
    theatre: Theatre, agents: tuple[str, ...], steps: str, *, for_aider: str, more: str
) -> list[object]:
    """Each in a directory of its own; what to say to `rehearse`."""
    runs, scripts = "", ""
    for agent in agents:
        (theatre.directory / agent).mkdir()
        runs += (
            f"  - {{name: {agent}, agent: {agent}, prompt: do it, memory: 1500M, dir: {agent},"
            f" env: {{TEST_MARK: {theatre.house.mark}}}, {more}}}\n"
        )
        lines = (for_aider if agent == "aider" else steps).splitlines()
        scripts += f"  {agent}:\n    steps:\n" + "".join(f"      {line}\n" for line in lines)
    path = theatre.directory / "fleet.yaml"
    path.write_text(f"runs:\n{runs}", encoding="utf-8")
    subprocess.run(["git", "init", "-q", theatre.directory / "aider"], check=True)
    return ["rehearse", path, "--script", theatre.script(f"runs:\n{scripts}")]


def by_name(theatre: Theatre, words: list[object], agents: tuple[str, ...]) -> list[Performance]:
    with theatre.command(*words) as performing:
        told = theatre.ended(performing, ", ".join(agents))
    runs = {run["name"]: run for run in told.runs}
    assert set(runs) == set(agents), told
    return [Performance(name, told.code, [runs[name]], told.output) for name in agents]


BROKEN = """\
- run: echo one >> log
- error: 500
- run: echo two >> log
- stall: 1s
- write: {path: notes.txt, text: written}
"""
# An answer that breaks off is a whole one to Aider. A limit under a minute it waits for by itself.
BROKEN_FOR_AIDER = """\
- error: 500
- rate_limit: 3s
- write: {path: notes.txt, text: written}
"""


@pytest.mark.parametrize("theatre", [len(ALL)], indirect=True)
def test_errors_and_answers_that_break_off_are_tried_again(theatre: Theatre) -> None:
    """By the programs themselves; Codex leaves where a stream breaks off, and is retried."""
    words = fleet(theatre, ALL, BROKEN, for_aider=BROKEN_FOR_AIDER, more="retries: 1")
    for told in by_name(theatre, words, ALL):
        told.check(told.run["outcome"] == "succeeded", "did not get over it")
        told.check(told.run["rehearsal"]["whole"], "did not play the script to its end")
        told.check(told.run["rehearsal"]["refused"] >= 2, "did not meet both")
        told.check(theatre.read(f"{told.agent}/notes.txt").strip() == "written", "wrote no file")
        if told.agent in WITH_TOOLS:
            log = theatre.read(f"{told.agent}/log")
            told.check(log == "one\ntwo\n", f"did things twice, or not at all: {log}")


@pytest.mark.parametrize("theatre", [len(ALL)], indirect=True)
def test_a_model_that_hangs_holds_its_agent_until_somebody_ends_it(theatre: Theatre) -> None:
    hangs = "- stall: {for: 1h, times: 100}\n"
    words = fleet(theatre, ALL, hangs, for_aider=hangs, more="timeout: 30m")
    with theatre.command(*words) as performing:
        for agent in ALL:
            until(partial(_has_stalled, theatre, agent), within_s=WITHIN_S)
        assert performing.poll() is None, theatre.said()[-4000:]
        runs = theatre.house.told("ls")
        assert {run["name"]: run["state"] for run in runs} == dict.fromkeys(ALL, "running")
        theatre.house.paddock("kill", "--force", *(run["id"] for run in runs))
        told = theatre.ended(performing, ", ".join(ALL))
    for run in told.runs:
        told.check(run["outcome"] == "cancelled", "ended before it was ended")
        told.check(run["rehearsal"]["refused"] >= 1, "never came to the stall")
    assert theatre.left() == []


def _has_stalled(theatre: Theatre, name: str) -> bool:
    ledgers = (theatre.house.places.state / "rehearsals").glob(f"*/{name}/ledger")
    return any(line["what"] == "refused" for path in ledgers for line in ledger.read(path))


def test_gemini_leaves_for_a_long_limit_and_is_queued_until_then(theatre: Theatre) -> None:
    """One that is shorter than five minutes it waits for by itself."""
    script = "steps: [{run: echo one >> log}, {rate_limit: 20m}, {run: echo two >> log}]"
    with theatre.rehearsing("gemini", script) as performing:

        def limited() -> bool:
            (run,) = theatre.house.told("ls", "--all") or [None]
            assert performing.poll() is None, theatre.said()[-4000:]
            return run is not None and paused(theatre.story(run["id"])) is not None

        until(limited, within_s=WITHIN_S)
        (run,) = theatre.house.told("ls")
        assert run["state"] == "queued" and theatre.read("log") == "one\n"
        # As it was stated: the pause of who states none is a minute.
        stated = re.match(r"([0-9]+) min", paused(theatre.story(run["id"])) or "")
        assert stated and 10 < int(stated[1]) <= 20, theatre.story(run["id"])
        theatre.house.paddock("kill", "--force", run["id"])


@pytest.mark.long
@pytest.mark.timeout(1500)
def test_gemini_goes_on_in_its_session_after_a_long_limit(theatre: Theatre) -> None:
    """The shortest for which it leaves: `make test-agents WHICH=long`."""
    script = "steps: [{run: echo one >> log}, {rate_limit: 5m10s}, {run: echo two >> log}]"
    told = theatre.rehearse("gemini", script, within_s=1200)
    told.check_ended_well(attempts=2)
    told.check(theatre.read("log") == "one\ntwo\n", "did not go on where it was")
    story = theatre.story(told.run["id"])
    told.check("asked to be tried again in 5 min" in story, f"was not understood: {story}")


def test_agents_are_rehearsed_as_steps_of_a_run(theatre: Theatre) -> None:
    """Each with a script of its own, and the second is limited: only it goes on later."""
    path = theatre.directory / "fleet.yaml"
    path.write_text(
        f"""\
runs:
  - name: build
    memory: 1500M
    env: {{TEST_MARK: {theatre.house.mark}}}
    steps:
      - {{name: plan, agent: codex, prompt: plan it}}
      - {{name: look, command: [sh, -c, 'cat plan.md >> log']}}
      - {{name: do, agent: claude, prompt: do it}}
""",
        encoding="utf-8",
    )
    script = theatre.script("""\
runs:
  build.plan: {steps: [{write: {path: plan.md, text: "a plan\\n"}}]}
  build.do: {steps: [{run: echo begun >> log}, {rate_limit: 4s}, {run: echo done >> log}]}
""")
    with theatre.command("rehearse", path, "--script", script) as performing:
        told = theatre.ended(performing, "codex, claude")
    told.check(told.code == 0 and told.run["outcome"] == "succeeded", "did not succeed")
    told.check(told.run["rehearsal"]["whole"], "did not play both scripts")
    told.check(theatre.read("log") == "a plan\nbegun\ndone\n", "came to another end")


def test_without_root_the_network_is_that_of_a_user_namespace(theatre: Theatre) -> None:
    """As user 1000 without any rights, which root can become by a user namespace."""
    others = ["unshare", "--user", "--map-user=1000", "--map-group=1000"]
    if subprocess.run([*others, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    script = theatre.script("steps: [{run: id -u > who; cat /proc/net/dev >> who}]")
    words = ("rehearse", "--agent", "claude", "--memory", "1500M", "--script", script)
    env = theatre.house.env | {"PADDOCK_STATE": str(theatre.directory / "of-others")}

    def paddock(*words: object) -> subprocess.CompletedProcess[str]:
        return theatre.house.paddock(*words, before=others, env=env, within_s=WITHIN_S)

    try:
        done = paddock(*words)
        assert done.returncode == 0, done.stderr + done.stdout
    finally:
        paddock("daemon", "stop", "--kill")
    seen = theatre.read("who")
    assert seen.startswith("1000\n") and "lo:" in seen and "eth" not in seen
