"""What a step left is seen before its end is told, and what follows that end waits its turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from msgspec import structs

from paddock.core.events import Emptied, Event, Exited, Noticed
from paddock.core.run import Attempt, Exit
from paddock.supervisor.later import Stated
from paddock.supervisor.witness import Witness
from paddock.workspaces.room import Room
from tests.kit.factories import a_spec
from tests.kit.yard import Yard

A = Attempt("a", 1)
GOOD = Exited(1.0, A, Exit(0), empty=False)
NOW = 5.0


def heard(ended: Exit) -> Exit:
    return structs.replace(ended, heard_at=NOW)


HEARD = structs.replace(GOOD, exit=heard(Exit(0)))


class Scene:
    """A step whose output takes as long to read as the test likes."""

    def __init__(self, top: Path, *, steps: tuple[str, ...] = ("one", "two")) -> None:
        yard = Yard()
        yard.run(structs.replace(a_spec("a"), steps=steps))
        yard.fleet.now = NOW
        self.told: list[Event] = []
        self.may_read = threading.Event()
        self.spent: list[tuple[str, int]] = []
        self.said = Stated()
        self.problem: Exception | None = None
        self.witness = Witness(
            yard.fleet,
            self.told.append,
            digest=self._digest,
            room=Room(top),
            kept=self,
        )

    def drop_stream(self, run: str, step: int) -> None:
        self.spent.append((run, step))

    def stated(self, attempt: Attempt) -> Stated:
        assert attempt == A
        return self.said

    def _digest(self, attempt: Attempt) -> str:
        assert self.may_read.wait(10)
        if self.problem is not None:
            raise self.problem
        return f"sha256:{attempt.run}"

    async def let_read(self, many: int) -> None:
        self.may_read.set()
        async with asyncio.timeout(10):
            while len(self.told) < many:
                await asyncio.sleep(0.001)


def in_a_loop(test: Callable[[Path], Coroutine[Any, Any, None]]) -> Callable[[Path], None]:
    def run(tmp_path: Path) -> None:
        asyncio.run(test(tmp_path))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@asynccontextmanager
async def a_scene(top: Path, *, steps: tuple[str, ...] = ("one", "two")) -> AsyncIterator[Scene]:
    scene = Scene(top, steps=steps)
    try:
        yield scene
    finally:
        scene.may_read.set()
        scene.witness.close()


@in_a_loop
async def test_the_end_of_a_step_is_told_with_what_it_left(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        assert scene.witness.takes(GOOD) and scene.told == []
        await scene.let_read(1)
        assert scene.told == [structs.replace(GOOD, exit=heard(Exit(0, output_digest="sha256:a")))]
        assert scene.spent == [("a", 0)]


@in_a_loop
async def test_news_of_its_strays_waits_for_the_end_that_it_is_about(tmp_path: Path) -> None:
    """Told first, it would be an end that nobody knows: a step that is done, done again."""
    later = Exited(2.0, A, Exit(0), empty=True)
    async with a_scene(tmp_path) as scene:
        for event in (GOOD, later, Emptied(3.0, A)):
            assert scene.witness.takes(event)
        await scene.let_read(3)
        assert [type(event) for event in scene.told] == [Exited, Exited, Emptied]
        assert isinstance(scene.told[0], Exited) and scene.told[0].exit.output_digest


@in_a_loop
async def test_others_are_told_as_they_come(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.witness.takes(GOOD)
        for event in (Noticed(1.0, A, "a note"), Emptied(1.0, Attempt("b", 1))):
            assert not scene.witness.takes(event)


@in_a_loop
async def test_of_a_plain_run_or_a_bad_end_nothing_is_looked_at(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        assert not scene.witness.takes(Exited(1.0, A, Exit(3)))
    async with a_scene(tmp_path, steps=()) as scene:
        assert not scene.witness.takes(GOOD)


@in_a_loop
async def test_one_that_asks_to_be_tried_later_is_told_with_the_time_it_stated(
    tmp_path: Path,
) -> None:
    asked = Exited(1.0, A, Exit(75))
    async with a_scene(tmp_path, steps=()) as scene:
        scene.said = Stated(after_s=90.0)
        assert scene.witness.takes(asked)
        await scene.let_read(1)
        assert scene.told == [structs.replace(asked, exit=heard(Exit(75, retry_after_s=90.0)))]


@in_a_loop
async def test_what_is_wrong_with_a_stated_time_is_in_the_story_before_the_end(
    tmp_path: Path,
) -> None:
    asked = Exited(1.0, A, Exit(75))
    async with a_scene(tmp_path) as scene:
        scene.said = Stated(problem="no time")
        assert scene.witness.takes(asked)
        await scene.let_read(2)
        told = structs.replace(asked, exit=heard(Exit(75)))
        assert scene.told == [Noticed(1.0, A, "no time"), told]
        assert not scene.witness.takes(Exited(1.0, A, Exit(75, retry_after_s=5.0))), "known already"


@in_a_loop
async def test_a_disk_that_hangs_keeps_no_end_from_being_told_for_ever(tmp_path: Path) -> None:
    async with a_scene(tmp_path) as scene:
        scene.witness.patience_s = 0.05
        assert scene.witness.takes(GOOD) and scene.witness.takes(Emptied(2.0, A))
        async with asyncio.timeout(10):
            while len(scene.told) < 3:
                await asyncio.sleep(0.001)
        note = "what it left could not be seen in 0.05 s"
        assert scene.told == [Noticed(1.0, A, note), HEARD, Emptied(2.0, A)]


@in_a_loop
async def test_a_bug_in_the_look_keeps_no_end_from_being_told(tmp_path: Path) -> None:
    """One that is never told is a run that holds its memory for ever, and that no kill ends."""
    async with a_scene(tmp_path) as scene:
        scene.problem = ValueError("what an agent left is stranger than was thought")
        assert scene.witness.takes(GOOD) and scene.witness.takes(Emptied(2.0, A))
        await scene.let_read(2)
        assert scene.told == [HEARD, Emptied(2.0, A)]
