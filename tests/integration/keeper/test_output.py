"""Every byte an agent wrote is in its file, once, whoever moved it and whoever died meanwhile."""

from __future__ import annotations

import os
import random
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paddock.drivers.local.keeper.output import MoverLock, move, open_fifo, open_segment
from paddock.drivers.local.keeper.protocol import MOVER_LOCK_NAME
from tests.architecture.source import PROJECT
from tests.kit import leaks
from tests.kit.keeping import AGENTS, Keeping, agent
from tests.kit.waiting import until

ROUNDS = 30
FIVE_MEGABYTES = 5 * 1024 * 1024 // 64


def in_order(written: bytes) -> int:
    """How many numbered lines, if they are all there, in order, and nothing else is."""
    assert len(written) % 64 == 0
    count = len(written) // 64
    assert written == b"".join(b"%063d\n" % number for number in range(count))
    return count


def test_what_is_written_while_no_daemon_is_there_is_kept(kept: Keeping) -> None:
    kept.spawn("a", agent("chatter", FIVE_MEGABYTES))
    kept.client.close()
    until(lambda: len(kept.written("a")) == FIVE_MEGABYTES * 64, within_s=20)
    kept.connect()
    assert kept.ended("a")["exit_code"] == 0
    assert in_order(kept.written("a")) == FIVE_MEGABYTES


def test_last_words_before_a_daemon_came_are_kept(kept: Keeping) -> None:
    kept.spawn("a", agent("last_words", 23_893, 9))
    assert kept.ended("a")["exit_code"] == 9
    fifo = open_fifo(str(kept.fifo("a")))
    segment = open_segment(str(kept.segment("a")))
    assert move(fifo, segment, 1 << 20) == 23_893
    os.close(fifo)
    os.close(segment)
    assert kept.written("a") == b"x" * 23_893


def test_a_connected_daemon_alone_moves_bytes(kept: Keeping) -> None:
    kept.spawn("a", agent("last_words", 1000, 0))
    kept.ended("a")
    lock = MoverLock(str(kept.directory / MOVER_LOCK_NAME))
    assert lock.take(), "the keeper does not hold it while a daemon is there"
    kept.client.close()
    # A daemon that lost its connection but lives still holds the lock: the keeper keeps off.
    time.sleep(0.3)
    assert kept.written("a") == b""
    lock.leave()
    lock.close()
    assert until(lambda: kept.written("a")) == b"x" * 1000


def test_nothing_is_lost_or_doubled_when_daemons_are_killed_at_random(kept: Keeping) -> None:
    kept.spawn("a", agent("chatter"))
    pid = kept.running("a")["pid"]
    chance = random.Random(20)
    for _ in range(ROUNDS):
        kept.epoch += 1
        daemon = subprocess.Popen(
            [sys.executable, "-m", "tests.kit.stand_in_daemon", kept.directory, str(kept.epoch)],
            cwd=PROJECT,
            stdout=subprocess.PIPE,
        )
        with daemon:
            assert daemon.stdout is not None
            assert daemon.stdout.readline() == b"moving\n"
            time.sleep(chance.uniform(0, 0.02))  # the moment of its death, not a wait
            daemon.kill()
        time.sleep(chance.uniform(0, 0.1))  # sometimes the keeper takes over, sometimes not
    kept.connect()
    kept.client.call("signal", attempt="a", signal=15)
    kept.ended("a")
    kept.client.close()
    lines = until(lambda: _drained(kept, pid))
    assert lines > ROUNDS


def _drained(kept: Keeping, pid: int) -> int:
    """The count of lines once the pipe is empty; 0 before."""
    fifo = open_fifo(str(kept.fifo("a")))
    try:
        empty = not leaks.is_alive(pid) and not _readable(fifo)
    finally:
        os.close(fifo)
    return in_order(kept.written("a")) if empty else 0


def _readable(fifo: int) -> bool:
    poll = select.poll()
    poll.register(fifo, select.POLLIN)
    return bool(poll.poll(0))


def test_the_cap_holds_and_the_agent_waits(kept: Keeping) -> None:
    cap = 1_000_000
    kept.spawn("a", agent("chatter", FIVE_MEGABYTES), cap_bytes=cap, pipe_bytes=65536)
    kept.client.close()
    until(lambda: len(kept.written("a")) == cap)
    before = leaks.cpu_s(kept.pid)
    time.sleep(1.0)  # a second of the keeper's time is what is measured
    assert leaks.cpu_s(kept.pid) - before < 0.05
    assert len(kept.written("a")) == cap
    kept.connect()
    assert kept.known("a")["state"] == "running"
    kept.client.call("segment", attempt="a", segment=str(kept.segment("b")), cap_bytes=1 << 30)
    kept.client.close()
    rest = FIVE_MEGABYTES * 64 - cap
    until(lambda: len(kept.written("b")) == rest, within_s=20)
    assert in_order(kept.written("a") + kept.written("b")) == FIVE_MEGABYTES


@pytest.mark.parametrize("with_daemon", [True, False])
def test_an_agent_that_redirects_its_stdout_makes_nobody_spin(
    kept: Keeping, *, with_daemon: bool
) -> None:
    kept.spawn("a", agent("redirector"))
    kept.running("a")
    if not with_daemon:
        kept.client.close()
        assert until(lambda: kept.written("a")) == b"redirected\n"
    before = leaks.cpu_s(kept.pid)
    time.sleep(1.0)  # a second of the keeper's time is what is measured
    assert leaks.cpu_s(kept.pid) - before < 0.05


def test_an_agent_that_sets_its_stdout_nonblocking_changes_nothing_for_others(
    kept: Keeping,
) -> None:
    kept.spawn("a", agent("nonblocking", FIVE_MEGABYTES))
    kept.client.close()
    until(lambda: len(kept.written("a")) == FIVE_MEGABYTES * 64, within_s=20)
    assert in_order(kept.written("a")) == FIVE_MEGABYTES


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_ten_megabytes_of_a_node_program_are_all_there(kept: Keeping) -> None:
    kept.spawn("a", ["node", str(AGENTS / "ten_megabytes.js")])
    kept.client.close()
    until(lambda: len(kept.written("a")) == 10 << 20, within_s=20)
    kept.connect()
    assert kept.ended("a")["exit_code"] == 0


def test_an_agent_that_reads_its_own_stdout_does_not_stop_the_keeper(kept: Keeping) -> None:
    greedy = "while :; do echo word; head -c 4 <&1 >/dev/null; done"
    kept.spawn("a", ["sh", "-c", greedy])
    kept.running("a")
    kept.client.close()
    until(lambda: kept.written("a"), within_s=10)
    kept.connect()
    assert kept.known("a")["state"] == "running"


def test_a_segment_that_cannot_be_written_is_tried_again(kept: Keeping, tmp_path: Path) -> None:
    segment = tmp_path / "later" / "made with" / "the first byte" / "a.log"
    kept.spawn("a", agent("last_words", 500, 0), segment=str(segment))
    kept.ended("a")
    kept.client.close()
    time.sleep(0.2)  # the keeper meets the missing directory
    segment.parents[2].mkdir()
    until(lambda: segment.exists() and segment.read_bytes() == b"x" * 500)
