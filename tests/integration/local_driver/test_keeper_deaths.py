"""The keeper is killed under a living daemon: agents go on, ends are not invented, starts go on."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from paddock.core.events import AttemptLost, Emptied, Exited, SpawnFailed, Started
from paddock.core.run import Attempt
from tests.integration.local_driver.test_adoption import end_keeper
from tests.kit import leaks
from tests.kit.descriptors import no_descriptor_left
from tests.kit.keeping import agent
from tests.kit.stable import CANCELLED, Stable, in_a_stable


@in_a_stable
async def test_agents_go_on_and_new_ones_get_another_keeper(stable: Stable) -> None:
    old = stable.start(*agent("chatter"), run="old")
    await stable.hear(Started, old)
    keeper = stable.driver.keeper_pid
    end_keeper(stable)
    new = stable.start("sh", "-c", "exit 3", run="new")
    assert (await stable.hear(Exited, new)).exit.code == 3
    assert stable.driver.keeper_pid not in (0, keeper)
    written = len(stable.written(old))
    await stable.until(lambda: len(stable.written(old)) > written)
    assert not stable.of(AttemptLost, old)
    stable.driver.freeze(old, reclaim=False)
    stable.driver.thaw(old)
    stable.driver.warn(old)
    stable.driver.terminate(old)
    lost = await stable.hear(AttemptLost, old)
    assert lost.permanent
    assert len(stable.of(Started, old)) == 1


@in_a_stable
async def test_another_keeper_comes_also_when_there_was_no_descriptor_for_it(
    stable: Stable,
) -> None:
    dead = stable.driver.keeper_pid
    with no_descriptor_left():
        os.kill(dead, signal.SIGKILL)
        await asyncio.sleep(1.0)  # in which a line to another one is tried for
    await stable.until(lambda: stable.driver.keeper_pid not in (0, dead))
    attempt = stable.start("true", run="after")
    assert (await stable.hear(Exited, attempt)).exit.code == 0


@in_a_stable
async def test_an_orphan_is_killed_with_all_it_has(stable: Stable) -> None:
    command = "setsid -f sleep 1000; trap '' TERM; while :; do sleep 1; done"
    attempt = stable.start("sh", "-c", command)
    await stable.until(lambda: len(stable.processes()) >= 3)
    end_keeper(stable)
    stable.driver.kill(attempt, CANCELLED)
    await stable.hear(AttemptLost, attempt)
    assert stable.processes() == {}


@in_a_stable
async def test_what_an_orphan_leaves_behind_does_not_outlive_it(stable: Stable) -> None:
    """As with a keeper: otherwise a daemon that it left would hold its run for ever."""
    told = stable.directory / "go"
    command = f"setsid -f sleep 1000; echo up; while [ ! -e {told} ]; do sleep 0.02; done"
    attempt = stable.start("sh", "-c", command)
    await stable.until(lambda: stable.written(attempt) == b"up\n")
    end_keeper(stable)
    await stable.until(lambda: stable.driver.keeper_pid != 0)
    assert not stable.of(AttemptLost, attempt)
    told.touch()
    await stable.hear(AttemptLost, attempt)
    assert stable.processes() == {}


@pytest.mark.parametrize("ends", ["before the next daemon comes", "after it came"])
def test_nor_when_its_daemon_died_too(tmp_path: Path, ends: str) -> None:
    @in_a_stable
    async def scenario(stable: Stable) -> None:
        told = stable.directory / "go"
        command = f"setsid -f sleep 1000; echo up; while [ ! -e {told} ]; do sleep 0.02; done"
        attempt = stable.start("sh", "-c", command)
        await stable.until(lambda: stable.written(attempt) == b"up\n")
        end_keeper(stable)
        stable.driver.close()
        stable.heard.clear()
        if ends.startswith("before"):
            told.touch()
            await stable.until(lambda: len(stable.processes()) == 1)
        stable.connect()
        await stable.hear(Started, attempt)
        told.touch()
        await stable.hear(AttemptLost, attempt)
        assert stable.processes() == {}

    scenario(tmp_path)


@in_a_stable
async def test_an_end_that_was_told_stays_and_its_strays_are_watched(stable: Stable) -> None:
    haunted = stable.start(*agent("daemonizer"), run="haunted")
    done = stable.start("true", run="done")
    await stable.hear(Exited, haunted)
    await stable.hear(Exited, done)
    end_keeper(stable)
    await stable.until(lambda: stable.driver.keeper_pid != 0)
    assert not stable.of(Emptied, haunted)
    stable.driver.kill(haunted, CANCELLED)
    await stable.hear(Emptied, haunted)
    assert len(stable.of(Exited, haunted)) == 1
    assert not stable.of(AttemptLost, haunted)
    for attempt in (haunted, done):
        stable.driver.forget(attempt)
    assert len(list((stable.state / "keeper").glob("*.journal"))) == 1


@in_a_stable
async def test_a_start_that_the_dead_keeper_never_read_is_done_by_the_next_and_once(
    stable: Stable,
) -> None:
    os.kill(stable.driver.keeper_pid, signal.SIGSTOP)
    attempts = [stable.start("sh", "-c", "echo once", run=f"r{n}") for n in range(3)]
    await stable.until(lambda: True)
    end_keeper(stable)
    for attempt in attempts:
        assert (await stable.hear(Exited, attempt)).exit.code == 0
        assert stable.written(attempt) == b"once\n"
        assert not stable.of(AttemptLost, attempt)


@in_a_stable
async def test_no_start_is_silent_or_doubled_when_keepers_die_among_many(stable: Stable) -> None:
    """An attempt either ran once and told its end, or is said to be lost."""
    attempts = []
    for round_ in range(4):
        new = [stable.start("sh", "-c", "echo once", run=f"r{round_}-{n}") for n in range(20)]
        attempts += new
        # One keeper dies before it reads them, the others in the midst of them.
        await stable.until(lambda new=new, few=5 * round_: ends(stable, new) >= few)  # type: ignore[misc]
        if stable.driver.keeper_pid:
            end_keeper(stable)
    await stable.until(lambda: ends(stable, attempts) == len(attempts))
    for attempt in attempts:
        assert len(stable.of(Exited, attempt)) + len(stable.of(AttemptLost, attempt)) == 1
        assert stable.written(attempt) in (b"", b"once\n")
        assert stable.of(AttemptLost, attempt) or stable.written(attempt) == b"once\n"


def ends(stable: Stable, attempts: list[Attempt]) -> int:
    ended = {event.attempt for event in stable.heard if isinstance(event, Exited | AttemptLost)}
    return len(ended.intersection(attempts))


@in_a_stable
async def test_keepers_that_die_again_and_again_are_not_started_for_ever(stable: Stable) -> None:
    for death in range(5):
        await stable.until(lambda: stable.driver.keeper_pid != 0)
        end_keeper(stable)
        waits = stable.start("true", run=f"waits-{death}")
        await stable.until(lambda: stable.driver.keeper_pid == 0)
    failed = await stable.hear(SpawnFailed, waits)
    assert not failed.permanent
    assert "keepers die" in failed.reason
    await stable.until(lambda: stable.driver.keeper_pid != 0)
    again = stable.start("true", run="again")
    assert (await stable.hear(Exited, again)).exit.code == 0


@in_a_stable
async def test_a_lost_connection_is_not_a_dead_keeper(stable: Stable) -> None:
    attempt = stable.start("sleep", "1000")
    await stable.hear(Started, attempt)
    keeper = stable.driver.keeper_pid
    cut_connections()
    late = stable.start("sh", "-c", "exit 2", run="late")
    assert (await stable.hear(Exited, late)).exit.code == 2
    assert stable.driver.keeper_pid == keeper
    cut_connections()
    stable.driver.kill(attempt, CANCELLED)
    assert (await stable.hear(Exited, attempt)).exit.signal == signal.SIGKILL


def cut_connections() -> None:
    """Ours to the keeper, as if it had dropped us."""
    for number, what in leaks.descriptors().items():
        if what.startswith("socket:"):
            with socket.socket(fileno=os.dup(int(number))) as line, suppress(OSError):
                # Others in this process may have no peer, and that is none of our business.
                if str(line.getpeername()).endswith("keeper.sock"):
                    line.shutdown(socket.SHUT_RDWR)
