"""At most so many workspaces: the oldest clean idle one makes room, or it is said why none does."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from paddock.core.units import DAY_S
from paddock.workspaces import crowding
from paddock.workspaces.clearing import Spot
from paddock.workspaces.errors import NoRoom
from paddock.workspaces.keeping import Keep
from paddock.workspaces.room import Room
from tests.kit.repositories import a_repository, commit, tip, write


class Time:
    def __init__(self) -> None:
        self.at = time.time()

    def __call__(self) -> float:
        self.at += 1
        return self.at


def test_the_oldest_clean_idle_one_makes_room(top: Path, repository: Path) -> None:
    room = Room(top, most=3, now=Time())
    paths = {run: room.prepare(run, repository=repository) for run in ("a", "b", "c")}
    write(paths["a"], {"new.txt": "not committed\n"})
    done = commit(paths["c"], "done")
    for run in ("a", "c", "b"):
        room.release(run)
    room.prepare("d", repository=repository)
    assert {run: path.exists() for run, path in paths.items()} == {"a": True, "b": True, "c": False}
    assert tip(repository, "paddock/c") == done


def test_also_for_a_run_of_another_repository(top: Path, repository: Path, tmp_path: Path) -> None:
    room = Room(top, most=1)
    room.prepare("a", repository=repository)
    room.release("a")
    room.prepare("b", repository=a_repository(tmp_path / "another"))
    assert [record.name for record in room.records()] == ["b"]


def test_what_stands_in_the_way_is_said(top: Path, repository: Path) -> None:
    room = Room(top, most=2)
    room.prepare("a", repository=repository)
    write(room.prepare("b", repository=repository), {"new.txt": "x\n"})
    room.release("b")
    with pytest.raises(NoRoom) as caught:
        room.prepare("c", repository=repository)
    said = str(caught.value)
    assert "all 2 workspaces are in use; 1 by runs (a); 1 idle but kept" in said
    assert "b: not known to git: new.txt" in said
    assert "performance.max_worktrees" in said
    assert room.record("c") is None


def test_its_numbers_add_up_and_nobody_is_named_twice(
    top: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is taken again during the look is counted where it is at the end of it."""
    room = Room(top, most=3)
    for run in ("a", "b"):
        write(room.prepare(run, repository=repository), {"new.txt": "x\n"})
        room.release(run)
    (room.prepare("c", repository=repository).parent / "stranger").mkdir()

    def judged(spot: Spot) -> Keep:
        if spot.record.name == "a":
            room.prepare("a", repository=repository)
        return Keep("not known to git: new.txt")

    monkeypatch.setattr(crowding, "clear", judged)
    with pytest.raises(NoRoom) as caught:
        room.prepare("d", repository=repository)
    said = str(caught.value).partition(". Wait")[0]
    assert said == (
        "all 3 workspaces are in use; 2 by runs (a, c); "
        "1 idle but kept (b: not known to git: new.txt)"
    )


def test_when_one_is_given_back_there_is_room(top: Path, repository: Path) -> None:
    room = Room(top, most=1)
    room.prepare("a", repository=repository)
    with pytest.raises(NoRoom):
        room.prepare("b", repository=repository)
    room.release("a")
    room.prepare("b", repository=repository)


def test_a_new_number_counts_at_once_and_takes_nothing_away(top: Path, repository: Path) -> None:
    freed: list[bool] = []
    room = Room(top, most=1)
    room.freed = lambda: freed.append(True)
    paths = [room.prepare("a", repository=repository)]
    room.resize(most=2, idle_days=7)
    assert freed == [True]
    paths.append(room.prepare("b", repository=repository))
    room.resize(most=1, idle_days=7)
    with pytest.raises(NoRoom, match=r"^2 workspaces are in use, and 1 may be; 2 by runs"):
        room.prepare("c", repository=repository)
    assert all(path.is_dir() for path in paths)


def test_a_run_that_has_one_needs_no_room(top: Path, repository: Path) -> None:
    room = Room(top, most=1)
    room.prepare("a", repository=repository)
    room.release("a")
    assert room.prepare("a", repository=repository).is_dir()


def test_only_after_the_idle_days_one_goes_by_itself(top: Path, repository: Path) -> None:
    now = Time()
    room = Room(top, idle_days=7, now=now)
    room.prepare("a", repository=repository)
    room.release("a")
    (kept,) = room.gc()
    assert not kept.removed and "7 d are wanted" in kept.because
    now.at += 7 * DAY_S
    assert [one.removed for one in room.gc()] == [True]
