"""A copy of an index is known to be in use by its lock, whatever the clock says of its age."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paddock.core.units import DAY_S
from paddock.workspaces import beside, saving
from paddock.workspaces.git import Git
from paddock.workspaces.room import Room
from tests.kit.repositories import git, write

LOOKS_FOR_EVER = """
import sys, time
from pathlib import Path
from paddock.workspaces.beside import beside_index
from paddock.workspaces.git import Git

path, git_dir = map(Path, sys.argv[1:])
with beside_index(Git(directory=path, git_dir=git_dir, work_tree=path)):
    print("looking", flush=True)
    time.sleep(600)
"""


def a_month_later(room: Room) -> Room:
    """The same one, its clock set while somebody works there."""
    return Room(room.top, idle_days=0, now=lambda: time.time() + 31 * DAY_S)


def looks_at(path: Path) -> list[str]:
    return sorted(found.name for found in path.parent.glob(f"{beside.PREFIX}*"))


def git_in(room: Room, path: Path) -> Git:
    record = room.record("run1")
    assert record is not None
    return Git(directory=path, git_dir=Path(record.git_dir), work_tree=path)


@contextmanager
def somebody_looks(room: Room, path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process, killed at the end."""
    git_dir = git_in(room, path).git_dir
    words = [sys.executable, "-c", LOOKS_FOR_EVER, str(path), str(git_dir)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "looking\n"
            yield other
        finally:
            other.kill()


def test_one_in_use_outlives_a_clock_that_is_set_a_month_ahead(room: Room, path: Path) -> None:
    write(path, {"new.txt": "new\n"})
    with beside.beside_index(git_in(room, path)) as aside:
        a_month_later(room).gc()
        a_month_later(room).finish()
        assert beside.take_all(aside) == ()
        assert "new.txt" in git(path, "ls-tree", "--name-only", aside.line("write-tree"))
    assert looks_at(path) == []


def test_work_is_saved_though_gc_runs_with_a_clock_a_month_ahead(
    room: Room, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(path, {"new.txt": "new\n"})

    def take_all(aside: Git) -> tuple[str, ...]:
        a_month_later(room).gc()
        return beside.take_all(aside)

    monkeypatch.setattr(saving, "take_all", take_all)
    saved = room.save("run1", because="a timeout")
    assert saved is not None and saved.files == ("new.txt",)


def test_one_of_a_process_that_lives_stays_and_of_a_killed_one_goes(room: Room, path: Path) -> None:
    with somebody_looks(room, path) as other:
        found = looks_at(path)
        assert len(found) == 2
        a_month_later(room).gc()
        assert looks_at(path) == found
        other.kill()
        other.wait()
        assert looks_at(path) == found
        room.gc()  # at once: that it is young says nothing either
    assert looks_at(path) == []


def test_those_in_the_slots_directory_go_as_well(room: Room, path: Path) -> None:
    left = path.parent / ".slots" / f"{beside.PREFIX}1"
    left.mkdir()
    (left / "index.lock").touch()
    room.gc()
    assert list(left.parent.glob(f"{beside.PREFIX}*")) == []


def test_what_is_no_directory_stands_in_nobodys_way(room: Room, path: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    write(precious, {"file": "x"})
    (path.parent / f"{beside.PREFIX}link").symlink_to(precious)
    (path.parent / f"{beside.PREFIX}file").touch()
    (path.parent / f"{beside.PREFIX}odd.lock").mkdir()
    (judged,) = room.gc()
    assert judged.removed
    assert (precious / "file").read_text(encoding="utf-8") == "x"
