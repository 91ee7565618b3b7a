"""Pipes and devices where git reads, beside a workspace and above it: nobody waits in one."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from paddock.workspaces.changes import last_commit
from paddock.workspaces.errors import GitFailed, UnsafePlace, WorkspaceError
from paddock.workspaces.git import Git
from paddock.workspaces.ready import Marker
from paddock.workspaces.room import Room
from paddock.workspaces.sizes import measure
from paddock.workspaces.worktrees import find_source
from tests.integration.workspaces.strange import LONG_S, admin, record_of, stays
from tests.kit.repositories import a_repository, git, write


@pytest.fixture
def path(path: Path) -> Path:
    """With work in it."""
    write(path, {"work.txt": "work\n"})
    return path


def a_pipe(place: Path) -> None:
    """In place of whatever was there."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place)


@pytest.mark.parametrize(
    "name", ["HEAD", "index", "config.worktree", "logs/HEAD", "commondir", "gitdir"]
)
def test_a_pipe_in_what_git_keeps_for_the_worktree(room: Room, path: Path, name: str) -> None:
    a_pipe(admin(room) / name)
    stays(room, path, "")


@pytest.mark.parametrize(
    "name",
    [
        "config",
        "packed-refs",
        "refs/heads/x",
        "info/attributes",
        "info/exclude",
        "objects/pack/x.idx",
    ],
)
def test_a_pipe_in_the_repository(room: Room, path: Path, repository: Path, name: str) -> None:
    a_pipe(repository / ".git" / name)
    stays(room, path, "is a pipe")
    if name != "objects/pack/x.idx":
        with pytest.raises(WorkspaceError, match="pipe"):
            room.prepare("run2", repository=repository)


def test_a_pipe_in_what_git_keeps_for_another_worktree(
    room: Room, path: Path, repository: Path
) -> None:
    """git reads that of all of them when it makes or removes one."""
    a_pipe(repository / ".git/worktrees/run21/gitdir")
    stays(room, path, "")
    with pytest.raises(WorkspaceError, match="pipe"):
        room.prepare("run2", repository=repository)


def test_a_pipe_in_place_of_an_object(room: Room, path: Path, repository: Path) -> None:
    blob = git(path, "rev-parse", "HEAD:readme.txt")
    a_pipe(repository / ".git/objects" / blob[:2] / blob[2:])
    stays(room, path, "is a pipe")


@pytest.mark.parametrize(
    "name", [".gitattributes", "src/.gitignore", "inner/.git/HEAD", ".gitmodules"]
)
def test_a_pipe_where_git_reads_in_the_workspace(room: Room, path: Path, name: str) -> None:
    a_pipe(path / name)
    if name.startswith("inner"):
        for directory in ("objects", "refs"):
            (path / "inner/.git" / directory).mkdir()
    stays(room, path, "is a pipe")


def test_a_repository_inside_that_leads_to_a_pipe(room: Room, path: Path, tmp_path: Path) -> None:
    for directory in ("objects", "refs"):
        (tmp_path / "trap" / directory).mkdir(parents=True)
    a_pipe(tmp_path / "trap/HEAD")
    write(path, {"inner/.git": f"gitdir: {tmp_path}/trap\n"})
    stays(room, path, "is a pipe")


def test_a_git_file_that_is_a_pipe(room: Room, path: Path) -> None:
    a_pipe(path / ".git")
    (judged,) = room.gc()
    assert not judged.removed
    # By what paddock wrote down, the work can be saved all the same.
    saved = room.save("run1", because="a timeout")
    assert saved is not None and saved.files == ("work.txt",)


def test_a_device_in_place_of_the_index(room: Room, path: Path) -> None:
    (admin(room) / "index").unlink()
    (admin(room) / "index").symlink_to("/dev/zero")
    stays(room, path, "is a device")


@pytest.mark.parametrize(
    ("file", "key"),
    [
        (".git/config", "include.path"),
        (".git/config", "core.excludesFile"),
        (".git/config", "core.attributesFile"),
        ("included", "include.path"),
        ("included", "core.excludesFile"),
    ],
)
def test_settings_that_name_a_pipe(
    room: Room, path: Path, repository: Path, file: str, key: str
) -> None:
    os.mkfifo(repository / "pipe")
    git(repository, "config", "includeIf.gitdir:/.path", str(repository / "included"))
    git(repository, "config", "--file", str(repository / file), key, str(repository / "pipe"))
    stays(room, path, "no plain file")


@pytest.mark.parametrize("key", ["mailmap.file", "diff.orderFile"])
@pytest.mark.usefixtures("path")
def test_settings_that_name_a_pipe_for_showing(
    room: Room, repository: Path, tmp_path: Path, key: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    git(repository, "config", key, str(tmp_path / "pipe"))
    began = time.monotonic()
    assert room.diff("run1").text
    assert room.commits("run1") == () and room.last_commit("run1")
    assert room.save("run1", because="a timeout") is not None
    assert time.monotonic() - began < LONG_S


def test_a_marker_is_not_looked_for_in_a_pipe(room: Room, path: Path, repository: Path) -> None:
    marker = Marker(record_of(room), path, "READY")
    assert marker.look() is None
    a_pipe(repository / ".git/refs/heads/x")
    with pytest.raises(UnsafePlace, match="is a pipe"):
        marker.look()


def test_a_pipe_in_a_directory_above_is_not_opened(tmp_path: Path) -> None:
    """As in /tmp, where everybody may write: git takes a HEAD there for a bare repository's."""
    for directory in ("objects", "refs", ".git/objects", ".git/refs"):
        (tmp_path / "shared" / directory).mkdir(parents=True)
    os.mkfifo(tmp_path / "shared/HEAD")
    os.mkfifo(tmp_path / "shared/.git/HEAD")
    plain = tmp_path / "shared/job"
    plain.mkdir()
    for look in (find_source, measure):
        with pytest.raises(WorkspaceError, match="is in no git repository"):
            look(plain)
    repository = a_repository(tmp_path / "shared/repository")
    assert find_source(repository / "src").place == repository
    assert measure(repository).files == 2
    assert "first" in last_commit(find_source(repository / "src").git.bounded())


def test_a_git_file_above_that_is_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".git")
    (tmp_path / "job").mkdir()
    with pytest.raises(WorkspaceError, match="is in no git repository"):
        find_source(tmp_path / "job")


def test_a_repository_of_somebody_else_above_is_not_used(tmp_path: Path, as_somebody: int) -> None:
    shared = a_repository(tmp_path / "shared")
    os.chown(shared / ".git", as_somebody, as_somebody)
    os.chown(shared, as_somebody, as_somebody)
    (shared / "job").mkdir()
    with pytest.raises(GitFailed, match="belongs to another user"):
        last_commit(find_source(shared / "job").git.bounded())


def test_git_looks_no_higher_than_it_was_told(tmp_path: Path) -> None:
    above = a_repository(tmp_path / "above")
    (above / "below").mkdir()
    with pytest.raises(GitFailed, match="not a git repository"):
        Git(directory=above / "below").line("rev-parse", "--git-dir")
