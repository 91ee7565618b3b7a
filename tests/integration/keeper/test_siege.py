"""Crowds at the door, absurd epochs, a daemon that stands still."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from paddock.drivers.local.keeper.server import MAX_CONNECTIONS
from paddock.drivers.local.keeper_client import KeeperRefused
from tests.kit import leaks
from tests.kit.keeping import Keeping
from tests.kit.waiting import until

DAEMON = """
import sys, time
from pathlib import Path
from paddock.drivers.local.keeper_client import KeeperClient
client = KeeperClient(Path(sys.argv[1]))
client.hello(100, restart={"argv": ["touch", sys.argv[2]], "env": {}, "after_s": 0.01})
while True:
    client.call("ping", within_ms=int(sys.argv[3]))
    print("up", flush=True)
    time.sleep(0.05)
"""


def test_a_crowd_that_says_nothing_locks_no_daemon_out(kept: Keeping) -> None:
    visitor = kept.visit()
    visitor.hello(None)
    daemon = kept.client
    for _ in range(2 * MAX_CONNECTIONS):
        kept.visit()
    assert daemon.call("list")["attempts"] == [], "the daemon of the moment stays"
    assert visitor.call("list")["attempts"] == [], "and who has said hello, while others have not"
    kept.connect()
    assert kept.client.call("list")["attempts"] == []


def test_a_crowd_of_visitors_makes_room_too(kept: Keeping) -> None:
    for _ in range(MAX_CONNECTIONS + 10):
        kept.visit().hello(None)
    kept.connect()
    assert kept.client.call("list")["attempts"] == []


def test_an_absurd_epoch_is_refused_and_the_right_one_is_told(kept: Keeping) -> None:
    with pytest.raises(KeeperRefused) as refused:
        kept.visit().hello(1 << 61)
    assert (refused.value.code, refused.value.epoch) == ("far_epoch", kept.epoch)
    with pytest.raises(KeeperRefused) as refused:
        kept.visit().hello(kept.epoch - 1)
    assert (refused.value.code, refused.value.epoch) == ("old_epoch", kept.epoch)
    kept.connect()


def test_a_retired_keeper_serves_the_next_daemon(kept: Keeping) -> None:
    kept.spawn("a", ["true"])
    kept.ended("a")
    kept.client.call("retire")
    kept.connect()
    kept.spawn("b", ["true"])
    assert kept.ended("b")["exit_code"] == 0


@pytest.mark.parametrize("stands_still", [True, False])
def test_a_daemon_that_stands_still_is_ended_and_brought_back(
    kept: Keeping, tmp_path: Path, *, stands_still: bool
) -> None:
    kept.client.close()
    command = [sys.executable, "-c", DAEMON, str(kept.directory), str(tmp_path / "back"), "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        try:
            daemon.stdout.readline()
            if stands_still:
                os.kill(daemon.pid, signal.SIGSTOP)
                assert daemon.wait(20) == -signal.SIGKILL
                until((tmp_path / "back").exists)
                log = kept.directory.with_name("keeper.log")
                assert "has said nothing for 0.6 s" in log.read_text(encoding="utf-8")
                log.write_text("", encoding="utf-8")
            else:
                os.kill(kept.pid, signal.SIGSTOP)  # as after a suspended machine
                with pytest.raises(subprocess.TimeoutExpired):
                    daemon.wait(1.5)
                os.kill(kept.pid, signal.SIGCONT)
                with pytest.raises(subprocess.TimeoutExpired):
                    daemon.wait(1.5)
                assert leaks.is_alive(daemon.pid)
        finally:
            daemon.kill()
    kept.epoch = 100
    kept.connect().call("leave")


def test_the_places_of_fifos_are_made_again(kept: Keeping) -> None:
    place = kept.directory / "attempts"
    kept.spawn("a", ["echo", "hello"], fifo=str(place / "a.fifo"))
    assert kept.ended("a")["exit_code"] == 0
    nowhere = kept.directory / "no" / "such" / "place" / "b.fifo"
    kept.spawn("b", ["echo", "hello"], fifo=str(nowhere))
    assert kept.ended("b")["permanent"] is False, "its place is ours, and no fault of the run's"
