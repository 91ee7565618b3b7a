"""What agents tell the daemon: later, and when; ready. And what it tells them, as the page says."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from paddock.wire.run_request import RunRequest, Step
from tests.kit.house import PADDOCK, House, patiently, shell
from tests.kit.waiting import until

MIB = 1 << 20
PAGE = Path(__file__).parents[3] / "docs/reference/agent-protocol.md"
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
AN_HOUR = re.compile(r"asked to be tried again in (1 h|5\d min( \d+ s)?) \(exit code 75\)")


def story(house: House, run: str) -> list[str]:
    """Through the client, which starts no daemon: after a death the keeper's is waited for, and no
    second one is on its way when the test ends."""

    def ask() -> list[str]:
        with house.client() as client:
            return [move.because for move in client.story(run)]

    return patiently(ask, within_s=60)


def asked(house: House, run: str) -> str:
    """What its story says of the pause, once it is in one."""

    def found() -> str | None:
        moves = story(house, run)
        return next((move for move in moves if "asked to be tried again" in move), None)

    return until(found, within_s=60)


def test_tried_later_at_the_stated_time_whatever_happens_to_the_daemon(house: House) -> None:
    """An agent that states an hour, one whose words are no time, one that says nothing the second
    time (what it said first is not taken for it), one that uses the helper, and one that ends while
    there is no daemon."""
    house.start()
    helper = (sys.executable, "-c", "from paddock import agent; agent.later('3600')")
    first = '[ "$PADDOCK_ATTEMPT_NUMBER" = 1 ] && echo 0 > "$PADDOCK_LATER"; exit 75'
    again = '[ "$PADDOCK_ATTEMPT_NUMBER" = 1 ] || exec echo done; echo 0 >"$PADDOCK_LATER"; exit 75'
    waits = 'echo begun; while [ ! -e go ]; do sleep 0.05; done; date -u -d "+1 hour" +%FT%TZ'
    requests = (
        shell("hour", 'echo 3600 > "$PADDOCK_LATER"; exit 75'),
        shell("odd", 'echo soon > "$PADDOCK_LATER"; exit 75'),
        shell("silent", first),
        shell("again", again),
        shell("alone", f'{waits} > "$PADDOCK_LATER"; touch gone; exit 75'),
        RunRequest(name="helper", command=helper, memory_bytes=128 * MIB),
    )
    taken = {one.name: one.id for one in house.submit(*requests).runs}
    until(lambda: b"begun" in house.output(taken["alone"]), within_s=60)
    for name in ("hour", "helper"):
        assert AN_HOUR.fullmatch(asked(house, taken[name])), story(house, taken[name])
    odd = "asked to be tried again in 1 min (exit code 75)"
    assert asked(house, taken["odd"]) == odd
    assert any(
        move.startswith("PADDOCK_LATER says soon; allowed: seconds, a time with its zone")
        for move in story(house, taken["odd"])
    )
    (ended,) = house.ended([taken["again"]])
    assert (ended.outcome, ended.attempt, ended.exit_code) == ("succeeded", 2, 0)
    until(lambda: any("in 2 min" in move for move in story(house, taken["silent"])), within_s=60)

    os.kill(house.daemon()["pid"], signal.SIGKILL)
    (house.home / "go").touch()
    until((house.home / "gone").exists, within_s=60)
    assert AN_HOUR.fullmatch(asked(house, taken["alone"])), story(house, taken["alone"])


def test_agents_find_in_their_environment_what_the_page_says(house: House, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*GIT, *words], cwd=repository, check=True)
    says = (
        "import os; from paddock import agent\n"
        "print(*[name for name in os.environ if name.startswith('PADDOCK_')], sep='\\n')\n"
        "print(agent.memory().limit, agent.resumed, agent.ready())\n"
    )
    command = (sys.executable, "-c", says)
    steps = (Step(name="one", command=command), Step(name="two", command=command))
    size = 96 * MIB
    house.start()
    (ready,) = house.submit(
        RunRequest(
            name="ready", command=command, memory_bytes=size,
            repo=str(repository), ready_marker="all done",
        )
    ).runs  # fmt: skip
    (stepped,) = house.submit(RunRequest(name="steps", steps=steps, memory_bytes=size)).runs
    ended = house.ended([ready.id, stepped.id])
    assert {view.outcome for view in ended} == {"succeeded"}, ended
    *names, last = house.output(ready.id).decode().splitlines()
    assert last == f"{size} False True"
    assert any("ready" in move and "all done" in move for move in story(house, ready.id))
    *more, _ = house.output(stepped.id).decode().splitlines()
    found = {name for name in (*names, *more) if name.startswith("PADDOCK_")}
    # Between "What is in the environment" and the names for streams; some are not always set.
    table = PAGE.read_text(encoding="utf-8").partition("Steps that [stream")[0]
    page = set(re.findall(r"PADDOCK_[A-Z_]*[A-Z]", table))
    unset = {"PADDOCK_RESUME", "PADDOCK_STEP_MAYBE_DONE", "PADDOCK_STATE", "PADDOCK_PROFILE"}
    unset |= {"PADDOCK_MODEL"}
    assert found - {"PADDOCK_STATE"} == page - unset


def test_the_guide_states_what_is_in_force_outside_and_inside_a_run(house: House) -> None:
    without = house.told("agent-guide")["limits"]
    assert house.processes() == {}, "no daemon was started for it"
    house.start()
    limits = house.told("agent-guide")["limits"]
    assert limits == without, "on the same machine with the same configuration"
    with house.client() as client:
        walled = "no walls" not in client.status().driver
    assert limits["walled"] is walled
    done = house.paddock("run", "--memory", "160M", "--", *PADDOCK, "agent-guide", "--json")
    inside = json.loads(done.stdout)["limits"]
    assert (inside["whose"], inside["memory_bytes"]) == ("Of this run", 160 * MIB)
    assert inside["walled"] is walled
