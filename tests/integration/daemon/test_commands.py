"""`paddock` as a user types it, on a real daemon with real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.kit import leaks
from tests.kit.house import PADDOCK, House
from tests.kit.keeping import agent
from tests.kit.repositories import a_repository
from tests.kit.waiting import until


def test_a_run_ends_with_its_own_code_and_shows_its_output(house: House) -> None:
    done = house.paddock("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (done.returncode, done.stdout) == (7, "out\nerr\n")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("no-such-command-anywhere",), 127),
        (("/etc/passwd",), 126),
        (("sh", "-c", "kill -9 $$"), 137),
        (("true",), 0),
    ],
)
def test_what_cannot_be_started_or_was_killed_ends_as_in_a_shell(
    house: House, command: tuple[str, ...], code: int
) -> None:
    assert house.paddock("run", "--", *command).returncode == code


def test_a_timeout_ends_with_124_and_says_so(house: House) -> None:
    done = house.paddock("run", "--timeout", "1s", "--name", "slow", "--", "sleep", "60")
    assert done.returncode == 124
    assert "timeout" in house.paddock("why", "slow").stdout


def test_going_over_its_memory_ends_with_137_and_says_so(house: House) -> None:
    hog = "x = bytearray(300 << 20); import time; time.sleep(60)"
    done = house.paddock("run", "--name", "hog", "--memory", "64M", "--", "python3", "-c", hog)
    assert done.returncode == 137
    why = house.told("why", "hog")
    assert why["sentence"].startswith("memory_limit_exceeded")
    assert "64 MiB" in why["sentence"]


def test_its_directory_environment_and_stdin_are_the_submitters(house: House) -> None:
    (house.home / "inside").mkdir()
    words = ["run", "--stdin", "--dir", house.home / "inside", "--env", "COLOUR=blue"]
    done = house.paddock(*words, "--", "sh", "-c", "pwd; echo $COLOUR; cat", input="a\nb\n")
    assert done.stdout == f"{house.home}/inside\nblue\na\nb\n"
    assert list(house.places.stdin.iterdir()) == []


def test_without_stdin_it_is_empty(house: House) -> None:
    assert house.paddock("run", "--", "cat", input="not for it").stdout == ""


def test_a_deaf_agent_is_gone_ten_seconds_after_kill_with_all_its_children(house: House) -> None:
    ready = house.home / "ready"
    hidden = " ".join(agent("daemonizer"))
    deaf = f"trap '' TERM; {hidden}; touch {ready}; while :; do sleep 1; done"
    (taken,) = house.paddock("submit", "--name", "deaf", "--", "sh", "-c", deaf).stdout.split()
    until(ready.exists, within_s=10)
    assert len(leaks.marked(taken)) >= 2
    began = time.monotonic()
    assert house.paddock("kill", taken).returncode == 0
    assert house.paddock("wait", taken).returncode == 1
    assert 8 < time.monotonic() - began < 14
    assert leaks.marked(taken) == {}
    assert house.told("ls", "--all")[0]["outcome"] == "cancelled"


def test_a_forced_kill_does_not_wait(house: House) -> None:
    (taken,) = house.paddock("submit", "--", "sh", "-c", "trap '' TERM; sleep 60").stdout.split()
    until(lambda: house.told("ls")[0]["state"] == "running", within_s=10)
    began = time.monotonic()
    house.paddock("kill", "--force", taken)
    house.paddock("wait", taken)
    assert time.monotonic() - began < 4


def test_the_command_at_the_end_is_run_with_the_outcome(house: House) -> None:
    told = house.home / "told"
    on_end = f'echo "$PADDOCK_OUTCOME $PADDOCK_EXIT_CODE" > {told}'
    house.paddock("run", "--on-end", on_end, "--", "sh", "-c", "exit 3")
    until(lambda: told.exists() and told.read_text(encoding="utf-8") == "failed 3\n", within_s=10)


def test_needs_are_kept_and_what_needs_a_failure_is_skipped(house: House) -> None:
    first = house.paddock("submit", "--name", "first", "--", "sh", "-c", "exit 1").stdout.strip()
    house.paddock("wait", first)
    done = house.paddock("submit", "--needs", "first", "--", "true")
    assert done.returncode == 3
    assert "it needs first, which ended as failed" in done.stderr


def test_a_fleet_file_runs_whole_and_its_end_is_one_if_any_failed(house: House) -> None:
    (house.home / "fleet.yaml").write_text(
        "runs:\n"
        "  - {name: a, command: [sh, -c, 'echo from a']}\n"
        "  - {name: b, needs: [a], command: [sh, -c, 'exit 4']}\n"
        "  - {name: c, needs: [b], command: ['true']}\n"
        "heartbeats:\n"
        "  - {name: beat, every: 1s, command: ['true']}\n",
        encoding="utf-8",
    )
    done = house.paddock("fleet", "fleet.yaml", "--json")
    assert done.returncode == 1
    outcomes = {run["name"]: run["outcome"] for run in json.loads(done.stdout)}
    assert outcomes == {"a": "succeeded", "b": "failed", "c": "skipped"}
    until(lambda: house.told("status")["heartbeats"] == [], within_s=10)


def test_lines_of_commands_are_submitted_and_waited_for(house: House) -> None:
    lines = "sh -c 'exit 0'\n# a comment\n" + '{"name": "j", "command": ["sh", "-c", "exit 0"]}\n'
    taken = house.paddock("submit", "--from", "-", input=lines).stdout.split()
    assert len(taken) == 2
    assert house.paddock("wait", *taken).returncode == 0


def test_interrupted_it_is_cancelled_and_nothing_of_it_goes_on(house: House) -> None:
    house.start()
    command = [*PADDOCK, "run", "--name", "long", "--", "sh", "-c", "echo up; sleep 60"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=house.home, env=house.env, **pipes) as front:  # type: ignore[call-overload]
        assert front.stdout.readline() == b"up\n"
        front.send_signal(signal.SIGINT)
        front.communicate(timeout=30)
    assert front.returncode == 130
    assert house.told("ls", "--all")[0]["outcome"] == "cancelled"


def test_left_running_it_goes_on(house: House) -> None:
    house.start()
    command = [*PADDOCK, "run", "--name", "long", "--", "sh", "-c", "echo up; sleep 2; echo end"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=house.home, env=house.env, **pipes) as front:  # type: ignore[call-overload]
        assert front.stdout.readline() == b"up\n"
        front.send_signal(signal.SIGQUIT)
        front.communicate(timeout=30)
    assert house.paddock("wait", "long").returncode == 0
    assert house.paddock("logs", "long").stdout == "up\nend\n"


def test_a_run_can_be_followed_while_it_runs_and_read_when_it_has_ended(house: House) -> None:
    house.paddock("submit", "--name", "talks", "--", "sh", "-c", "echo 1; sleep 1; echo 2")
    assert house.paddock("logs", "-f", "talks").stdout == "1\n2\n"
    assert house.paddock("logs", "--lines", "1", "talks").stdout == "2\n"
    assert house.paddock("logs", "--grep", "^1", "talks").stdout == "1\n"


def test_what_ended_can_be_run_again_with_the_environment_of_who_asks(house: House) -> None:
    house.paddock("run", "--name", "job", "--", "sh", "-c", "echo $MOOD; exit 1")
    done = house.paddock("retry", "job", env={**house.env, "MOOD": "better"})
    assert done.returncode == 0, done.stderr
    house.paddock("wait", "job")
    assert house.paddock("logs", "job").stdout == "better\n"


def test_a_story_tells_every_state_and_why(house: House) -> None:
    house.paddock("run", "--name", "job", "--", "sh", "-c", "exit 3")
    states = [move["state"] for move in house.told("story", "job")]
    assert states == ["queued", "starting", "running", "ended"]


def test_it_starts_within_five_seconds_and_its_scratch_goes_with_it(house: House) -> None:
    a_repository(house.home / "shop")
    words = ("run", "--name", "job", "--repo", "shop", "--", "sh", "-c")
    done = house.paddock(*words, 'touch "$PADDOCK_SCRATCH/left"; echo "$PADDOCK_SCRATCH"')
    at = {move["state"]: move["at"] for move in house.told("story", "job")}
    assert at["running"] - at["starting"] < 5
    scratch = Path(done.stdout.strip())
    assert scratch.is_absolute()
    until(lambda: not scratch.exists(), within_s=2)


def test_three_failures_open_the_breaker_and_a_reset_closes_it(house: House) -> None:
    for _ in range(3):
        house.paddock("run", "--group", "flaky", "--", "false")
    assert house.told("breaker")[0]["state"] == "open"
    done = house.paddock("submit", "--json", "--group", "flaky", "--", "true")
    waiting = json.loads(done.stdout)
    assert waiting["state"] == "queued"
    assert "breaker" in waiting["waits_for"]
    assert house.paddock("breaker", "reset", "flaky").returncode == 0
    assert house.paddock("wait", waiting["id"]).returncode == 0


def test_asked_to_be_tried_later_it_is_no_failure(house: House) -> None:
    (taken,) = house.paddock("submit", "--", "sh", "-c", "exit 75").stdout.split()
    until(lambda: "tried again in" in (house.told("ls")[0]["waits_for"] or ""), within_s=10)
    assert house.paddock("kill", taken).returncode == 0


def test_more_than_is_safe_is_told_and_strictly_refused(house: House) -> None:
    total = json.loads(house.paddock("capacity", "--json").stdout)["total_bytes"]
    each = f"{total // 4 // 2**20}M"
    lines = "sleep 1\n" * 4
    done = house.paddock("submit", "--from", "-", "--memory", each, input=lines)
    assert done.returncode == 0
    assert "the others wait their turn" in done.stderr
    refused = house.paddock("submit", "--from", "-", "--memory", each, "--strict", input=lines)
    assert refused.returncode == 3
    house.paddock("kill", "--all", "--force")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("why", "nobody"), 4),
        (("kill", "nobody"), 4),
        (("submit", "--memory", "999T", "--", "true"), 2),
        (("submit", "--memory", "1023G", "--", "true"), 3),
        (("submit",), 2),
        (("fleet", "no-such-file.yaml"), 2),
        (("run", "--dir", "/no/such/place", "--", "true"), 2),
        (("run", "--name", "../../etc", "--", "true"), 2),
    ],
)
def test_what_is_wrong_is_said_in_one_line(house: House, words: tuple[str, ...], code: int) -> None:
    done = house.paddock(*words)
    assert done.returncode == code, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_secrets_are_in_no_answer_log_or_story(house: House) -> None:
    secret = f"secret-{os.urandom(8).hex()}"
    house.paddock(
        *("run", "--name", "job", "--env", f"TOKEN={secret}", "--", "sh", "-c", "exit 3"),
        env={**house.env, "INHERITED": secret},
    )
    for words in (("ls", "--all"), ("status",), ("story", "job"), ("why", "job"), ("memory",)):
        assert secret not in house.paddock(*words, "--json").stdout
    house.paddock("daemon", "stop", "--kill")
    for path in house.places.state.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


def test_a_mistake_in_the_configuration_is_a_notice_until_it_is_mended(house: House) -> None:
    house.start()
    file = house.home / "config/paddock/config.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("ladder: {skip_low: lots}\n", encoding="utf-8")
    until(lambda: house.told("status")["notices"], within_s=20)
    shown = house.paddock("status").stdout
    assert "notice  the configuration is as before, because it has a mistake: " in shown
    assert "skip_low" in shown
    file.write_text("queue: {depth: 77}\n", encoding="utf-8")
    until(lambda: not house.told("status")["notices"], within_s=20)
    assert house.told("status")["queue"]["depth"] == 77


def test_a_fleet_is_waited_for_and_killed_by_its_name(house: House) -> None:
    file = house.home / "pair.yaml"
    runs = "runs:\n  - {name: a, command: [sleep, 60]}\n  - {name: b, command: [sleep, 60]}\n"
    file.write_text(f"fleet: pair\ndefaults: {{memory: 64M}}\n{runs}", encoding="utf-8")
    done = house.paddock("fleet", "--detach", file)
    assert done.stderr == "paddock: the fleet pair: paddock ls, wait or kill --fleet pair\n"
    ids = set(done.stdout.split())
    assert {run["id"] for run in house.told("ls", "--fleet", "pair")} == ids
    assert set(house.paddock("kill", "--fleet", "pair").stdout.split()) == ids
    done = house.paddock("wait", "--fleet", "pair")
    assert (done.returncode, done.stderr.count("ended: cancelled")) == (1, 2)


def test_where_a_program_was_looked_for_in_vain_is_in_its_black_box(house: House) -> None:
    (house.home / "inside").mkdir()
    words = ("run", "--name", "lost", "--dir", house.home / "inside", "--", "./nowhere.sh")
    assert house.paddock(*words).returncode == 127
    box = until(lambda: house.told("why", "lost")["black_box"])
    assert box["directory"] == f"{house.home}/inside"


def test_one_that_succeeded_after_all_has_nothing_before_it(house: House) -> None:
    script = "test -e once && exit 0; touch once; kill -9 $$"
    words = ("run", "--name", "twice", "--retries", "1", "--", "sh", "-c", script)
    assert house.paddock(*words).returncode == 0
    box = until(lambda: house.told("why", "twice")["black_box"])
    assert box["attempt"].startswith("1, ran for ") and "next" not in box


def test_one_that_waits_for_its_next_try_says_once_when_that_is(house: House) -> None:
    words = ("submit", "--name", "again", "--retries", "9", "--", "sh", "-c", "kill -9 $$")
    assert house.paddock(*words).returncode == 0
    told = until(lambda: (found := house.told("why", "again"))["black_box"] and found)
    assert "next" not in told["black_box"]  # it said a time of its own, which only grew older
