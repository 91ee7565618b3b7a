"""A worktree for each run, from the user's own repository, which is otherwise left alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from paddock.workspaces.errors import Busy, GitFailed, UnsafePlace, WorkspaceError
from paddock.workspaces.locks import hold
from paddock.workspaces.records import State
from paddock.workspaces.room import Room
from tests.kit.repositories import a_repository, commit, git, tip, write


def state_of(repository: Path) -> dict[str, object]:
    """All that belongs to the user: files, index, settings, HEAD and its own branches."""
    files = [path for path in repository.rglob("*") if ".git" not in path.parts and path.is_file()]
    own = git(repository, "for-each-ref", "--format=%(refname) %(objectname)")
    return {
        "files": {str(path): path.read_bytes() for path in files},
        "index": (repository / ".git/index").read_bytes(),
        "config": (repository / ".git/config").read_bytes(),
        "head": (repository / ".git/HEAD").read_bytes(),
        "refs": [line for line in own.splitlines() if "/paddock/" not in line],
    }


def test_a_run_gets_a_worktree_on_a_branch_of_its_own(room: Room, repository: Path) -> None:
    path = room.prepare("run1", repository=repository)
    assert (path / "src/code.py").read_text() == "print(1)\n"
    assert git(path, "branch", "--show-current") == "paddock/run1"
    assert tip(path) == tip(repository)
    assert git(path, "status", "--porcelain") == ""


def test_the_users_checkout_index_and_settings_are_not_touched(
    room: Room, repository: Path
) -> None:
    write(repository, {"readme.txt": "the user's own change\n", "new.txt": "untracked\n"})
    git(repository, "add", "readme.txt")
    before = state_of(repository)
    for run in ("a", "b"):
        path = room.prepare(run, repository=repository)
        commit(path, f"work of {run}")
        room.save(run, because="a test")
        room.diff(run)
        room.release(run)
    room.gc()
    assert state_of(repository) == before


def test_it_begins_at_the_branch_that_was_asked_for(room: Room, repository: Path) -> None:
    git(repository, "branch", "other")
    commit(repository, "second")
    path = room.prepare("run1", repository=repository, branch="other")
    assert tip(path) == tip(repository, "other") != tip(repository)
    later = room.prepare("run2", repository=repository, branch=tip(repository, "other")[:10])
    assert tip(later) == tip(repository, "other")


def test_a_later_attempt_gets_the_same_one_with_all_that_is_in_it(
    room: Room, repository: Path
) -> None:
    path = room.prepare("run1", repository=repository)
    write(path, {"half.txt": "done\n"})
    room.release("run1")
    commit(repository, "meanwhile")
    assert room.prepare("run1", repository=repository) == path
    assert (path / "half.txt").read_text() == "done\n"


def test_after_it_was_removed_a_later_attempt_goes_on_with_its_branch(
    room: Room, repository: Path
) -> None:
    path = room.prepare("run1", repository=repository)
    done = commit(path, "done")
    start = tip(repository)
    room.release("run1")
    room.gc()
    assert not path.exists()
    commit(repository, "meanwhile")
    again = room.prepare("run1", repository=repository)
    assert tip(again) == done
    record = room.record("run1")
    assert record is not None and record.start == start


def test_after_somebody_deleted_it_by_hand_its_branch_is_gone_on_with(
    room: Room, repository: Path
) -> None:
    path = room.prepare("run1", repository=repository)
    done = commit(path, "done")
    for file in path.rglob("*"):
        if file.is_file():
            file.unlink()
    for folder in sorted(path.rglob("*"), reverse=True):
        folder.rmdir()
    path.rmdir()
    assert tip(room.prepare("run1", repository=repository)) == done


def test_a_git_file_that_an_agent_broke_is_mended(room: Room, repository: Path) -> None:
    path = room.prepare("run1", repository=repository)
    (path / ".git").write_text("gitdir: /nowhere\n")
    assert room.prepare("run1", repository=repository) == path
    assert git(path, "status", "--porcelain") == ""


def test_one_that_became_a_link_is_not_followed(
    room: Room, repository: Path, tmp_path: Path
) -> None:
    path = room.prepare("run1", repository=repository)
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    with pytest.raises(UnsafePlace, match="no directory any more"):
        room.prepare("run1", repository=repository)


def test_a_directory_that_paddock_did_not_make_is_left_alone(room: Room, repository: Path) -> None:
    other = room.prepare("other", repository=repository)
    stranger = other.parent / "run1"
    stranger.mkdir()
    with pytest.raises(UnsafePlace, match="paddock did not make it"):
        room.prepare("run1", repository=repository)
    assert stranger.is_dir()


def test_one_that_was_being_made_when_paddock_was_killed_is_made_anew(
    room: Room, repository: Path
) -> None:
    path = room.prepare("run1", repository=repository)
    shelf_file = path.parent / ".run1.json"
    text = shelf_file.read_text().replace('"taken"', '"making"')
    shelf_file.write_text(text)
    (path / "readme.txt").unlink()
    assert room.prepare("run1", repository=repository) == path
    assert (path / "readme.txt").exists()


def test_many_at_once_all_succeed(top: Path, repository: Path) -> None:
    room = Room(top, most=50)
    with ThreadPoolExecutor(24) as pool:
        runs = [f"run{number}" for number in range(24)]
        paths = list(pool.map(lambda run: room.prepare(run, repository=repository), runs))
    assert len(set(paths)) == 24
    assert all(git(path, "status", "--porcelain") == "" for path in paths)
    assert len(git(repository, "worktree", "list").splitlines()) == 25


def test_while_the_user_works_in_the_repository(top: Path, repository: Path) -> None:
    room, over = Room(top, most=50), threading.Event()

    def work() -> None:
        number = 0
        while not over.is_set():
            number += 1
            commit(repository, f"user{number}")
            git(repository, "pack-refs", "--all")

    user = threading.Thread(target=work)
    user.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            runs = [f"run{number}" for number in range(12)]
            paths = list(pool.map(lambda run: room.prepare(run, repository=repository), runs))
    finally:
        over.set()
        user.join()
    assert all(git(path, "status", "--porcelain") == "" for path in paths)
    assert git(repository, "status", "--porcelain") == "", "nor is the user's own work disturbed"


def test_who_holds_the_repository_is_named(
    top: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = Room(top)
    path = room.prepare("run1", repository=repository)
    monkeypatch.setattr("paddock.workspaces.pool.LOCK_WAIT_S", 0.05)
    with (
        hold(path.parent / ".lock", who="run slow", wait_s=1),
        pytest.raises(Busy, match=rf"taken by pid {os.getpid()} for run slow since"),
    ):
        room.prepare("run2", repository=repository)
    assert room.record("run2") is None
    room.prepare("run2", repository=repository)


def test_a_lock_of_gits_own_is_waited_for_and_then_named(
    room: Room, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.workspaces.git.LOCKED_WAIT_S", 0.1)
    (repository / ".git/refs/heads/paddock").mkdir()
    lock = repository / ".git/refs/heads/paddock/run1.lock"
    lock.touch()
    with pytest.raises(GitFailed, match=r"run1\.lock"):
        room.prepare("run1", repository=repository)
    lock.unlink()
    room.prepare("run1", repository=repository)


def test_a_failure_leaves_nothing_behind(room: Room, repository: Path) -> None:
    (repository / ".git/refs/heads/paddock").write_text(tip(repository) + "\n")
    with pytest.raises(GitFailed, match="rename that one"):
        room.prepare("run1", repository=repository)
    assert room.records() == []
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_branch_that_is_checked_out_elsewhere_is_said_so(room: Room, repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "paddock/run1")
    with pytest.raises(GitFailed, match="already checked out"):
        room.prepare("run1", repository=repository)


@pytest.mark.parametrize("name", ["with space", "-dash", "new\nline", "ünï", "quote'\"$x", "a%20b"])
def test_repositories_with_difficult_names(room: Room, tmp_path: Path, name: str) -> None:
    repository = a_repository(tmp_path / name, {f"{name} file": "x\n"})
    path = room.prepare("run1", repository=repository)
    assert (path / f"{name} file").read_text() == "x\n"
    write(path, {f"{name} more": "y\n"})
    saved = room.save("run1", because="a test")
    assert saved is not None and saved.files == (f"{name} more",)
    room.release("run1")
    assert [one.removed for one in room.gc()] == [True]


def test_file_names_that_are_no_text(room: Room, repository: Path) -> None:
    odd = os.fsencode(repository) + b"/\xff\xfe\n"
    with open(odd, "wb") as file:  # noqa: PTH123 - no Path can be made of it
        file.write(b"x")
    commit(repository, "odd")
    path = room.prepare("run1", repository=repository)
    assert b"\xff\xfe\n" in os.listdir(os.fsencode(path))  # noqa: PTH208
    with open(os.fsencode(path) + b"/\xfe", "wb") as file:  # noqa: PTH123
        file.write(b"y")
    room.release("run1")
    (judged,) = room.gc()
    assert "not known to git" in judged.because
    assert room.save("run1", because="a test") is not None


@pytest.mark.parametrize(
    ("branch", "said"),
    [("nothing", "no branch, tag or commit 'nothing'"), ("--all", "is no branch"), (" ", "is no")],
)
def test_a_branch_that_is_not_there_is_named(
    room: Room, repository: Path, branch: str, said: str
) -> None:
    with pytest.raises(WorkspaceError, match=said):
        room.prepare("run1", repository=repository, branch=branch)


def test_what_is_no_repository_is_said_in_a_line(room: Room, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(WorkspaceError, match="is in no git repository"):
        room.prepare("run1", repository=plain)
    with pytest.raises(WorkspaceError, match="is not a directory"):
        room.prepare("run1", repository=plain / "nothing")
    git(plain, "init", "--quiet")
    with pytest.raises(WorkspaceError, match="has no commit yet"):
        room.prepare("run1", repository=plain)


def test_a_subdirectory_or_a_worktree_stands_for_its_repository(
    room: Room, repository: Path, tmp_path: Path
) -> None:
    git(repository, "worktree", "add", "--quiet", str(tmp_path / "linked"))
    commit(tmp_path / "linked", "on the linked one")
    one = room.prepare("one", repository=repository / "src")
    two = room.prepare("two", repository=tmp_path / "linked")
    assert one.parent == two.parent
    assert tip(one) == tip(repository)
    assert tip(two) == tip(tmp_path / "linked")


def test_another_users_repository_is_explained(
    room: Room, repository: Path, as_somebody: int
) -> None:
    for path in (repository, repository / ".git"):
        os.chown(path, as_somebody, as_somebody)
    with pytest.raises(GitFailed, match=r"git config --global --add safe\.directory"):
        room.prepare("run1", repository=repository)


def test_who_has_what_survives_the_daemon(top: Path, repository: Path) -> None:
    Room(top).prepare("run1", repository=repository)
    Room(top).prepare("run2", repository=repository)
    Room(top).release("run1")
    found = {record.name: record.state for record in Room(top).records()}
    assert found == {"run1": State.IDLE, "run2": State.TAKEN}


def test_release_may_be_repeated_and_of_nobody(room: Room, repository: Path) -> None:
    room.prepare("run1", repository=repository)
    for _ in range(2):
        room.release("run1")
    room.release("nobody")
    assert [(one.name, one.state) for one in room.records()] == [("run1", State.IDLE)]


def half_made(room: Room, repository: Path) -> Path:
    """As a daemon leaves it that is killed before it could write down where git keeps it."""
    path = room.prepare("run1", repository=repository)
    file = path.parent / ".run1.json"
    record = json.loads(file.read_text()) | {"state": "making", "git_dir": ""}
    file.write_text(json.dumps(record))
    return path


@pytest.mark.parametrize("locked", [False, True])
def test_one_that_git_had_only_registered_is_made_anew(
    room: Room, repository: Path, *, locked: bool
) -> None:
    path = half_made(room, repository)
    shutil.rmtree(path)
    if locked:
        (repository / ".git/worktrees/run1/locked").write_text("initializing\n")
    assert room.prepare("run1", repository=repository) == path
    assert git(path, "status", "--porcelain") == ""
    assert len(git(repository, "worktree", "list").splitlines()) == 2


def test_also_when_its_record_was_cleared_away_first(room: Room, repository: Path) -> None:
    path = half_made(room, repository)
    shutil.rmtree(path)
    (path.parent / ".run1.json").unlink()
    assert room.prepare("run1", repository=repository) == path
    assert git(path, "status", "--porcelain") == ""
    assert len(git(repository, "worktree", "list").splitlines()) == 2


def test_a_git_that_outlived_its_daemon_is_waited_for(room: Room, repository: Path) -> None:
    path = half_made(room, repository)
    late = ["git", "-c", 'sleep 1; mkdir -p "$1"; touch "$1/late"', "worktree", str(path)]
    with subprocess.Popen(late, executable="/bin/sh") as killed:
        assert room.prepare("run1", repository=repository) == path
        assert killed.poll() is not None
    assert not (path / "late").exists()
    assert git(path, "status", "--porcelain") == ""


@pytest.mark.parametrize("locked", [False, True])
def test_what_is_cleared_away_unfinished_is_not_left_in_the_users_repository(
    room: Room, repository: Path, *, locked: bool
) -> None:
    half_made(room, repository)
    if locked:
        (repository / ".git/worktrees/run1/locked").write_text("initializing\n")
    room.finish()
    assert room.records() == []
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_nothing_is_cleared_away_under_a_git_that_outlived_its_daemon(
    room: Room, repository: Path
) -> None:
    path = half_made(room, repository)
    shutil.rmtree(path)
    late = ["git", "-c", 'sleep 1; mkdir -p "$1"; touch "$1/late"', "worktree", str(path)]
    with subprocess.Popen(late, executable="/bin/sh"):
        room.finish()
        assert len(room.records()) == 1
    room.finish()
    assert room.records() == [] and not path.exists()
