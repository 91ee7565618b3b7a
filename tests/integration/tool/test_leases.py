"""Leases between real processes: who dies lets go, and who came first is first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from paddock.tool.lease_files import DIRECTORY, PLACES
from paddock.tool.leases import HELD
from tests.kit.leaks import is_alive
from tests.kit.waiting import until

PADDOCK = (sys.executable, "-P", "-m", "paddock")


@pytest.fixture
def name() -> Iterator[str]:
    """A lease of the test's own in the host's own directory, and no file of it left."""
    made = f"test-{uuid.uuid4().hex[:12]}"
    yield made
    for place in PLACES:
        for file in Path(place, DIRECTORY).glob(f"{made}.*"):
            file.unlink()


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate(timeout=30)


def lease(started: list[subprocess.Popen[str]], *words: str) -> subprocess.Popen[str]:
    env = {key: value for key, value in os.environ.items() if key != HELD}
    process = subprocess.Popen(
        [*PADDOCK, "lease", *words],
        env={**env, "PADDOCK_RUN_NAME": "a-build"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started.append(process)
    return process


HOLD = ("--", "sh", "-c", "echo $$; exec sleep 300")


def test_whoever_kills_the_holder_frees_the_lease_and_ends_its_command(
    name: str, started: list[subprocess.Popen[str]]
) -> None:
    holder = lease(started, name, *HOLD)
    assert holder.stdout
    command = int(holder.stdout.readline())
    waiter = lease(started, name, "--", "echo", "mine")
    assert waiter.stderr
    told = waiter.stderr.readline()
    assert f"waiting for the lease {name}, held by pid {holder.pid} (run a-build) since" in told

    holder.send_signal(signal.SIGKILL)

    assert waiter.communicate(timeout=30)[0] == "mine\n"
    assert waiter.returncode == 0
    until(lambda: not is_alive(command))


def test_a_wait_that_is_over_is_refused_with_3(
    name: str, started: list[subprocess.Popen[str]]
) -> None:
    holder = lease(started, name, *HOLD)
    assert holder.stdout and holder.stdout.readline()
    waiter = lease(started, name, "--wait", "200ms", "--", "echo", "mine")
    out, err = waiter.communicate(timeout=30)
    assert (waiter.returncode, out) == (3, "")
    assert f"the lease {name} was not free within 0.2 s: held by pid {holder.pid}" in err


def test_who_came_first_is_first(name: str, started: list[subprocess.Popen[str]]) -> None:
    holder = lease(started, name, *HOLD)
    assert holder.stdout and holder.stdout.readline()
    waiters = []
    for number in range(3):
        waiter = lease(started, name, *HOLD)
        assert waiter.stderr and waiter.stderr.readline()
        waiters.append(waiter)
        if number:  # the first has the gate; the others say that they wait before they do
            until(partial(is_waiting_for_a_lock, waiter.pid))
    for before, after in zip([holder, *waiters], waiters, strict=False):
        before.send_signal(signal.SIGKILL)
        assert after.stdout and after.stdout.readline()


def is_waiting_for_a_lock(pid: int) -> bool:
    lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    return any("->" in line and str(pid) in line.split() for line in lines)


def test_a_lease_inside_itself_does_not_wait_for_itself(
    name: str, started: list[subprocess.Popen[str]]
) -> None:
    inner = " ".join([*PADDOCK, "lease", name, "--wait", "5s", "--", "echo", "inside"])
    outer = lease(started, name, "--", "sh", "-c", inner)
    assert outer.communicate(timeout=30)[0] == "inside\n"
    assert outer.returncode == 0


def test_the_commands_code_and_its_absence_are_told(
    name: str, started: list[subprocess.Popen[str]]
) -> None:
    assert lease(started, name, "--", "sh", "-c", "exit 9").wait(30) == 9
    missing = lease(started, name, "--", "no-such-tool")
    assert missing.communicate(timeout=30)[1] == "paddock: no-such-tool: not found\n"
    assert missing.returncode == 127
