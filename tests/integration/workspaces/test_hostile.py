"""An agent has the run of its workspace, of what git keeps for it and of the shared repository.

paddock's own git looks there outside all walls: nothing of the agent's is run, nobody waits in a
pipe, nothing is believed, and whatever is strange stays.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.workspaces import beside, looking
from paddock.workspaces.changes import last_commit
from paddock.workspaces.errors import GitFailed, UnsafePlace, WorkspaceError
from paddock.workspaces.git import Git
from paddock.workspaces.ready import Marker
from paddock.workspaces.records import Record
from paddock.workspaces.room import Room
from paddock.workspaces.sizes import measure
from paddock.workspaces.sources import Manner
from paddock.workspaces.strategy import Strategy
from paddock.workspaces.worktrees import find_source
from tests.kit.repositories import a_repository, commit, git, write

LONG_S = 60.0  # below git's own deadline: whoever takes longer has waited in a pipe


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """There is such a file if a program of the agent's was run."""
    return tmp_path / "ran"


@pytest.fixture
def path(room: Room, repository: Path) -> Path:
    """A workspace that was given back, with work in it."""
    path = room.prepare("run1", repository=repository)
    write(path, {"work.txt": "work\n"})
    room.release("run1")
    return path


def record_of(room: Room) -> Record:
    record = room.record("run1")
    assert record is not None
    return record


def admin(room: Room) -> Path:
    return Path(record_of(room).git_dir)


def stays(room: Room, path: Path, reason: str) -> None:
    """Whoever looks says so in a line, soon; and the work is where it was."""
    began = time.monotonic()
    (judged,) = room.gc()
    assert not judged.removed and reason in judged.because, judged.because
    for look in (
        lambda: room.save("run1", because="a timeout"),
        lambda: room.diff("run1"),
        lambda: room.prepare("run1", repository=Path(record_of(room).repository)),
    ):
        with suppress(WorkspaceError):  # some may do without what is strange
            look()
    assert time.monotonic() - began < LONG_S
    assert (path / "work.txt").read_text() == "work\n"


# -- the network ----------------------------------------------------------------------------


def promised(repository: Path, ran: Path, url: str) -> None:
    """As a partial clone: what is missing is fetched from a remote, when somebody asks for it."""
    git(repository, "config", "core.repositoryFormatVersion", "1")
    git(repository, "config", "extensions.partialClone", "evil")
    git(repository, "config", "remote.evil.promisor", "true")
    git(repository, "config", "remote.evil.url", url)
    git(repository, "config", "remote.evil.uploadpack", f"touch '{ran}'; git-upload-pack")
    git(repository, "config", "core.sshCommand", f"touch '{ran}';")


@pytest.mark.parametrize("way", ["path", "ssh"])
def test_what_is_missing_is_fetched_by_nobody(
    room: Room, path: Path, repository: Path, ran: Path, way: str
) -> None:
    promised(repository, ran, str(repository) if way == "path" else "ssh://nowhere.invalid/x")
    blob = git(path, "rev-parse", "HEAD:readme.txt")
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    write(path, {"readme.txt": "changed\n"})
    with pytest.raises(GitFailed):
        room.diff("run1")
    room.gc()
    room.save("run1", because="a timeout")
    assert not ran.exists()


def test_a_new_workspace_fetches_nothing_by_somebodys_program(
    room: Room, path: Path, repository: Path, ran: Path
) -> None:
    promised(repository, ran, str(repository))
    blob = git(path, "rev-parse", "HEAD:readme.txt")
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(WorkspaceError):
        room.prepare("run2", repository=repository)
    assert not ran.exists()


def test_files_of_a_partial_clone_of_ours_are_still_fetched(room: Room, repository: Path) -> None:
    git(repository, "config", "uploadpack.allowFilter", "true")
    manner = Manner(strategy=Strategy(own_clone=True, blobless=True, because="a test"))
    path = room.prepare("run1", repository=f"file://{repository}", manner=manner)
    assert (path / "readme.txt").read_text() == "one\n"


# -- programs in settings ---------------------------------------------------------------------


