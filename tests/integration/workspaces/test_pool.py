"""Prepared slots: handed over without a look at any file."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from paddock.workspaces.records import State
from paddock.workspaces.room import Room
from tests.kit.repositories import a_repository, commit, git, tip, write


def slots(room: Room) -> list[str]:
    return [record.name for record in room.records() if record.state is State.SLOT]


def test_a_slot_becomes_the_runs_workspace(room: Room, repository: Path) -> None:
    assert room.refill(repository, want=2) == 2
    prepared = set(slots(room))
    path = room.prepare("run1", repository=repository)
    assert len(slots(room)) == 1 and set(slots(room)) < prepared
    assert git(path, "branch", "--show-current") == "paddock/run1"
    assert git(path, "status", "--porcelain") == ""
    assert str(path) in git(repository, "worktree", "list")
    assert commit(path, "works") == tip(repository, "paddock/run1")


def test_nothing_is_checked_out_again(room: Room, repository: Path) -> None:
    room.refill(repository, want=1)
    (file,) = room.records()
    before = (Path(file.git_dir) / "index").stat()
    path = room.prepare("run1", repository=repository)
    after = (Path(file.git_dir) / "index").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert (path / "readme.txt").exists()


def test_refilling_brings_old_slots_to_the_branchs_tip(room: Room, repository: Path) -> None:
    room.refill(repository, want=2)
    before = sorted(slots(room))
    commit(repository, "newer", {"readme.txt": "newer\n"})
    assert room.refill(repository, want=2) == 2
    assert sorted(slots(room)) == before
    path = room.prepare("run1", repository=repository)
    assert (path / "readme.txt").read_text() == "newer\n"
    assert tip(path) == tip(repository)
    assert git(path, "status", "--porcelain") == ""


def test_a_slot_at_another_commit_is_moved_on_the_way(room: Room, repository: Path) -> None:
    room.refill(repository, want=1)
    commit(repository, "newer", {"readme.txt": "newer\n"})
    path = room.prepare("run1", repository=repository)
    assert slots(room) == []
    assert tip(path) == tip(repository)
    assert (path / "readme.txt").read_text() == "newer\n"
    assert git(path, "status", "--porcelain") == ""


def test_no_slot_is_given_twice(top: Path, repository: Path) -> None:
    room = Room(top, most=20)
    room.refill(repository, want=5)
    with ThreadPoolExecutor(8) as pool:
        runs = [f"run{number}" for number in range(8)]
        paths = list(pool.map(lambda run: room.prepare(run, repository=repository), runs))
    assert len(set(paths)) == 8 and slots(room) == []
    for run, path in zip(runs, paths, strict=True):
        assert git(path, "branch", "--show-current") == f"paddock/{run}"
        assert git(path, "status", "--porcelain") == ""


def test_refilling_stops_where_there_is_no_room(top: Path, repository: Path) -> None:
    room = Room(top, most=3)
    room.prepare("run1", repository=repository)
    assert room.refill(repository, want=10) == 2
    assert len(room.records()) == 3


def test_a_run_of_another_repository_gets_the_room_of_a_slot(
    top: Path, repository: Path, tmp_path: Path
) -> None:
    room = Room(top, most=2)
    room.refill(repository, want=2)
    room.prepare("run1", repository=a_repository(tmp_path / "another"))
    assert len(slots(room)) == 1


def test_slots_that_nobody_took_go_after_the_idle_days(room: Room, repository: Path) -> None:
    room.refill(repository, want=2)
    assert [one.removed for one in room.gc()] == [True, True]
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_run_that_had_one_does_not_lose_it_to_a_slot(room: Room, repository: Path) -> None:
    path = room.prepare("run1", repository=repository)
    write(path, {"half.txt": "x\n"})
    room.refill(repository, want=1)
    assert room.prepare("run1", repository=repository) == path
    assert (path / "half.txt").exists() and len(slots(room)) == 1


def copied(shelf: Path, name: str, run: str) -> None:
    """The record that a hand-over writes first."""
    text = (shelf / f".slots/.{name}.json").read_text().replace('"slot"', '"making"')
    text = text.replace(f'"name": "{name}"', f'"name": "{run}"')
    (shelf / f".{run}.json").write_text(text.replace('"branch": ""', f'"branch": "paddock/{run}"'))


def test_a_hand_over_that_was_killed_before_the_rename(
    room: Room, repository: Path, top: Path
) -> None:
    room.refill(repository, want=1)
    (shelf,), (name,) = list(top.glob("repository-*")), slots(room)
    copied(shelf, name, "run1")
    path = room.prepare("run1", repository=repository)
    assert git(path, "status", "--porcelain") == ""
    assert len(git(repository, "worktree", "list").splitlines()) == 2


def test_a_hand_over_that_was_killed_after_the_rename(
    room: Room, repository: Path, top: Path
) -> None:
    room.refill(repository, want=1)
    (shelf,), (name,) = list(top.glob("repository-*")), slots(room)
    copied(shelf, name, "run1")
    (shelf / ".slots" / name).rename(shelf / "run1")
    path = room.prepare("run1", repository=repository)
    assert git(path, "status", "--porcelain") == ""
    assert [one.removed for one in room.gc()] == [False, True]
    assert len(git(repository, "worktree", "list").splitlines()) == 2
