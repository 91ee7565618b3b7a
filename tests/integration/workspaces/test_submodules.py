"""Submodules are filled when a run asks for it, as the repository wants, without its settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.workspaces.room import Room
from paddock.workspaces.sources import Manner
from tests.kit.repositories import a_repository, commit, git

WITH = Manner(submodules=True)


@pytest.fixture
def with_library(repository: Path, tmp_path: Path) -> Path:
    """Submodules by a path are refused by git unless the user says otherwise."""
    (Path(os.environ["HOME"]) / ".gitconfig").write_text('[protocol "file"]\n\tallow = always\n')
    library = a_repository(tmp_path / "library", {"library.txt": "lib\n"})
    for name in ("lib", "big"):
        git(repository, "submodule", "--quiet", "add", str(library), name)
    git(repository, "config", "--file", ".gitmodules", "submodule.big.update", "none")
    commit(repository, "libraries")
    return repository


def test_they_are_left_empty_unless_asked_for(room: Room, with_library: Path) -> None:
    path = room.prepare("run1", repository=with_library)
    assert list((path / "lib").iterdir()) == []


def test_they_are_filled_but_those_that_want_none(room: Room, with_library: Path) -> None:
    before = (with_library / ".git/config").read_bytes()
    path = room.prepare("run1", repository=with_library, manner=WITH)
    assert (path / "lib/library.txt").read_text() == "lib\n"
    assert list((path / "big").iterdir()) == []
    assert (with_library / ".git/config").read_bytes() == before
    room.release("run1")
    (judged,) = room.gc()
    assert judged.removed, judged.because


def test_where_one_stands_is_saved(room: Room, with_library: Path) -> None:
    path = room.prepare("run1", repository=with_library, manner=WITH)
    here = commit(path / "lib", "only here")
    saved = room.save("run1", because="a timeout")
    assert saved is not None and saved.files == ("lib",)
    assert git(path, "rev-parse", f"{saved.commit}:lib") == here


def test_a_command_in_the_settings_is_not_run(
    room: Room, with_library: Path, tmp_path: Path
) -> None:
    git(with_library, "config", "submodule.lib.update", f"!touch '{tmp_path}/ran'")
    room.prepare("run1", repository=with_library, manner=WITH)
    assert not (tmp_path / "ran").exists()


def test_a_repository_without_any_is_no_trouble(room: Room, repository: Path) -> None:
    assert room.prepare("run1", repository=repository, manner=WITH).is_dir()


def test_a_failure_leaves_nothing_behind(room: Room, with_library: Path, tmp_path: Path) -> None:
    (tmp_path / "library").rename(tmp_path / "moved")
    with pytest.raises(Exception, match="git submodule"):
        room.prepare("run1", repository=with_library, manner=WITH)
    (tmp_path / "moved").rename(tmp_path / "library")
    path = room.prepare("run1", repository=with_library, manner=WITH)
    assert (path / "lib/library.txt").exists()
