"""Daemons come and go: what ran on, what ended and what was being killed is found by the next."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from paddock.core.events import AttemptLost, Exited, SpawnFailed, Started, StopFound
from paddock.core.run import Attempt, Outcome
from paddock.core.units import MIB
from paddock.ports import Stop
from tests.integration.container.pasture import CANCELLED, Pasture, holders, on_each_engine
from tests.kit.keeping import agent

FIVE_MEGABYTES = 5 * 1024 * 1024 // 64
WALL = Stop(Outcome.MEMORY_LIMIT_EXCEEDED, "it used 2 GiB of 1 GiB")
PROJECT = Path(__file__).parents[3]


def lines(count: int) -> bytes:
    return b"".join(b"%063d\n" % number for number in range(count))


def status(pasture: Pasture, attempt: Attempt) -> str:
    """The shim's last word, for waiting while no driver is there."""
    name = f"containers/*/{attempt.run}.{attempt.number}/in/status"
    found = [path.read_text(encoding="ascii") for path in pasture.state.glob(name)]
    return found[0].strip() if found else ""


async def started_and_left(pasture: Pasture, *attempts: Attempt) -> None:
    for attempt in attempts:
        await pasture.until(lambda attempt=attempt: status(pasture, attempt) != "")  # type: ignore[misc]
    pasture.driver.close()
    pasture.heard.clear()


@on_each_engine
async def test_what_ends_while_no_daemon_is_there_is_told_to_the_next_with_all_it_wrote(
    pasture: Pasture,
) -> None:
    ends = {"chatter": "exit 0", "nonblocking": "exit 0", "last": "exit 9"}
    chatter = agent("chatter", FIVE_MEGABYTES)
    nonblocking = agent("nonblocking", FIVE_MEGABYTES)
    commands = {
        "chatter": chatter,
        "nonblocking": nonblocking,
        "last": agent("last_words", 23893, 9),
    }
    attempts = [pasture.start(*command, run=run) for run, command in commands.items()]
    missing = pasture.start("no-such-command", run="missing")
    await started_and_left(pasture, *attempts, missing)
    for attempt in attempts:
        wanted = ends[attempt.run]
        await pasture.until(lambda a=attempt, w=wanted: status(pasture, a) == w)  # type: ignore[misc]
    assert pasture.connect() == {*attempts, missing}
    codes = [(await pasture.hear(Exited, attempt)).exit.code for attempt in attempts]
    assert codes == [0, 0, 9]
    assert (await pasture.hear(SpawnFailed, missing)).permanent
    assert pasture.written(attempts[0]) == lines(FIVE_MEGABYTES)
    assert pasture.written(attempts[1]) == lines(FIVE_MEGABYTES)
    assert pasture.written(attempts[2]) == b"x" * 23_893


@on_each_engine
async def test_who_lives_on_is_adopted_heard_and_obeys(pasture: Pasture) -> None:
    attempt = pasture.start("/bin/sh", "-c", "while :; do echo x; sleep 0.01; done")
    await pasture.until(lambda: len(pasture.written(attempt)) > 20)
    await started_and_left(pasture, attempt)
    assert pasture.connect() == {attempt}
    await pasture.hear(Started, attempt)
    before = len(pasture.written(attempt))
    await pasture.until(lambda: len(pasture.written(attempt)) > before)
    assert pasture.driver.used_bytes()[attempt] > 0
    pasture.driver.terminate(attempt)
    assert (await pasture.hear(Exited, attempt)).exit.signal == 15
    said = set(pasture.written(attempt).split(b"\n"))
    assert said - {b"Terminated"} == {b"x", b""}  # its own shell may say that of its sleep


@on_each_engine
async def test_a_stop_that_a_dead_daemon_had_begun_is_explained(pasture: Pasture) -> None:
    attempt = pasture.start("/bin/sh", "-c", "echo up; sleep 60")
    await pasture.until(lambda: pasture.written(attempt) == b"up\n")
    pasture.driver.kill(attempt, WALL)
    await started_and_left(pasture, attempt)
    assert pasture.connect() == {attempt}
    found = await pasture.hear(StopFound, attempt)
    assert (found.outcome, found.because) == (WALL.outcome, WALL.because)
    assert (await pasture.hear(Exited, attempt)).exit.signal == 9
    assert pasture.heard.index(found) < pasture.heard.index(pasture.of(Exited, attempt)[0])


@on_each_engine
async def test_out_of_memory_while_no_daemon_is_there_is_told_as_such(pasture: Pasture) -> None:
    words = ("sleep=1", "use=200M", "sleep=60")
    attempt = pasture.start(*agent("scripted", *words), limit_bytes=64 * MIB)
    await started_and_left(pasture, attempt)
    await pasture.until(lambda: status(pasture, attempt) == "signal 9")
    pasture.connect()
    assert (await pasture.hear(Exited, attempt)).exit.oom


