"""Real runs whose daemon hangs, or died with its keeper: they can be killed all the same."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit import leaks
from tests.kit.house import PADDOCK, House, a_house, is_running, shell
from tests.kit.waiting import until


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    # The service of podman outlives a daemon that is killed, for up to a minute: not our subject.
    with a_house(tmp_path, config="sandbox: {container_engine: docker}\n") as house:
        yield house


def a_run(house: House, text: str) -> str:
    (taken,) = house.submit(shell("a", text)).runs
    until(lambda: is_running(house, taken.id), within_s=10)
    until(lambda: leaks.marked(taken.id), within_s=10)
    # Written at the first look of the daemon's eyes: a rescue knows it from then on.
    until((house.places.keeper / f"attempts/{taken.id}.1.facts").exists, within_s=10)
    return taken.id


def test_a_daemon_that_hangs_is_passed_by_within_seconds(house: House) -> None:
    house.start()
    run = a_run(house, "sleep 60 & sleep 60")
    daemon = house.daemon()["pid"]
    os.kill(daemon, signal.SIGSTOP)
    try:
        began_at = time.monotonic()
        done = house.paddock("kill", "--force", "a")
        assert (done.returncode, done.stdout) == (0, f"{run}\n"), done.stderr
        assert done.stderr == "paddock: the daemon does not answer: killing without it\n"
        assert 2 <= time.monotonic() - began_at < 8
        assert leaks.marked(f"PADDOCK_RUN={run}") == {}
    finally:
        os.kill(daemon, signal.SIGCONT)
    (view,) = house.ended([run])
    assert view.outcome == "cancelled"
    assert view.because == "killed by `paddock kill`; the daemon does not answer"


def test_a_real_run_is_relieved_and_watched_by_what_its_driver_wrote_down(house: House) -> None:
    house.start()
    run = a_run(house, "sleep 60")
    plan = house.told("relieve", "1", "--dry-run")
    (victim,) = plan["would_kill"]
    assert (victim["id"], victim["name"], victim["priority"]) == (run, "a", "normal")
    assert victim["expected_bytes"] == 64 << 20
    assert victim["memory_bytes"] > 0


def test_a_daemon_that_hangs_does_not_hide_who_is_not_there(house: House) -> None:
    house.start()
    run = a_run(house, "sleep 60")
    daemon = house.daemon()["pid"]
    os.kill(daemon, signal.SIGSTOP)
    try:
        done = house.paddock("kill", "--force", "nobody")
    finally:
        os.kill(daemon, signal.SIGCONT)
    assert done.returncode == 4
    assert leaks.marked(f"PADDOCK_RUN={run}")


def test_with_daemon_and_keeper_dead_the_agents_can_be_killed(house: House) -> None:
    house.start()
    run = a_run(house, "trap '' TERM; sleep 60 & wait; sleep 60")
    pids = house.daemon()
    os.kill(pids["keeper_pid"], signal.SIGKILL)
    os.kill(pids["pid"], signal.SIGKILL)
    until(lambda: not leaks.is_alive(pids["pid"]), within_s=5)
    assert leaks.marked(f"PADDOCK_RUN={run}")
    done = house.paddock("kill", "--all", "--force")
    assert (done.returncode, done.stdout) == (0, f"{run}\n"), done.stderr
    assert leaks.marked(f"PADDOCK_RUN={run}") == {}


# Beside its own process, one that says it is of an attempt with a number of 5,000 digits.
LONG = '$(head -c 5000 /dev/zero | tr "\\0" 9)'
WEARS = f'PADDOCK_ATTEMPT="$PADDOCK_ATTEMPT{LONG}" sleep 61 & sleep 60'


def test_an_agent_that_wears_a_mark_without_end_stops_no_rescue(house: House) -> None:
    house.start()
    run = a_run(house, WEARS)
    until(lambda: leaks.marked("9" * 5000), within_s=10)
    pids = house.daemon()
    os.kill(pids["keeper_pid"], signal.SIGKILL)
    os.kill(pids["pid"], signal.SIGKILL)
    until(lambda: not leaks.is_alive(pids["pid"]), within_s=5)
    (victim,) = house.told("relieve", "1", "--dry-run")["would_kill"]
    assert victim["id"] == run
    house.start()  # it finds the living by their marks
    assert is_running(house, run)
    assert house.paddock("kill", "--all", "--force").returncode == 0
    (view,) = house.ended([run])
    assert view.outcome == "cancelled"
    assert leaks.marked("9" * 5000) == {}


def test_a_daemon_that_answers_is_asked_and_has_it_as_its_own_kill(house: House) -> None:
    house.start()
    run = a_run(house, "sleep 60")
    done = house.paddock("kill", "--all", "--force")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{run}\n", "")
    assert leaks.marked(f"PADDOCK_RUN={run}") == {}
    (view,) = house.ended([run])
    assert view.outcome == "cancelled"


def test_what_only_waits_is_cancelled_by_a_daemon_that_is_started_for_it(tmp_path: Path) -> None:
    with a_house(tmp_path, config="performance: {max_concurrent_agents: 1}\n") as house:
        house.start()
        first, second = house.submit(shell("a", "sleep 60"), shell("b", "exit 0")).runs
        until(lambda: is_running(house, first.id), within_s=10)
        assert house.paddock("daemon", "stop", "--kill").returncode == 0
        done = house.paddock("kill", second.id)
        assert (done.returncode, done.stdout) == (0, f"{second.id}\n"), done.stderr


def test_to_kill_nobody_no_daemon_is_started(house: House) -> None:
    for words in (("kill", "--all"), ("kill", "--all", "--force")):
        done = house.paddock(*words)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr == "paddock: there is no daemon; nothing to kill\n"
    assert not house.places.socket.exists()
    house.start()
    assert house.paddock("daemon", "stop").returncode == 0
    assert "nothing to kill" in house.paddock("kill", "--all").stderr
    assert not house.places.socket.exists()


def test_a_daemon_that_hangs_is_told_of_and_its_successor_is_waited_for(house: House) -> None:
    """As the keeper does after half a minute: it kills the one that hangs, and starts another."""
    house.start()
    daemon = house.daemon()["pid"]
    os.kill(daemon, signal.SIGSTOP)
    asking = subprocess.Popen(
        [*PADDOCK, "ls", "--json"],
        env=house.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert asking.stderr is not None
    assert asking.stderr.readline().startswith("paddock: the daemon does not answer; ")
    os.kill(daemon, signal.SIGKILL)
    out, err = asking.communicate(timeout=60)
    assert (asking.returncode, out, err) == (0, "[]\n", "")
