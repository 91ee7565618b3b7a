"""Ways to lose work that are not in its files: submodules, damage, a kill in the middle, time."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from paddock.workspaces import clearing
from paddock.workspaces.room import Room
from tests.integration.workspaces.judged import ended, is_kept, the_one
from tests.kit.repositories import a_repository, commit, git, tip, write


@pytest.fixture
def with_submodule(room: Room, repository: Path, tmp_path: Path) -> Path:
    library = a_repository(tmp_path / "library")
    git(repository, "submodule", "--quiet", "add", str(library), "lib")
    commit(repository, "with a library")
    path = room.prepare("run1", repository=repository)
    git(path, "submodule", "--quiet", "update", "--init")
    room.release("run1")
    return path


def test_a_clean_submodule_keeps_nothing(room: Room, with_submodule: Path) -> None:
    judged = the_one(room)
    assert judged.removed, judged.because
    assert not with_submodule.exists()


def test_a_changed_file_in_a_submodule(room: Room, with_submodule: Path) -> None:
    write(with_submodule / "lib", {"readme.txt": "changed\n"})
    assert is_kept(room, with_submodule, "not committed: lib")


def test_an_unknown_file_in_a_submodule(room: Room, with_submodule: Path) -> None:
    write(with_submodule / "lib", {"new.txt": "x\n"})
    git(with_submodule, "config", "submodule.lib.ignore", "all")
    assert is_kept(room, with_submodule, "not committed: lib")


def test_a_commit_in_a_submodule_that_is_only_there(room: Room, with_submodule: Path) -> None:
    commit(with_submodule / "lib", "only here")
    commit(with_submodule, "recorded")
    assert is_kept(room, with_submodule, "submodules with work that is only here: lib")


def test_a_stash_in_a_submodule(room: Room, with_submodule: Path) -> None:
    write(with_submodule / "lib", {"readme.txt": "changed\n"})
    git(with_submodule / "lib", "stash", "--quiet")
    assert is_kept(room, with_submodule, "only here: lib")


def test_a_link_in_its_place(room: Room, path: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    path.rename(tmp_path / "away")
    path.symlink_to(tmp_path / "precious")
    assert is_kept(room, path, "symbolic link")
    assert (tmp_path / "precious").is_dir()


@pytest.mark.parametrize("text", ["", "gitdir: /nowhere\n", "nonsense"])
def test_a_damaged_git_file(room: Room, path: Path, text: str) -> None:
    (path / ".git").write_text(text)
    assert is_kept(room, path, "nobody knows what is in it")


def test_no_git_file(room: Room, path: Path) -> None:
    (path / ".git").unlink()
    assert is_kept(room, path, "nobody knows what is in it")


def test_a_repository_in_place_of_the_git_file(room: Room, path: Path) -> None:
    (path / ".git").unlink()
    git(path, "init", "--quiet")
    assert is_kept(room, path, "nobody knows what is in it")


def test_a_repository_that_is_gone(room: Room, path: Path, repository: Path) -> None:
    repository.rename(repository.parent / "elsewhere")
    assert is_kept(room, path, "the repository does not know it any more")


def test_a_damaged_index(room: Room, path: Path, repository: Path) -> None:
    (repository / ".git/worktrees/run1/index").write_bytes(b"rubbish")
    assert is_kept(room, path, "nobody knows what is in it")


def test_git_that_fails(
    room: Room, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    script = f"""#!/bin/sh
