"""Runs in steps and preempted runs, on real processes: whatever dies, each step is done once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.wire.run_request import RunRequest, Step
from paddock.wire.views import RunView
from tests.kit import striking
from tests.kit.house import House, a_house, is_running, patiently, shell
from tests.kit.waiting import until

MIB = 1 << 20
LEDGER = Path(__file__).parents[2] / "kit/agents/ledger.py"
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
ONE_SLOT = """\
performance: {max_concurrent_agents: 1}
queue: {min_run: 0.1s, max_preemptions: 1000}
"""


def step(name: str, text: str) -> Step:
    return Step(name=name, command=("sh", "-c", text))


def in_steps(*steps: Step, name: str = "a", **more: object) -> RunRequest:
    return RunRequest(name=name, steps=steps, memory_bytes=64 * MIB, **more)  # type: ignore[arg-type]


def a_repository(path: Path) -> Path:
    path.mkdir()
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*GIT, *words], cwd=path, check=True)
    return path


def story(house: House, run: str) -> list[str]:
    return [move["because"] for move in house.told("story", run)]


def view(house: House, run: str) -> RunView:
    def ask() -> RunView:
        with house.client() as client:
            return client.run(run)

    return patiently(ask)


def test_each_is_done_in_its_turn_and_what_it_left_is_kept(house: House) -> None:
    house.start()
    steps = (step("one", "echo 1 $PADDOCK_STEP"), step("two", "echo 2 $PADDOCK_STEPS; exit 0"))
    (taken,) = house.submit(in_steps(*steps)).runs
    (ended,) = house.ended([taken.id])
    assert (ended.outcome, ended.steps_done, ended.steps, ended.step) == ("succeeded", 2, 2, None)
    assert house.output(taken.id) == b"1 one\n2 2\n"
    with house.client() as client:
        first, second = client.steps(taken.id)
    assert (first.step, first.name, first.exit_code, first.commit) == (1, "one", 0, None)
    assert first.output_digest == (
        "sha256:" + subprocess.check_output(["sha256sum"], input=b"1 one\n").split()[0].decode()
    )
    assert second.output_digest != first.output_digest
    assert "step one is done (1 of 2); two is next" in story(house, taken.id)


def test_the_checkpoint_of_a_step_in_a_workspace_holds_what_it_had_not_committed(
    house: House, tmp_path: Path
) -> None:
    repository = a_repository(tmp_path / "repository")
    house.start()
    steps = (step("write", "echo work > file"), step("read", "cat file"))
    (taken,) = house.submit(in_steps(*steps, repo=str(repository))).runs
    (ended,) = house.ended([taken.id])
    assert ended.outcome == "succeeded" and house.output(taken.id) == b"work\n"
    with house.client() as client:
        first, second = client.steps(taken.id)
    assert first.commit is not None and first.commit == second.commit
    shown = subprocess.check_output([*GIT, "show", f"{first.commit}:file"], cwd=repository)
    assert shown == b"work\n"


def test_a_step_that_ends_while_there_is_no_daemon_is_done_and_not_done_again(house: House) -> None:
    """SIGKILL between a step's end and its checkpoint."""
    house.start()
    wait = "echo begun >> first; while [ ! -e go ]; do sleep 0.02; done; echo done >> first"
    (taken,) = house.submit(in_steps(step("one", wait), step("two", "cat first"))).runs
    until((house.home / "first").exists, within_s=10)
    os.kill(house.daemon()["pid"], signal.SIGKILL)
    (house.home / "go").touch()
    until(lambda: "done" in (house.home / "first").read_text(encoding="ascii"), within_s=10)
    (ended,) = house.ended([taken.id])
    assert (ended.outcome, ended.attempt) == ("succeeded", 2)
    assert house.output(taken.id) == b"begun\ndone\n"