def test_filters_in_a_submodules_settings_are_not_run(
    room: Room, repository: Path, ran: Path, tmp_path: Path
) -> None:
    library = a_repository(tmp_path / "library", {"a.txt": "a\n", ".gitattributes": "* filter=x\n"})
    git(repository, "submodule", "--quiet", "add", str(library), "lib")
    commit(repository, "with a library")
    path = room.prepare("run1", repository=repository)
    git(path, "submodule", "--quiet", "update", "--init")
    git(path / "lib", "config", "filter.x.clean", f"touch '{ran}'; cat")
    git(path / "lib", "config", "core.fsmonitor", f"touch '{ran}'; false")
    write(path, {"lib/a.txt": "changed\n", "work.txt": "work\n"})
    assert b"work.txt" in room.diff("run1").text and not ran.exists()
    saved = room.save("run1", because="a timeout")
    assert saved is not None and "lib" in saved.left_out and not ran.exists()
    room.release("run1")
    (judged,) = room.gc()
    assert not judged.removed and "not committed: lib" in judged.because
    assert not ran.exists()


def test_a_submodule_that_leads_elsewhere_is_not_followed(
    room: Room, repository: Path, ran: Path, tmp_path: Path
) -> None:
    library = a_repository(tmp_path / "library")
    git(repository, "submodule", "--quiet", "add", str(library), "lib")
    commit(repository, "with a library")
    path = room.prepare("run1", repository=repository)
    trap = a_repository(tmp_path / "trap")
    git(trap, "config", "core.fsmonitor", f"touch '{ran}'; false")
    (path / "lib/.git").write_text(f"gitdir: {trap}/.git\n")
    write(path, {"work.txt": "work\n"})
    room.release("run1")
    stays(room, path, "which is none of this workspace's")
    assert not ran.exists()


