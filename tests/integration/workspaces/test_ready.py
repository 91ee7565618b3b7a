"""A ready marker is found within two seconds, in a commit or as a file."""

from __future__ import annotations

import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.workspaces.inotify import Ears
from paddock.workspaces.ready import Marker, Sighting
from paddock.workspaces.room import Room
from tests.kit.repositories import commit, git, write

TEXT = "tests green"


@pytest.fixture
def path(room: Room, repository: Path) -> Path:
    return room.prepare("run1", repository=repository)


@pytest.fixture
def ears() -> Iterator[Ears]:
    ears = Ears()
    yield ears
    ears.close()


def a_marker(room: Room, text: str = TEXT) -> Marker:
    record, path = room.record("run1"), room.path("run1")
    assert record is not None and path is not None
    return Marker(record, path, text)


def wait_for(ears: Ears, marker: Marker, within_s: float = 2.0) -> Sighting | None:
    """As the daemon does it: no look before the kernel says so."""
    deadline = time.monotonic() + within_s
    while (left := deadline - time.monotonic()) > 0:
        if select.select([ears], [], [], left)[0] and "run1" in ears.hear():
            found = marker.look()
            if found:
                return found
    return None


def test_a_commit_that_carries_it_is_found_at_once(room: Room, path: Path, ears: Ears) -> None:
    marker = a_marker(room)
    assert marker.listen(ears, "run1")
    commit(path, "something else")
    ready = commit(path, f"fix: all done, {TEXT}!")
    assert wait_for(ears, marker) == Sighting(commit=ready)


def test_in_the_body_of_a_message_and_below_later_commits(room: Room, path: Path) -> None:
    write(path, {"a.txt": "a\n"})
    git(path, "add", "--all")
    git(path, "commit", "--quiet", "--message=done", f"--message=and the {TEXT}")
    ready = git(path, "rev-parse", "HEAD")
    commit(path, "later")
    assert a_marker(room).look() == Sighting(commit=ready)


def test_a_marker_is_text_and_no_pattern(room: Room, path: Path) -> None:
    commit(path, "abc")
    assert a_marker(room, "a.c").look() is None
    assert a_marker(room, "[ab]*").look() is None
    assert a_marker(room, "--all").look() is None
    commit(path, "now a.c it is")
    assert a_marker(room, "a.c").look() is not None


def test_references_that_were_packed(room: Room, path: Path, repository: Path, ears: Ears) -> None:
    git(repository, "pack-refs", "--all", "--prune")
    marker = a_marker(room)
    marker.listen(ears, "run1")
    ready = commit(path, TEXT)
    assert wait_for(ears, marker) == Sighting(commit=ready)
    git(repository, "pack-refs", "--all", "--prune")
    assert marker.look() == Sighting(commit=ready)


def test_a_commit_without_a_log_of_head(
    room: Room, path: Path, repository: Path, ears: Ears
) -> None:
    git(repository, "config", "core.logAllRefUpdates", "false")
    (repository / ".git/worktrees/run1/logs/HEAD").unlink()
    marker = a_marker(room)
    marker.listen(ears, "run1")
    ready = commit(path, TEXT)
    assert wait_for(ears, marker) == Sighting(commit=ready)


def test_a_commit_on_another_branch_of_the_worktree(room: Room, path: Path, ears: Ears) -> None:
    marker = a_marker(room)
    marker.listen(ears, "run1")
    git(path, "checkout", "--quiet", "-b", "aside")
    ready = commit(path, TEXT)
    assert wait_for(ears, marker) == Sighting(commit=ready)


def test_what_was_there_before_the_run_says_nothing(room: Room, repository: Path) -> None:
    commit(repository, TEXT, {TEXT: "a file of that name\n"})
    path = room.prepare("run1", repository=repository)
    assert (path / TEXT).exists()
    assert a_marker(room).look() is None


def test_nor_does_what_an_earlier_attempt_said(room: Room, path: Path) -> None:
    before = commit(path, TEXT)
    assert a_marker(room).look(since=before) is None


def test_a_file_of_that_name(room: Room, path: Path, ears: Ears) -> None:
    marker = a_marker(room, "READY")
    marker.listen(ears, "run1")
    with subprocess.Popen(["touch", str(path / "READY")]):
        assert wait_for(ears, marker) == Sighting(file="READY")


def test_a_file_further_down_is_found_by_looking(room: Room, path: Path, ears: Ears) -> None:
    marker = a_marker(room, "out/ready.txt")
    assert marker.listen(ears, "run1") is False
    write(path, {"out/ready.txt": ""})
    assert marker.look() == Sighting(file="out/ready.txt")


def test_a_file_elsewhere_is_none(room: Room, path: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").touch()
    for text in (str(tmp_path / "outside"), "../" * 3 + "outside", ".git", ".", "..", "/"):
        assert a_marker(room, text).look() is None
    assert path.is_dir()


def test_one_descriptor_serves_many_and_each_hears_only_its_own(
    room: Room, repository: Path, ears: Ears
) -> None:
    for run in ("run1", "run2", "run3"):
        path = room.prepare(run, repository=repository)
        record = room.record(run)
        assert record is not None
        Marker(record, path, TEXT).listen(ears, run)
    ears.hear()
    commit(room.prepare("run2", repository=repository), TEXT)
    assert ears.hear() == {"run2"}
    ears.forget("run2")
    commit(room.prepare("run2", repository=repository), "more")
    assert ears.hear() == set()


def test_a_directory_that_is_not_there_cannot_be_heard(ears: Ears, tmp_path: Path) -> None:
    assert ears.watch("x", tmp_path / "nothing") is False
    assert ears.hear() == set()
