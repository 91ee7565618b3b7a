"""Every death leaves a black box: what was known when it happened, for `paddock why`."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from pathlib import Path

from paddock.core.events import Submitted
from paddock.core.run import Attempt
from paddock.supervisor.black_boxes import BlackBoxes
from paddock.workspaces.records import Record
from paddock.workspaces.room import Room
from tests.kit.factories import a_spec
from tests.kit.repositories import a_repository
from tests.kit.supervising import Supervised, a_recipe, in_a_loop, supervised, until

MIB = 1 << 20


async def box_of(one: Supervised, boxes: BlackBoxes, run: str) -> dict[str, str]:
    await one.ended(run)
    await boxes.finish()
    found = boxes.read(run)
    assert found is not None
    return found


def test_a_failure_is_explained(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervised() as one:
            boxes = BlackBoxes(one.supervisor, tmp_path / "boxes")
            await one.submit(a_spec("a", memory="1G"), "sleep=0.2", "exit=3")
            for used in (100, 400, 200):
                boxes.seen({Attempt("a", 1): used * MIB})
            recent = boxes.recent_bytes(Attempt("a", 1))
            assert max(recent) == 400 * MIB and len(recent) <= 3, "the most of each second"
            box = await box_of(one, boxes, "a")
            assert boxes.recent_bytes(Attempt("a", 1)) == ()
            assert box["why"] == "ended with exit code 3"
            assert box["limit"] == "1 GiB"
            assert box["memory"].endswith(
                "100 MiB to 200 MiB in 0 s, 400 MiB at most when looked at"
            )
            assert box["next"].startswith("nothing: it is over")
            boxes.remove("a")
            assert boxes.read("a") is None

    in_a_loop(scenario)


def test_one_that_will_be_tried_again_says_when(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervised() as one:
            boxes = BlackBoxes(one.supervisor, tmp_path / "boxes")
            await one.submit(a_spec("a", retries=1), "exit=3")
            await until((tmp_path / "boxes/a.json").exists)
            box = boxes.read("a")
            assert box is not None and box["next"].startswith("tried again in ")

    in_a_loop(scenario)


def test_a_success_leaves_none(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervised() as one:
            boxes = BlackBoxes(one.supervisor, tmp_path / "boxes")
            await one.submit(a_spec("a"), "exit=0")
            await one.ended("a")
            await boxes.finish()
            assert boxes.read("a") is None and boxes.read("../a") is None

    in_a_loop(scenario)


class HungRoom(Room):
    """Whose repositories are on a disk that does not answer, of some."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, idle_days=0)
        self.may_answer = threading.Event()

    def record(self, run: str) -> Record | None:
        if run.startswith("hung"):
            self.may_answer.wait(60)
        return super().record(run)


def test_a_workspace_that_does_not_answer_keeps_nobody_elses_box(tmp_path: Path) -> None:
    async def scenario() -> None:
        room = HungRoom(tmp_path / "workspaces")
        async with supervised() as one:
            boxes = BlackBoxes(one.supervisor, tmp_path / "boxes", room=room)
            boxes.looks.slow_s = 0.02
            try:
                for name in (*(f"hung-{n}" for n in range(8)), "fine"):
                    await one.submit(a_spec(name, memory="64M", group=name), "exit=3")
                    await one.ended(name)
                await until(lambda: boxes.read("fine") is not None)
                assert boxes.read("hung-0") is None
            finally:
                room.may_answer.set()
            await until(lambda: boxes.read("hung-7") is not None)
            await boxes.finish()

    in_a_loop(scenario)


def test_a_box_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    async def scenario() -> None:
        (tmp_path / "boxes").write_text("a file in its place", encoding="ascii")
        async with supervised() as one:
            boxes = BlackBoxes(one.supervisor, tmp_path / "boxes")
            await one.submit(a_spec("a"), "exit=3")
            await one.ended("a")
            await boxes.finish()
            assert boxes.read("a") is None

    in_a_loop(scenario)


async def submit_in(one: Supervised, name: str, directory: Path) -> None:
    recipe = replace(a_recipe("exit=3"), directory=directory)
    await one.supervisor.ask(lambda now: Submitted(now, (a_spec(name),)), recipes={name: recipe})


def test_a_commit_where_it_had_no_workspace_is_not_told_as_its_own(
    tmp_path: Path,
) -> None:
    async def scenario() -> None:
        async with supervised() as one:
            boxes = BlackBoxes(one.supervisor, tmp_path / "boxes")
            await submit_in(one, "a", a_repository(tmp_path / "repository") / "src")
            assert "last commit" not in await box_of(one, boxes, "a")

    in_a_loop(scenario)


def test_how_long_it_ran_is_told(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervised() as one:
            boxes = BlackBoxes(one.supervisor, tmp_path / "boxes")
            await one.submit(a_spec("a"), "sleep=0.05", "exit=3")
            box = await box_of(one, boxes, "a")
            assert re.fullmatch(r"1, ran for [0-9.]+ m?s", box["attempt"])

    in_a_loop(scenario)