def test_killed_at_any_moment_every_step_is_done_once_and_in_order(house: House) -> None:
    """Also between a checkpoint and the next start: the steps are short, and the kills many.

    Every fifth waits until a kill is on its way: however slow the machine is at starting a daemon,
    the steps are not all done meanwhile.
    """
    house.start()
    names = [f"s{number}" for number in range(30)]
    gates = {name: house.home / f"before-{name}" for name in names[::5]}
    text = "echo $PADDOCK_STEP $PADDOCK_STEP_MAYBE_DONE >> done"
    waits = {name: f"until test -e {gate}; do sleep 0.01; done; " for name, gate in gates.items()}
    steps = [step(name, waits.get(name, "") + text) for name in names]
    (taken,) = house.submit(in_steps(*steps)).runs
    chance = random.Random(7)  # the same kills every time
    kills = 0
    closed = list(gates.values())
    while view(house, taken.id).state != "ended":
        if closed:
            closed.pop(0).touch()
        time.sleep(chance.uniform(0.0, 0.25))
        kills += bool(house.kill_daemon())
        patiently(house.start)
    assert view(house, taken.id).outcome == "succeeded"
    assert (house.home / "done").read_text(encoding="ascii").split() == names
    assert kills >= len(gates)


@pytest.mark.parametrize("point", ["exit", "commit", "kept", "next-step", "started"])
def test_killed_between_two_steps_both_are_done_once(house: House, point: str) -> None:
    """The kill is aimed: from the moment the first is known to have ended until the second runs."""
    striking.plant(house)
    house.start()
    wait = "echo one >> done; while [ ! -e go ]; do sleep 0.02; done"
    two = "echo two $PADDOCK_STEP_MAYBE_DONE >> done"
    (taken,) = house.submit(in_steps(step("one", wait), step("two", two))).runs
    until((house.home / "done").exists, within_s=20)
    until(lambda: view(house, taken.id).state == "running", within_s=20)
    striking.arm(house, point)
    (house.home / "go").touch()
    (ended,) = house.ended([taken.id])
    assert striking.struck(house) == [point]
    assert house.daemon()["epoch"] == 2
    assert (ended.outcome, ended.attempt) == ("succeeded", 2)
    assert (house.home / "done").read_text(encoding="ascii").split() == ["one", "two"]
    with house.client() as client:
        assert [(each.step, each.attempt) for each in client.steps(taken.id)] == [(1, 1), (2, 2)]


def test_after_a_reboot_the_step_that_was_under_way_is_told_that_it_may_be_done(
    house: House,
) -> None:
    house.start()
    told = 'echo "$PADDOCK_STEP ${PADDOCK_STEP_MAYBE_DONE:-new} $PADDOCK_STEP_KEY"'
    hang = f'{told}; [ -n "$PADDOCK_STEP_MAYBE_DONE" ] || sleep 60'
    (taken,) = house.submit(in_steps(step("one", told), step("two", hang))).runs
    until(lambda: b"two" in house.output(taken.id), within_s=10)
    house.lose_power()
    house.start()
    (ended,) = house.ended([taken.id], within_s=60)
    assert ended.outcome == "succeeded"
    assert house.output(taken.id).decode().splitlines() == [
        f"one new {taken.id}/1",
        f"two new {taken.id}/2",
        f"two 1 {taken.id}/2",
    ]


def test_a_retry_goes_on_where_it_failed_and_from_the_start_when_asked(house: House) -> None:
    house.start()
    steps = (
        step("one", "echo one; date > $PADDOCK_CHECKPOINT_DIR/kept"),
        step("two", "test -e ok"),
    )
    (taken,) = house.submit(in_steps(*steps)).runs
    (failed,) = house.ended([taken.id])
    assert (failed.outcome, failed.steps_done, failed.step) == ("failed", 1, "two")
    assert failed.because == "step two: ended with exit code 1"
    (house.home / "ok").touch()
    again = house.told("retry", taken.id)
    (ended,) = house.ended([again["id"]])
    assert (ended.outcome, ended.attempt, house.output(again["id"])) == ("succeeded", 1, b"")
    with house.client() as client:
        done = [(one.step, one.name, one.run) for one in client.steps(again["id"])]
    assert done == [(1, "one", taken.id), (2, "two", None)]
    whole = house.told("retry", "--from-start", taken.id)
    (ended,) = house.ended([whole["id"]])
    assert (ended.attempt, house.output(whole["id"])) == (2, b"one\n")


def test_one_that_took_too_long_goes_on_at_the_step_that_was_not_done(house: House) -> None:
    """By `paddock retry`, as it had no retries of its own."""
    house.start()
    slow = "echo two $PADDOCK_STEP_MAYBE_DONE; test -e ok || sleep 60"
    steps = (step("one", "echo one >> done"), step("two", slow), step("three", "cat done"))
    (taken,) = house.submit(in_steps(*steps, timeout_s=4.0)).runs
    (late,) = house.ended([taken.id])
    assert (late.outcome, late.steps_done, late.step) == ("timeout_exceeded", 1, "two")
    assert late.attempt == 2
    (house.home / "ok").touch()
    again = house.told("retry", "--timeout", "60s", taken.id)["id"]
    (ended,) = house.ended([again])
    assert (ended.outcome, ended.attempt, ended.steps_done) == ("succeeded", 2, 3)
    assert house.output(again) == b"two\none\n", "step one is done once, and step two not doubted"


