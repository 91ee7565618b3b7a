"""The way for engines with a virtual machine (Apple's), tried on podman made to look like one: no
FIFO, no cgroup file, no pidfd; only mounted files and what the engine answers."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

from paddock.core.events import CheckpointWritten, Exited, SpawnFailed, Started
from paddock.core.units import MIB
from paddock.drivers.container.podman import PodmanEngine
from tests.integration.container import engine_room
from tests.integration.container.pasture import CANCELLED, PODMAN, Pasture
from tests.kit.grounds import scenarios_on
from tests.kit.keeping import agent


class FarAway(PodmanEngine):
    shares_kernel = False


def far_away(directory: Path) -> PodmanEngine:
    return FarAway(
        directory,
        command=engine_room.command(),
        environment=engine_room.environment(),
        idle_s=1,
    )


in_a_far_pasture = scenarios_on(
    functools.partial(Pasture, room=replace(PODMAN, engine=far_away)), lacking=PODMAN.lacking
)


@in_a_far_pasture
async def test_codes_output_and_missing_programs_are_told(pasture: Pasture) -> None:
    code = pasture.start("/bin/sh", "-c", "echo one; echo two >&2; exit 7", run="code")
    missing = pasture.start("no-such-command", run="missing")
    ended = await pasture.hear(Exited, code)
    assert (ended.exit.code, ended.exit.signal, ended.empty) == (7, None, True)
    assert pasture.written(code) == b"one\ntwo\n"
    assert (await pasture.hear(SpawnFailed, missing)).permanent
    assert not pasture.driver.guarantees.can_freeze


@in_a_far_pasture
async def test_it_is_told_to_end_and_killed_by_the_engine(pasture: Pasture) -> None:
    polite = pasture.start(*agent("scripted", "sleep=60"), run="polite")
    deaf = pasture.start(*agent("scripted", "deaf", "sleep=60"), run="deaf")
    for attempt in (polite, deaf):
        await pasture.hear(Started, attempt)
        await pasture.until((pasture.directory / f"awake.{attempt.run}.1").exists)
    pasture.driver.terminate(polite)
    assert (await pasture.hear(Exited, polite)).exit.signal == 15
    pasture.driver.kill(deaf, CANCELLED)
    assert (await pasture.hear(Exited, deaf)).exit.signal == 9


@in_a_far_pasture
async def test_its_use_is_asked_for_and_its_checkpoint_heard_of(pasture: Pasture) -> None:
    script = 'until [ -e "$PADDOCK_CHECKPOINT_REQUEST" ]; do sleep 0.05; done;'
    script += ' touch "$PADDOCK_CHECKPOINT_WRITTEN"; sleep 60'
    hog = pasture.start(*agent("scripted", "use=64M", "sleep=60"), run="hog")
    await pasture.until(lambda: pasture.driver.used_bytes().get(hog, 0) > 60 * MIB)
    able = pasture.start("/bin/sh", "-c", script, run="able")
    await pasture.hear(Started, able)
    pasture.driver.ask_checkpoint(able)
    await pasture.hear(CheckpointWritten, able)


@in_a_far_pasture
async def test_the_next_daemon_finds_it_and_how_it_ended(pasture: Pasture) -> None:
    attempt = pasture.start("/bin/sh", "-c", "echo up; sleep 1; echo down; exit 5")
    await pasture.until(lambda: pasture.written(attempt) == b"up\n")
    pasture.driver.close()
    pasture.heard.clear()
    assert pasture.connect() == {attempt}
    assert (await pasture.hear(Exited, attempt)).exit.code == 5
    assert pasture.written(attempt) == b"up\ndown\n"
