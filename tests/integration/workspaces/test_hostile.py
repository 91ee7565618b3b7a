"""An agent has the run of its workspace, of what git keeps for it and of the shared repository.

paddock's own git looks there outside all walls: nothing of the agent's is run, nobody waits in a
pipe, nothing is believed, and whatever is strange stays.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.workspaces import beside, looking
from paddock.workspaces.errors import GitFailed, UnsafePlace, WorkspaceError
from paddock.workspaces.git import Git
from paddock.workspaces.room import Room
from paddock.workspaces.sources import Manner
from paddock.workspaces.strategy import Strategy
from tests.integration.workspaces.strange import LONG_S, admin, record_of, stays
from tests.kit.repositories import a_repository, commit, git, write


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """There is such a file if a program of the agent's was run."""
    return tmp_path / "ran"


@pytest.fixture
def path(path: Path) -> Path:
    """With work in it."""
    write(path, {"work.txt": "work\n"})
    return path


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