def test_one_that_took_too_long_goes_on_by_itself_where_it_has_retries(house: House) -> None:
    house.start()
    slow = 'echo two $PADDOCK_RESUME; test -n "$PADDOCK_RESUME" || sleep 60'
    steps = (step("one", "echo one"), step("two", slow))
    (taken,) = house.submit(in_steps(*steps, timeout_s=4.0, retries=1)).runs
    (ended,) = house.ended([taken.id])
    assert (ended.outcome, ended.attempt, ended.steps_done) == ("succeeded", 3, 2)
    assert house.output(taken.id) == b"one\ntwo\ntwo 1\n"


def test_a_retry_goes_on_in_what_the_steps_before_left_in_the_workspace(
    house: House, tmp_path: Path
) -> None:
    repository = a_repository(tmp_path / "repository")
    house.start()
    ok = house.home / "ok"
    steps = (step("write", "echo work > file"), step("read", f"cat file; test -e {ok}"))
    (taken,) = house.submit(in_steps(*steps, repo=str(repository))).runs
    assert house.ended([taken.id])[0].steps_done == 1
    ok.touch()
    again = house.told("retry", taken.id)["id"]
    (ended,) = house.ended([again])
    assert (ended.outcome, ended.attempt, house.output(again)) == ("succeeded", 1, b"work\n")


def test_what_is_kept_for_the_next_attempt_goes_with_success_only(house: House) -> None:
    house.start()
    text = 'echo x > "$PADDOCK_CHECKPOINT_DIR/kept"; ls "$PADDOCK_CHECKPOINT_DIR"; exit $CODE'
    good = RunRequest(
        name="good", command=("sh", "-c", text), env={"CODE": "0"}, memory_bytes=64 * MIB
    )
    bad = RunRequest(
        name="bad", command=("sh", "-c", text), env={"CODE": "3"}, memory_bytes=64 * MIB
    )
    ids = [one.id for one in house.submit(good, bad).runs]
    house.ended(ids)
    kept = house.places.checkpoints
    until(lambda: [path.name for path in kept.iterdir()] == [ids[1]], within_s=5)
    assert (kept / ids[1]).stat().st_mode & 0o777 == 0o700


def test_after_a_cut_the_command_for_going_on_is_run(house: House) -> None:
    house.start()
    request = RunRequest(
        name="a",
        command=("sh", "-c", "echo first; exit 75"),
        resume=("sh", "-c", "echo again $PADDOCK_RESUME"),
        memory_bytes=64 * MIB,
    )
    (taken,) = house.submit(request).runs
    (ended,) = house.ended([taken.id], within_s=120)
    assert ended.outcome == "succeeded" and house.output(taken.id) == b"first\nagain 1\n"


@pytest.fixture
def narrow(tmp_path: Path) -> Iterator[House]:
    with a_house(tmp_path, config=ONE_SLOT) as house:
        yield house


@pytest.mark.timeout(300)
def test_a_hundred_preemptions_change_nothing_of_what_a_run_says(narrow: House) -> None:
    narrow.start()
    finish = narrow.home / "finish"
    command = (sys.executable, "-I", "-S", str(LEDGER), str(finish), "0.01")
    (taken,) = narrow.submit(RunRequest(name="a", command=command, memory_bytes=64 * MIB)).runs
    with narrow.client() as client:
        for number in range(100):
            until(lambda: client.run(taken.id).state == "running", within_s=20)
            urgent = shell(f"urgent-{number}", "true", priority="critical")
            (other,) = narrow.submit(urgent).runs
            assert client.wait([other.id], timeout_s=20)[0].outcome == "succeeded"
        assert client.run(taken.id).attempt >= 100
    finish.touch()
    (ended,) = narrow.ended([taken.id], within_s=60)
    assert ended.outcome == "succeeded"
    printed = narrow.output(taken.id).decode().split()
    assert printed == [str(n) for n in range(1, len(printed) + 1)] and len(printed) > 100


