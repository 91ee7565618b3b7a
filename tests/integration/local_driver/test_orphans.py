"""Attempts whose keeper is dead, and of which it left no word."""

from __future__ import annotations

import asyncio
import os
import subprocess
from typing import cast

from paddock.core.run import Attempt
from paddock.drivers.local.containment import Containment
from paddock.drivers.local.life import Life, Phase
from paddock.drivers.local.memory import Marks
from paddock.drivers.local.orphans import LOOK_S, Orphans
from tests.kit.descriptors import no_descriptor_left


class Walls:
    """A cgroup with these in it; notes who is killed."""

    def __init__(self, *processes: subprocess.Popen[bytes]) -> None:
        self.processes = processes
        self.killed: list[Attempt] = []

    def pids(self, _: Attempt) -> frozenset[int]:
        return frozenset(one.pid for one in self.processes if one.poll() is None)

    def kill(self, attempt: Attempt) -> bool:
        self.killed.append(attempt)
        return True


def test_one_whose_main_process_wears_no_mark_any_more_goes_on_when_a_command_of_it_ends() -> None:
    """As a program does that puts a title of its own where its environment was."""
    mark = f"test.{os.getpid()}.1"
    marked = {**os.environ, "PADDOCK_ATTEMPT": mark}
    main = subprocess.Popen(["sleep", "60"])
    commands = [subprocess.Popen(["sleep", text], env=marked) for text in ("0.6", "60")]
    walls = Walls(main, *commands)
    gone: list[Life] = []

    async def scenario() -> None:
        orphans = Orphans(Marks(), cast(Containment, walls), gone=gone.append)
        orphans.take(Life(Attempt("run", 1), mark, lambda _: None, phase=Phase.ORPHANED))
        await asyncio.sleep(0.6 + 4 * LOOK_S)
        assert commands[0].poll() == 0
        assert walls.killed == [] and gone == []
        main.kill()
        main.wait()
        await asyncio.sleep(4 * LOOK_S)
        assert walls.killed, "what it left does not outlive it"
        orphans.close()

    try:
        asyncio.run(scenario())
    finally:
        for one in (main, *commands):
            one.kill()
            one.wait()


def test_a_look_that_fails_is_not_the_last_one() -> None:
    mark = f"test.{os.getpid()}.2"
    main = subprocess.Popen(["sleep", "60"], env={**os.environ, "PADDOCK_ATTEMPT": mark})
    walls = Walls(main)
    gone: list[Life] = []

    async def scenario() -> None:
        orphans = Orphans(Marks(), cast(Containment, walls), gone=gone.append)
        orphans.take(Life(Attempt("run", 1), mark, lambda _: None, phase=Phase.ORPHANED))
        await asyncio.sleep(2 * LOOK_S)
        with no_descriptor_left():
            await asyncio.sleep(4 * LOOK_S)
        assert gone == [], "nobody could look, and it lives"
        main.kill()
        main.wait()
        async with asyncio.timeout(10):
            while not gone:
                await asyncio.sleep(LOOK_S)
        orphans.close()

    try:
        asyncio.run(scenario())
    finally:
        main.kill()
        main.wait()