@on_each_engine
async def test_a_container_killed_whole_while_no_daemon_is_there_keeps_its_output(
    pasture: Pasture,
) -> None:
    """Its shim is gone with it: the holder has what it wrote, and the engine knows the rest."""
    attempt = pasture.start("/bin/sh", "-c", "sleep 0.5; echo last words; touch said; sleep 60")
    await started_and_left(pasture, attempt)
    await pasture.until((pasture.directory / "said").exists)
    await asyncio.to_thread(pasture.room.ask, "kill", f"paddock-{pasture.instance}.a.1")
    await pasture.until(lambda: not pasture.processes())
    pasture.connect()
    assert (await pasture.hear(Exited, attempt)).exit.signal == 9
    assert pasture.written(attempt) == b"last words\n"


@on_each_engine
async def test_a_container_that_somebody_removed_is_lost_not_invented(pasture: Pasture) -> None:
    attempt = pasture.start("/bin/sh", "-c", "sleep 60")
    await started_and_left(pasture, attempt)
    await asyncio.to_thread(pasture.room.ask, "rm", "-f", f"paddock-{pasture.instance}.a.1")
    pasture.connect()
    assert "removed" in (await pasture.hear(AttemptLost, attempt)).reason
    assert not pasture.of(Exited, attempt)


@on_each_engine
async def test_a_start_that_is_broken_off_at_any_instant_happens_once(pasture: Pasture) -> None:
    command = ("/bin/sh", "-c", "echo once >>ran.$PADDOCK_RUN")
    for number, after_s in enumerate((0.0, 0.02, 0.05, 0.08, 0.11, 0.14, 0.2)):
        run = f"r{number}"
        attempt = pasture.start(*command, run=run)
        await asyncio.sleep(after_s)  # the instant itself, not a wait for something
        pasture.driver.close()
        if attempt not in pasture.connect():
            pasture.start(*command, run=run)
        await pasture.hear(Exited, attempt)
        assert (pasture.directory / f"ran.{run}").read_text(encoding="ascii") == "once\n"


@on_each_engine
async def test_containers_that_no_file_tells_of_are_swept_away(pasture: Pasture) -> None:
    attempt = pasture.start("/bin/sh", "-c", "sleep 60")
    await started_and_left(pasture, attempt)
    for box in pasture.state.glob("containers/*/a.1"):
        shutil.rmtree(box)
    assert pasture.containers() != ""
    assert pasture.connect() == frozenset()
    await pasture.driver.settled()
    assert pasture.containers() == ""


@on_each_engine
async def test_a_daemon_killed_at_any_instant_costs_no_byte_and_doubles_none(
    pasture: Pasture,
) -> None:
    pasture.driver.close()
    stand_in = [sys.executable, "-m", "tests.integration.container.stand_in_daemon"]
    words = [str(pasture.state), str(pasture.directory)]
    chatter = agent("chatter", FIVE_MEGABYTES)
    attempt = Attempt("a", 1)
    for after_s in (0.0, 0.01, 0.05):
        sign = pasture.directory / "heard-of-the-start"
        environment = os.environ | pasture.room.environment()
        command = [*stand_in, *words, *chatter]
        with subprocess.Popen(command, cwd=PROJECT, env=environment) as daemon:
            try:
                await pasture.until(sign.exists)
                await asyncio.sleep(after_s)  # the instant itself
            finally:
                daemon.send_signal(signal.SIGKILL)
        pasture.heard.clear()
        assert pasture.connect() == {attempt}
        assert (await pasture.hear(Exited, attempt)).exit.code == 0
        assert pasture.written(attempt) == lines(FIVE_MEGABYTES)
        pasture.driver.forget(attempt)
        await pasture.driver.settled()
        pasture.driver.close()
        sign.unlink()
        shutil.rmtree(pasture.state / "output/a")
    pasture.connect()


@on_each_engine
async def test_the_holder_goes_when_nobody_needs_it_and_comes_back_when_it_died(
    pasture: Pasture,
) -> None:
    attempt = pasture.start("/bin/sh", "-c", "sleep 60")
    await pasture.hear(Started, attempt)
    (holder,) = holders(pasture.state)
    os.kill(holder, signal.SIGKILL)
    await pasture.until(lambda: not holders(pasture.state))
    pasture.driver.close()
    pasture.connect()
    await pasture.until(lambda: len(holders(pasture.state)) == 1)
    pasture.driver.kill(attempt, CANCELLED)
    await pasture.hear(Exited, attempt)
    pasture.driver.forget(attempt)
    await pasture.driver.settled()
    pasture.driver.close()
    await pasture.until(lambda: not holders(pasture.state))
    pasture.connect()