case "$*" in *" status "*) echo "fatal: out of paper" >&2; exit 128;; esac
exec {shutil.which("git")} "$@"
"""
    (programs / "git").write_text(script)
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    assert is_kept(room, path, "nobody knows what is in it: git status: fatal: out of paper")


def test_a_damaged_record(room: Room, path: Path) -> None:
    (path.parent / ".run1.json").write_text("{")
    assert is_kept(room, path, "damaged")


def test_no_record(room: Room, path: Path) -> None:
    (path.parent / ".run1.json").unlink()
    assert is_kept(room, path, "paddock has no record of it")


def test_a_removal_that_was_killed_is_taken_back(room: Room, path: Path) -> None:
    path.rename(path.parent / ".going-run1")
    write(path.parent / ".going-run1", {"late.txt": "x\n"})
    assert not is_kept(room, path, "not known to git: late.txt")


def test_a_directory_that_somebody_deleted_is_forgotten_but_not_its_commits(
    room: Room, path: Path, repository: Path
) -> None:
    git(path, "checkout", "--quiet", "--detach")
    lost = commit(path, "nowhere else")
    path.rename(path.parent.parent / ".elsewhere")
    assert the_one(room).removed
    assert lost in git(repository, "for-each-ref", "refs/paddock/kept/run1")
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_other_worktrees_of_the_user_are_never_forgotten(
    room: Room, path: Path, repository: Path, tmp_path: Path
) -> None:
    """As on a disk that is not plugged in."""
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "usb"))
    (tmp_path / "usb").rename(tmp_path / "unplugged")
    assert the_one(room).removed
    assert not path.exists()
    (tmp_path / "unplugged").rename(tmp_path / "usb")
    assert git(tmp_path / "usb", "status", "--porcelain") == ""


def test_a_later_attempt_of_a_run_whose_directory_was_deleted_loses_no_commit_either(
    room: Room, path: Path, repository: Path
) -> None:
    git(repository, "config", "core.logAllRefUpdates", "false")
    git(path, "checkout", "--quiet", "--detach")
    (repository / ".git/worktrees/run1/logs/HEAD").unlink()
    lost = commit(path, "nowhere else")
    path.rename(path.parent.parent / ".elsewhere")
    room.prepare("run1", repository=repository)
    assert lost in git(repository, "for-each-ref", "refs/paddock/kept/run1")


def test_a_process_is_seen_where_the_state_directory_is_reached_by_a_link(
    repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    room = Room(tmp_path / "link/workspaces", idle_days=0)
    path = room.prepare("run1", repository=repository)
    room.release("run1")
    process = subprocess.Popen(["sleep", "60"], cwd=path)
    try:
        assert is_kept(room, path, f"pid {process.pid} (sleep)")
    finally:
        ended(process)
    assert the_one(room).removed
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_one_that_was_taken_after_it_was_looked_at_stays(
    room: Room, path: Path, repository: Path
) -> None:
    """A retry may take it while others are judged."""
    (spot,) = [one for one in clearing.spots(path.parents[1]) if isinstance(one, clearing.Spot)]
    room.prepare("run1", repository=repository)
    assert "taken" in clearing.clear(spot).because
    assert path.is_dir()
    room.release("run1")


# -- worktrees inside -----------------------------------------------------------------------


@pytest.fixture
def inner(room: Room, repository: Path) -> Path:
    """As agents make them for their helpers: where the repository ignores it."""
    commit(repository, "ignore", {".gitignore": ".helpers/\n"})
    path = room.prepare("run1", repository=repository)
    git(path, "worktree", "add", "--quiet", "-b", "helper", ".helpers/one")
    room.release("run1")
    return path / ".helpers/one"


@pytest.mark.parametrize("work", ["changed", "new", "detached", "merging"])
def test_a_worktree_inside_with_work_of_its_own(room: Room, inner: Path, work: str) -> None:
    if work == "changed":
        write(inner, {"src/code.py": "print(2)\n"})
    elif work == "new":
        write(inner, {"new.py": "x\n"})
    elif work == "detached":
        git(inner, "checkout", "--quiet", "--detach")
        commit(inner, "on no branch", {"new.py": "x\n"})
    else:
        (Path(git(inner, "rev-parse", "--absolute-git-dir")) / "MERGE_HEAD").write_text("0\n")
    words = "worktrees with work that is only here: .helpers/one"
    assert is_kept(room, inner.parent.parent, words)


def test_a_worktree_inside_with_everything_on_a_branch_keeps_nothing(
    room: Room, inner: Path, repository: Path
) -> None:
    commit(inner, "done", {"new.py": "x\n"})
    done = tip(inner)
    assert the_one(room).removed
    assert git(repository, "rev-parse", "helper") == done
