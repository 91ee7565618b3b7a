"""Work that a killed agent left is committed beside its index, and what a run changed is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from paddock.workspaces.errors import TakenAgain, WorkspaceError
from paddock.workspaces.room import Room
from paddock.workspaces.sources import Manner
from tests.kit.repositories import a_repository, commit, git, tip, write


@pytest.fixture
def path(room: Room, repository: Path) -> Path:
    return room.prepare("run1", repository=repository)


def shown(path: Path, what: str) -> str:
    return git(path, "show", what)


def test_nothing_to_save_is_nothing(room: Room, path: Path) -> None:
    before = tip(path)
    assert room.save("run1", because="a timeout") is None
    commit(path, "done")
    assert room.save("run1", because="a timeout") is None
    assert tip(path, "HEAD~1") == before


def test_all_that_is_not_ignored_is_saved_on_the_runs_branch(room: Room, path: Path) -> None:
    commit(path, "so far", {".gitignore": "*.log\n"})
    write(path, {"readme.txt": "changed\n", "new/file.txt": "new\n", "x.log": "no\n"})
    (path / "src/code.py").unlink()
    before = tip(path)
    saved = room.save("run1", because="hard timeout after 30 min")
    assert saved is not None
    assert sorted(saved.files) == ["new/file.txt", "readme.txt", "src/code.py"]
    assert saved.branch == "paddock/run1"
    assert tip(path, "paddock/run1") == saved.commit
    assert tip(path, f"{saved.commit}~1") == before
    assert "hard timeout after 30 min" in git(path, "log", "-1", "--format=%B", saved.commit)


def test_index_and_files_stay_as_they_were(room: Room, path: Path, repository: Path) -> None:
    write(path, {"readme.txt": "changed\n", "new.txt": "new\n"})
    git(path, "add", "readme.txt")
    index = repository / ".git/worktrees/run1/index"
    before, files = index.read_bytes(), {p: p.stat().st_mtime_ns for p in path.rglob("*")}
    room.save("run1", because="a timeout")
    assert index.read_bytes() == before
    assert {p: p.stat().st_mtime_ns for p in path.rglob("*")} == files


def test_it_needs_no_name_runs_no_hook_and_signs_nothing(
    room: Room, path: Path, repository: Path, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    for hook in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        file = repository / ".git/hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\ntouch '{ran}'\nexit 1\n")
        file.chmod(0o755)
    for key, value in (("commit.gpgSign", "true"), ("gpg.program", f"touch {ran}")):
        git(repository, "config", key, value)
    git(repository, "config", "user.useConfigOnly", "true")
    write(path, {"new.txt": "new\n"})
    assert room.save("run1", because="a timeout") is not None
    assert not ran.exists()


def test_locks_that_a_killed_git_left_do_not_matter(
    room: Room, path: Path, repository: Path
) -> None:
    write(path, {"new.txt": "new\n"})
    (repository / ".git/worktrees/run1/index.lock").touch()
    (repository / ".git/refs/heads/paddock/run1.lock").touch()
    saved = room.save("run1", because="out of memory")
    assert saved is not None
    assert (repository / ".git/worktrees/run1/index.lock").exists()
    room.prepare("run1", repository=repository)
    assert not (repository / ".git/worktrees/run1/index.lock").exists()
    commit(path, "goes on")


def test_a_lock_that_somebody_holds_is_not_broken(room: Room, path: Path, repository: Path) -> None:
    write(path, {"new.txt": "new\n"})
    lock = repository / ".git/refs/heads/paddock/run1.lock"
    with lock.open("w"), pytest.raises(WorkspaceError, match=f"held by pid {os.getpid()}"):
        room.save("run1", because="a timeout")
    assert lock.exists()


def test_a_damaged_index_does_not_matter(room: Room, path: Path, repository: Path) -> None:
    write(path, {"new.txt": "new\n"})
    (repository / ".git/worktrees/run1/index").write_bytes(b"half")
    saved = room.save("run1", because="a timeout")
    assert saved is not None and saved.files == ("new.txt",)


def test_what_was_only_staged_gets_a_commit_of_its_own(room: Room, path: Path) -> None:
    write(path, {"readme.txt": "staged\n"})
    git(path, "add", "readme.txt")
    write(path, {"readme.txt": "and changed again\n"})
    saved = room.save("run1", because="a timeout")
    assert saved is not None
    assert shown(path, f"{saved.commit}:readme.txt") == "and changed again"
    assert shown(path, f"{saved.commit}~1:readme.txt") == "staged"
    assert room.save("run1", because="again") is None


def test_files_that_git_was_told_to_overlook_are_saved_too(room: Room, path: Path) -> None:
    git(path, "update-index", "--assume-unchanged", "readme.txt")
    write(path, {"readme.txt": "changed\n"})
    saved = room.save("run1", because="a timeout")
    assert saved is not None and saved.files == ("readme.txt",)


def test_a_repository_inside_is_named_because_it_cannot_be_held(room: Room, path: Path) -> None:
    a_repository(path / "deep/inside")
    write(path, {"deep/new.txt": "new\n"})
    saved = room.save("run1", because="a timeout")
    assert saved is not None
    assert saved.files == ("deep/new.txt",)
    assert saved.left_out == ("deep/inside",)


def test_with_conflicts_the_files_are_saved_as_they_are(room: Room, path: Path) -> None:
    git(path, "checkout", "--quiet", "-b", "other")
    commit(path, "theirs", {"readme.txt": "theirs\n"})
    git(path, "checkout", "--quiet", "paddock/run1")
    commit(path, "ours", {"readme.txt": "ours\n"})
    git(path, "merge", "other", check=False)
    saved = room.save("run1", because="a timeout")
    assert saved is not None
    assert "<<<<<<<" in shown(path, f"{saved.commit}:readme.txt")


def test_in_a_rebase_the_runs_branch_is_not_moved(room: Room, path: Path) -> None:
    git(path, "checkout", "--quiet", "-b", "other")
    commit(path, "theirs", {"readme.txt": "theirs\n"})
    git(path, "checkout", "--quiet", "paddock/run1")
    ours = commit(path, "ours", {"readme.txt": "ours\n"})
    git(path, "rebase", "other", check=False)
    write(path, {"readme.txt": "half solved\n"})
    saved = room.save("run1", because="a timeout")
    assert saved is not None and saved.branch == "paddock/run1.saved-1"
    assert tip(path, "paddock/run1") == ours
    assert shown(path, "paddock/run1.saved-1:readme.txt") == "half solved"
    write(path, {"readme.txt": "more\n"})
    again = room.save("run1", because="a timeout")
    assert again is not None and again.branch == "paddock/run1.saved-2"


def test_on_another_branch_nothing_of_the_runs_own_is_lost(room: Room, path: Path) -> None:
    commit(path, "mine")
    git(path, "checkout", "--quiet", "-b", "aside", "HEAD~1")
    write(path, {"new.txt": "new\n"})
    saved = room.save("run1", because="a timeout")
    assert saved is not None and saved.branch == "paddock/run1.saved-1"
    assert room.save("run1", because="again, and nothing is new") is None
    git(path, "checkout", "--quiet", "--detach", "paddock/run1")
    (path / "new.txt").write_text("newer\n")
    ahead = room.save("run1", because="a timeout")
    assert ahead is not None and ahead.branch == "paddock/run1"


def test_what_was_saved_may_go_and_what_came_after_may_not(
    room: Room, path: Path, repository: Path
) -> None:
    write(path, {"readme.txt": "staged\n"})
    git(path, "add", "readme.txt")
    write(path, {"readme.txt": "changed\n", "new.txt": "new\n"})
    saved = room.save("run1", because="a timeout")
    assert saved is not None
    room.release("run1")
    write(path, {"later.txt": "later\n"})
    (kept,) = room.gc()
    assert not kept.removed and "later.txt" in kept.because
    (path / "later.txt").unlink()
    (gone,) = room.gc()
    assert gone.removed, gone.because
    assert tip(repository, "paddock/run1") == saved.commit


def test_the_next_attempt_finds_nothing_to_commit(room: Room, path: Path, repository: Path) -> None:
    write(path, {"readme.txt": "changed\n", "new.txt": "new\n"})
    git(path, "add", "readme.txt")
    room.save("run1", because="out of memory")
    room.prepare("run1", repository=repository)
    assert git(path, "status", "--porcelain") == ""
    assert (path / "new.txt").read_text() == "new\n"


def test_a_saving_that_comes_after_the_next_attempt_has_begun_touches_nothing_of_it(
    room: Room, repository: Path
) -> None:
    first, second = Manner(holder=1), Manner(holder=2)
    path = room.prepare("late", repository=repository, manner=first)
    write(path, {"first.txt": "x\n"})
    room.release("late")
    room.prepare("late", repository=repository, manner=second)
    write(path, {"second.txt": "x\n"})
    for of in (0, 1):
        with pytest.raises(TakenAgain, match="attempt 2 of run late has it by now"):
            room.save("late", because="a timeout", of=of)
    assert tip(repository, "paddock/late") == tip(repository)
    assert git(path, "status", "--porcelain") == "?? first.txt\n?? second.txt"
    saved = room.save("late", because="a timeout", of=2)
    assert saved is not None and saved.files == ("first.txt", "second.txt")


def test_commits_since_the_start_are_told(room: Room, path: Path) -> None:
    first, second = commit(path, "one"), commit(path, "two words")
    write(path, {"rest.txt": "x\n"})
    saved = room.save("run1", because="a timeout")
    assert saved is not None
    found = room.commits("run1")
    assert [one.id for one in found] == [saved.commit, second, first]
    assert [one.subject for one in found][1:] == ["two words", "one"]
    assert [one.by_paddock for one in found] == [True, False, False]


def test_a_diff_holds_commits_and_uncommitted_files_together(
    room: Room, path: Path, repository: Path
) -> None:
    commit(path, "done", {"committed.txt": "c\n"})
    write(path, {"staged.txt": "s\n", "new.txt": "n\n", "readme.txt": "changed\n"})
    git(path, "add", "staged.txt")
    (path / "src/code.py").unlink()
    index = (repository / ".git/worktrees/run1/index").read_bytes()
    text = room.diff("run1").text.decode()
    for line in ("+c", "+s", "+n", "-one", "+changed", "-print(1)", "deleted file mode 100644"):
        assert f"\n{line}\n" in text
    assert (repository / ".git/worktrees/run1/index").read_bytes() == index
    content = git(path, "hash-object", "new.txt")
    assert content not in git(repository, "cat-file", "--batch-check", "--batch-all-objects")


def test_a_diff_is_cut_where_it_is_too_long(room: Room, path: Path) -> None:
    write(path, {"long.txt": "x" * 100_000})
    diff = room.diff("run1", most_bytes=1000)
    assert diff.cut and len(diff.text) == 1000


def test_a_removed_workspace_still_has_commits_and_a_diff(room: Room, path: Path) -> None:
    done = commit(path, "done", {"committed.txt": "c\n"})
    room.release("run1")
    assert room.gc()[0].removed
    assert [one.id for one in room.commits("run1")] == [done]
    assert b"+c\n" in room.diff("run1").text


def test_of_a_run_without_a_workspace_it_is_said(room: Room) -> None:
    for ask in (room.diff, room.commits, lambda run: room.save(run, because="x")):
        with pytest.raises(WorkspaceError, match="run nobody has no workspace"):
            ask("nobody")


def test_a_change_in_the_second_of_the_checkout_that_keeps_the_size(
    room: Room, repository: Path
) -> None:
    """git compares seconds; whoever copies an index must not make it look newer."""
    for number in range(5):
        run = f"quick{number}"
        path = room.prepare(run, repository=repository)
        write(path, {"src/code.py": "print(2)\n"})
        assert b"+print(2)" in room.diff(run).text
        saved = room.save(run, because="a timeout")
        assert saved is not None and saved.files == ("src/code.py",)
