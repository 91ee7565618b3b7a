"""Daemons come and go: what ran on, what ended and what was being killed is found by the next."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from paddock.core.events import AttemptLost, Emptied, Exited, SpawnFailed, Started, StopFound
from paddock.core.run import Attempt, Outcome
from paddock.drivers.local.driver import DriverTrouble, LocalDriver
from paddock.drivers.local.keeper.members import look_at, read_proc
from paddock.ports import Stop
from tests.kit import leaks
from tests.kit.keeping import AGENTS, PYTHON, agent
from tests.kit.stable import CANCELLED, Stable, in_a_stable
from tests.kit.waiting import until

FIVE_MEGABYTES = 5 * 1024 * 1024 // 64
WALL = Stop(Outcome.MEMORY_LIMIT_EXCEEDED, "it used 2 GiB of 1 GiB")


def lines(count: int) -> bytes:
    return b"".join(b"%063d\n" % number for number in range(count))


def no_agents_left(stable: Stable) -> None:
    until(lambda: not stable.processes(), within_s=20)


@in_a_stable
async def test_what_ends_while_no_daemon_is_there_is_told_to_the_next_with_all_it_wrote(
    stable: Stable,
) -> None:
    commands = {
        "chatter": agent("chatter", FIVE_MEGABYTES),
        "nonblocking": agent("nonblocking", FIVE_MEGABYTES),
        "last": agent("last_words", 23_893, 9),
        "missing": ["no-such-command"],
    }
    for run, command in commands.items():
        stable.start(*command, run=run)
    stable.driver.close()
    stable.heard.clear()
    no_agents_left(stable)
    assert stable.connect() == {Attempt(run, 1) for run in commands}
    for run, code in (("chatter", 0), ("nonblocking", 0), ("last", 9)):
        assert (await stable.hear(Exited, Attempt(run, 1))).exit.code == code
    assert (await stable.hear(SpawnFailed, Attempt("missing", 1))).permanent
    assert stable.written(Attempt("chatter", 1)) == lines(FIVE_MEGABYTES)
    assert stable.written(Attempt("nonblocking", 1)) == lines(FIVE_MEGABYTES)
    assert stable.written(Attempt("last", 1)) == b"x" * 23_893


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_ten_megabytes_of_a_node_program_are_all_there(tmp_path: Path) -> None:
    async def scenario(stable: Stable) -> None:
        attempt = stable.start("node", str(AGENTS / "ten_megabytes.js"))
        stable.driver.close()
        no_agents_left(stable)
        stable.connect()
        assert (await stable.hear(Exited, attempt)).exit.code == 0
        assert len(stable.written(attempt)) == 10 << 20

    in_a_stable(scenario)(tmp_path)


@in_a_stable
async def test_output_goes_on_in_the_same_file_from_daemon_to_daemon(stable: Stable) -> None:
    attempt = stable.start(*agent("chatter"))
    for _ in range(5):
        written = len(stable.written(attempt))
        await stable.until(lambda written=written: len(stable.written(attempt)) > written)  # type: ignore[misc]
        stable.driver.close()
        stable.connect()
    stable.driver.terminate(attempt)
    assert (await stable.hear(Exited, attempt)).exit.code == 0
    written = len(stable.written(attempt))
    assert stable.written(attempt) == lines(written // 64)


@in_a_stable
async def test_an_agent_that_redirects_its_output_makes_nobody_spin(stable: Stable) -> None:
    attempt = stable.start(*agent("redirector"))
    stable.driver.close()
    stable.connect()
    await stable.until(lambda: stable.written(attempt) == b"redirected\n")
    pids = (os.getpid(), stable.driver.keeper_pid)
    before = [leaks.cpu_s(pid) for pid in pids]
    with pytest.raises(AssertionError):  # a second of their time is what is measured
        await stable.until(lambda: bool(stable.of(Exited, attempt)), within_s=1.0)
    own, keepers = (leaks.cpu_s(pid) - then for pid, then in zip(pids, before, strict=True))
    assert own < 0.3, "the test itself looks 200 times"
    assert keepers < 0.05


@in_a_stable
async def test_one_that_runs_on_is_adopted_with_its_limit_and_told_again(stable: Stable) -> None:
    attempt = stable.start("sleep", "1000", limit_bytes=123 << 20)
    await stable.hear(Started, attempt)
    stable.driver.close()
    stable.heard.clear()
    assert stable.connect() == {attempt}
    await stable.hear(Started, attempt)
    stable.start("sleep", "1000")  # owed by the last daemon, as far as the store knew
    assert attempt in stable.driver.used_bytes()
    stable.driver.kill(attempt, CANCELLED)
    assert (await stable.hear(Exited, attempt)).exit.signal == signal.SIGKILL
    assert len(stable.of(Started, attempt)) == 1
    assert not stable.of(StopFound, attempt), "this daemon knows why itself"


@in_a_stable
async def test_why_it_was_killed_outlives_the_daemon_that_killed_it(stable: Stable) -> None:
    attempt = stable.start("sleep", "1000")
    await stable.hear(Started, attempt)
    stable.driver.kill(attempt, WALL)
    stable.driver.close()  # before it could hear of the end
    stable.heard.clear()
    no_agents_left(stable)
    stable.connect()
    await stable.hear(Exited, attempt)
    found = [event for event in stable.heard if not isinstance(event, Started)]
    assert [type(event) for event in found] == [StopFound, Exited]
    (stop,) = stable.of(StopFound, attempt)
    assert (stop.outcome, stop.because) == (WALL.outcome, WALL.because)


@in_a_stable
async def test_killing_strays_is_no_reason_for_the_end(stable: Stable) -> None:
    attempt = stable.start(*agent("daemonizer"))
    assert not (await stable.hear(Exited, attempt)).empty
    stable.driver.kill(attempt, Stop(None, "its strays"))
    stable.driver.close()
    stable.heard.clear()
    no_agents_left(stable)
    stable.connect()
    ended = await stable.hear(Exited, attempt)
    if not ended.empty:  # it heard of its main process before the last stray was gone
        await stable.hear(Emptied, attempt)
    assert ended.exit.code == 0
    assert not stable.of(StopFound, attempt)


@in_a_stable
async def test_strays_of_one_that_ended_meanwhile_are_waited_for(stable: Stable) -> None:
    attempt = stable.start(*agent("daemonizer"))
    await stable.hear(Exited, attempt)
    stable.driver.close()
    stable.heard.clear()
    stable.connect()
    assert not (await stable.hear(Exited, attempt)).empty
    assert attempt in stable.driver.used_bytes()
    stable.driver.kill(attempt, Stop(None, "its strays"))
    await stable.hear(Emptied, attempt)


def end_keeper(stable: Stable) -> None:
    """By the identity it has; SIGKILL, as somebody in a hurry would."""
    pid = stable.driver.keeper_pid
    found = look_at(pid)
    assert found is not None
    leaks.end({pid: found.start})
    until(lambda: not leaks.is_alive(pid))


@in_a_stable
async def test_without_keeper_and_daemon_the_living_are_found_by_their_marks(
    stable: Stable,
) -> None:
    lives = stable.start(*agent("chatter"), run="lives")
    gone = stable.start("sleep", "1000", run="gone")
    ended = stable.start(*PYTHON, "-c", "raise SystemExit(4)", run="ended")
    await stable.hear(Exited, ended)
    await stable.hear(Started, lives)
    await stable.hear(Started, gone)
    gone_pid = next(pid for pid in stable.processes() if b"sleep" in read_proc(pid, "comm"))
    end_keeper(stable)
    stable.driver.close()
    os.kill(gone_pid, signal.SIGKILL)
    stable.heard.clear()
    assert stable.connect() == {lives, gone, ended}
    assert (await stable.hear(Exited, ended)).exit.code == 4
    lost = await stable.hear(AttemptLost, gone)
    assert lost.permanent
    assert "keeper was killed" in lost.reason
    await stable.hear(Started, lives)
    assert stable.driver.used_bytes()[lives] > 0
    written = len(stable.written(lives))
    await stable.until(lambda: len(stable.written(lives)) > written)
    stable.driver.terminate(lives)
    assert (await stable.hear(AttemptLost, lives)).permanent
    assert not stable.of(Exited, lives), "its exit is never invented"
    written = len(stable.written(lives))
    assert stable.written(lives) == lines(written // 64)


@in_a_stable
async def test_the_reason_of_a_kill_outlives_even_the_keeper(stable: Stable) -> None:
    attempt = stable.start("sleep", "1000")
    await stable.hear(Started, attempt)
    stable.driver.kill(attempt, WALL)
    # Not before the keeper has seen it: of one that nobody has reaped, nobody knows how it ended.
    await stable.hear(Exited, attempt)
    end_keeper(stable)
    stable.driver.close()
    stable.heard.clear()
    stable.connect()
    await stable.hear(Exited, attempt)
    kinds = [type(event) for event in stable.heard]
    assert kinds.index(StopFound) < kinds.index(Exited)


@in_a_stable
async def test_what_a_dead_keeper_left_goes_once_it_is_forgotten(stable: Stable) -> None:
    attempt = stable.start("true")
    await stable.hear(Exited, attempt)
    end_keeper(stable)
    stable.driver.close()
    stable.connect()
    assert len(list((stable.state / "keeper").glob("*.journal"))) == 2
    await stable.until(lambda: len(stable.of(Exited, attempt)) == 2)
    stable.driver.forget(attempt)
    assert len(list((stable.state / "keeper").glob("*.journal"))) == 1
    assert not list((stable.state / "keeper" / "attempts").iterdir())


@in_a_stable
async def test_a_newer_daemon_takes_over_and_the_older_one_is_told(stable: Stable) -> None:
    attempt = stable.start(*agent("chatter"))
    await stable.hear(Started, attempt)
    told: list[bool] = []
    stable.driver.on_superseded = lambda: told.append(True)
    # As the daemon does it: connecting waits for the older one to let go of the output.
    newer = LocalDriver(stable.state / "keeper", stable.state / "output", epoch=2)
    await asyncio.to_thread(newer.connect)
    stable.driver = newer
    assert newer.adopt(stable.heard.append) == {attempt}
    assert told == [True]
    with pytest.raises(DriverTrouble, match="another daemon"):
        LocalDriver(stable.state / "keeper", stable.state / "output", epoch=1).connect()
    newer.terminate(attempt)
    await stable.hear(Exited, attempt)
    assert stable.written(attempt) == lines(len(stable.written(attempt)) // 64)


@in_a_stable
async def test_an_older_daemon_that_does_not_let_go_is_not_written_over(stable: Stable) -> None:
    """It cannot: the loop in which it would hear of the newer one is held up by this very call."""
    told: list[bool] = []
    stable.driver.on_superseded = lambda: told.append(True)
    with pytest.raises(DriverTrouble, match="still moves"):
        LocalDriver(stable.state / "keeper", stable.state / "output", epoch=2).connect()
    await stable.until(lambda: told == [True])
    stable.connect()