@pytest.fixture
def with_lfs(tmp_path: Path, ran: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `git-lfs` that says that it was run."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "git-lfs").write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    (programs / "git-lfs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")


@pytest.mark.usefixtures("with_lfs")
def test_programs_that_git_lfs_would_run_are_not_run(
    room: Room, path: Path, repository: Path, ran: Path
) -> None:
    """Its filter is let through; but it reads more of the repository's settings."""
    git(repository, "config", "filter.lfs.clean", "git-lfs clean -- %f")
    git(repository, "config", "lfs.extension.evil.clean", "evil")
    write(path, {".gitattributes": "*.txt filter=lfs\n"})
    saved = room.save("run1", because="a timeout")
    assert saved is not None and "work.txt" in saved.files
    assert not ran.exists()


# -- pipes --------------------------------------------------------------------------------------


def a_pipe(place: Path) -> None:
    """In place of whatever was there."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(place)


@pytest.mark.parametrize("name", ["HEAD", "index", "config.worktree", "logs/HEAD", "commondir"])
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


# -- what is above ------------------------------------------------------------------------------


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


# -- objects elsewhere, and too much of everything ------------------------------------------


def test_objects_that_lie_elsewhere_would_be_no_saving(
    room: Room, path: Path, repository: Path, tmp_path: Path
) -> None:
    """git does not store what it finds in an alternate; the agent's own goes with its scratch."""
    elsewhere = a_repository(tmp_path / "elsewhere", {"work.txt": "work\n"})
    alternates = repository / ".git/objects/info/alternates"
    alternates.write_text(f"{elsewhere}/.git/objects\n")
    with pytest.raises(UnsafePlace, match="alternates is not what it was"):
        room.save("run1", because="a timeout")
    stays(room, path, "alternates is not what it was")
    alternates.unlink()
    assert room.save("run1", because="a timeout") is not None


def test_alternates_that_were_there_before_are_the_users_own(room: Room, tmp_path: Path) -> None:
    origin = a_repository(tmp_path / "origin")
    git(tmp_path, "clone", "--quiet", "--shared", str(origin), "shared")
    path = room.prepare("run1", repository=tmp_path / "shared")
    write(path, {"work.txt": "work\n"})
    assert room.save("run1", because="a timeout") is not None


def test_a_worktree_that_says_it_belongs_to_another_repository(
    room: Room, path: Path, tmp_path: Path
) -> None:
    trap = a_repository(tmp_path / "trap")
    (admin(room) / "commondir").write_text(f"{trap}/.git\n")
    stays(room, path, "says that it belongs to")
    assert git(trap, "branch", "--list", "paddock/*") == ""


def test_a_bomb_of_trees_takes_neither_memory_nor_disk_for_long(
    room: Room, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten levels of ten names each, a few KB, are ten thousand million files."""
    blob = git(path, "hash-object", "-w", "--stdin", given=b"x")
    kind, below = "100644 blob", blob
    for _ in range(10):
        tree = "".join(f"{kind} {below}\tn{number}\n" for number in range(10))
        kind, below = "040000 tree", git(path, "mktree", given=tree.encode())
    bomb = git(path, "commit-tree", below, "-p", "HEAD", "-m", "bomb")
    git(path, "update-ref", "refs/heads/paddock/run1", bomb)
    (admin(room) / "index").unlink()  # so that it would be made from HEAD
    monkeypatch.setattr("paddock.workspaces.git.LOOK_HEAP_BYTES", 64 << 20)
    began = time.monotonic()
    with pytest.raises(GitFailed):
        room.save("run1", because="a timeout")
    (judged,) = room.gc()
    assert not judged.removed and "nobody knows what is in it" in judged.because
    assert time.monotonic() - began < LONG_S
    assert list(path.parent.glob(f"{beside.PREFIX}*")) == []


def test_an_index_that_is_huge_is_not_read(room: Room, path: Path) -> None:
    with (admin(room) / "index").open("r+b") as file:
        file.truncate(looking.LARGEST_INDEX_BYTES + 1)
    stays(room, path, "more than paddock lets git read")


@pytest.mark.usefixtures("path")
def test_a_copy_of_an_index_lies_among_our_own_files(
    room: Room, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A sparse one is expanded when it is written; in /tmp that could be memory."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "not there"))
    assert room.diff("run1").text
    assert room.save("run1", because="a timeout") is not None


def test_a_file_too_large_to_be_stored_is_named(
    room: Room, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "LARGEST_FILE_BYTES", 1 << 20)
    with (path / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)  # it takes no room here, and a terabyte of reading
    saved = room.save("run1", because="a timeout")
    assert saved is not None and saved.files == ("work.txt",) and saved.left_out == ("huge.bin",)


def test_a_large_object_is_held_by_nobody(room: Room, path: Path) -> None:
    """It is stored in pieces: with 64 MB to live on, git takes 200 MB."""
    with (path / "large.bin").open("wb") as file:
        file.truncate(200 << 20)
    git_there = Git(directory=path, git_dir=admin(room), work_tree=path)
    with beside.beside_index(replace(git_there, heap_bytes=64 << 20)) as aside:
        assert beside.take_all(aside) == ()


@pytest.mark.parametrize("who", ["x", "a <a@b> ", f"a <a@b> {'9' * 26} +0000"])
def test_a_commit_made_by_hand_whose_time_makes_no_sense_is_counted(
    room: Room, path: Path, who: str
) -> None:
    tree, start = git(path, "rev-parse", "HEAD^{tree}"), git(path, "rev-parse", "HEAD")
    text = f"tree {tree.strip()}\nparent {start.strip()}\nauthor a <a@b> 1 +0000\n"
    given = f"{text}committer {who}\n\nby hand\n".encode()
    made = git(path, "hash-object", "-t", "commit", "--literally", "-w", "--stdin", given=given)
    git(path, "update-ref", "HEAD", made.strip())
    assert [(one.subject, one.at) for one in room.commits("run1")] == [("by hand", 0)]


@pytest.mark.parametrize("name", ["modules", "worktrees", "objects"])
def test_a_pipe_among_branches_that_are_called_like_what_is_looked_at_apart(
    room: Room, path: Path, repository: Path, name: str
) -> None:
    branches = repository / ".git/refs/heads" / name
    branches.mkdir()
    os.mkfifo(branches / "pipe")
    with pytest.raises(UnsafePlace, match="is a pipe"):
        looking.check_references(record_of(room))
    stays(room, path, "is a pipe")
