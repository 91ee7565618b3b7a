"""The chores go on, whatever one of their turns meets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from paddock.ports import Keep, Tidied
from paddock.storage.memory import MemoryStore
from paddock.supervisor.chores import NOT_MENDED, NOT_TIDIED, Chores
from paddock.supervisor.keepsakes import Keepsakes
from tests.kit.supervising import supervised, until


class Faulty(MemoryStore):
    """Meets bugs of its own: whenever it is tidied, and when somebody looks for its files."""

    def __init__(self) -> None:
        super().__init__()
        self.tidied = self.looked_for = 0

    def tidy(self, *, now_at: float, keep: Keep = Keep()) -> Tidied:  # noqa: ARG002, B008
        self.tidied += 1
        raise ZeroDivisionError

    def missing(self) -> bool:
        self.looked_for += 1
        if self.looked_for == 1:
            raise KeyError("a bug")
        return False


def test_a_bug_in_one_turn_is_told_once_and_the_next_turn_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Faulty()

    async def play() -> None:
        async with supervised(store) as one:
            chores = Chores(one.supervisor, (), tmp_path, every_s=0.0)
            doing = asyncio.ensure_future(chores.do())
            await until(lambda: store.tidied >= 2 and store.looked_for >= 2)
            assert not doing.done()
            doing.cancel()

    asyncio.run(play())
    told = [one.getMessage() for one in caplog.records]
    assert told == [f"{NOT_MENDED}: 'a bug'", f"{NOT_TIDIED}: ZeroDivisionError"]


def test_what_one_chore_meets_does_not_keep_the_others_from_their_turn(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[str] = []

    async def play() -> None:
        async with supervised(Faulty()) as one:
            chores = Chores(one.supervisor, (), tmp_path, also=lambda: done.append("also"))
            await chores.once()

    asyncio.run(play())
    assert done == ["also"]
    assert NOT_TIDIED in caplog.text


class Forgetful(MemoryStore):
    """Forgets two runs, once."""

    forgotten: tuple[str, ...] = ("first", "second")

    def tidy(self, *, now_at: float, keep: Keep = Keep()) -> Tidied:  # noqa: ARG002, B008
        gone, self.forgotten = self.forgotten, ()
        return Tidied(runs=gone)


def test_what_cannot_be_removed_of_one_run_does_not_keep_that_of_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An agent has put a file in the place of its checkpoints."""
    (tmp_path / "first").write_text("a file")
    (tmp_path / "second").mkdir()
    (tmp_path / "second/checkpoint.json").write_text("{}")

    async def play() -> None:
        async with supervised(Forgetful()) as one:
            await Chores(one.supervisor, (Keepsakes(tmp_path),), tmp_path / "stdin").once()

    asyncio.run(play())
    assert [path.name for path in tmp_path.iterdir()] == ["first"]
    assert "of first, which is forgotten, something is left" in caplog.text


class Broken:
    """Keeps something of every run, and meets a bug with the first."""

    def __init__(self) -> None:
        self.removed: list[str] = []

    def remove(self, run: str) -> None:
        if run == "first":
            raise ZeroDivisionError
        self.removed.append(run)


def test_a_bug_with_what_is_kept_of_one_run_does_not_keep_that_of_another(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The store has forgotten both for good: nobody would come back for the second."""
    kept = Broken()

    async def play() -> None:
        async with supervised(Forgetful()) as one:
            await Chores(one.supervisor, (kept,), tmp_path / "stdin").once()

    asyncio.run(play())
    assert kept.removed == ["second"]
    assert "of first, which is forgotten, something is left" in caplog.text