def test_what_a_preempted_run_had_not_committed_is_saved_and_still_there(
    narrow: House, tmp_path: Path
) -> None:
    repository = a_repository(tmp_path / "repository")
    narrow.start()
    text = "cat file 2>/dev/null && exit 0; echo half > file; sleep 60"
    (taken,) = narrow.submit(shell("a", text, repo=str(repository))).runs
    until(lambda: is_running(narrow, taken.id), within_s=20)
    (urgent,) = narrow.submit(shell("urgent", "true", priority="critical")).runs
    narrow.ended([urgent.id])
    (ended,) = narrow.ended([taken.id], within_s=60)
    assert (ended.outcome, narrow.output(taken.id)) == ("succeeded", b"half\n")
    log = [*GIT, "log", "--all", "--format=%s%n%b"]
    until(lambda: b"preempted" in subprocess.check_output(log, cwd=repository), within_s=10)


def test_a_typo_costs_nobody_a_place(narrow: House) -> None:
    """It waits for its turn, and then ends as it would have at once."""
    narrow.start()
    plain = narrow.home / "plain"
    plain.write_text("no program", encoding="utf-8")
    (taken,) = narrow.submit(
        shell("a", "until test -e go; do sleep 0.1; done", priority="low")
    ).runs
    until(lambda: is_running(narrow, taken.id), within_s=20)
    typed = ("/nonexistent/prog", "./plain", "no-such-command-anywhere")
    every = [RunRequest(name=f"t{n}", command=(one,)) for n, one in enumerate(typed)]
    typos = [narrow.submit(each).runs[0].id for each in every]
    said = [narrow.told("why", typo)["sentence"] for typo in typos]
    assert all("nobody is stopped for it, as its program was not found" in one for one in said)
    (narrow.home / "go").touch()
    (ended,) = narrow.ended([taken.id], within_s=60)
    assert (ended.outcome, ended.attempt) == ("succeeded", 1)
    assert [one.outcome for one in narrow.ended(typos, within_s=60)] == ["spawn_failed"] * 3
    plain.write_text("#!/bin/sh\ntrue\n", encoding="utf-8")
    plain.chmod(0o755)
    assert narrow.paddock("retry", typos[1]).returncode == 0


def test_one_that_knows_nothing_of_checkpoints_makes_room_at_once(narrow: House) -> None:
    """Its grace of thirty seconds would only keep the memory."""
    narrow.start()
    (taken,) = narrow.submit(shell("a", "sleep 60")).runs
    until(lambda: is_running(narrow, taken.id), within_s=10)
    begun = time.monotonic()
    (urgent,) = narrow.submit(shell("urgent", "true", priority="critical")).runs
    narrow.ended([urgent.id])
    assert time.monotonic() - begun < 10
    narrow.paddock("kill", "--force", taken.id)
    narrow.ended([taken.id])


def test_steps_that_stream_to_each_other_live_together_and_are_exact_after_a_kill(
    narrow: House,
) -> None:
    narrow.start()
    lines = 2_000_000
    make = Step(name="make", command=("seq", "1", str(lines)), stream=True)
    text = 'cat > "$PADDOCK_CHUNK.new"; sleep 0.3; mv "$PADDOCK_CHUNK.new" "$PADDOCK_CHUNK.part"'
    take = Step(name="take", command=("sh", "-c", text), each="chunk", cut="lines")
    tell = step("tell", "ls $PADDOCK_CHECKPOINT_DIR | wc -l")
    (taken,) = narrow.submit(in_steps(make, take, tell)).runs
    until(lambda: list(narrow.home.glob("*.part")) or None, within_s=30)
    with narrow.client() as client:
        (urgent,) = narrow.submit(shell("urgent", "true", priority="critical")).runs
        client.wait([urgent.id], timeout_s=60)
        assert client.run(taken.id).limit_bytes == 64 * MIB
    (ended,) = narrow.ended([taken.id], within_s=90)
    assert (ended.outcome, ended.steps) == ("succeeded", 2)
    assert narrow.output(taken.id) == b"0\n", "what was on its way is gone when it has arrived"
    parts = sorted(narrow.home.glob("*.part"), key=lambda path: int(path.stem))
    said = b"".join(part.read_bytes() for part in parts)
    assert said == b"".join(b"%d\n" % n for n in range(1, lines + 1))
