"""One test for each way to lose work with a workspace. None of them loses it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from paddock.workspaces import clearing
from paddock.workspaces.room import Room
from tests.integration.workspaces.judged import ended, is_kept, the_one
from tests.kit.repositories import a_repository, commit, git, tip, write
from tests.kit.waiting import until

# -- files ----------------------------------------------------------------------------------


def test_a_clean_one_goes_and_everything_of_it(room: Room, path: Path, repository: Path) -> None:
    assert the_one(room, dry_run=True).removed is False
    assert path.is_dir()
    assert the_one(room).removed
    assert not path.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1
    assert [one.name for one in path.parent.iterdir() if "run1" in one.name] == []
    assert room.gc() == []


def test_a_changed_file(room: Room, path: Path) -> None:
    write(path, {"readme.txt": "changed\n"})
    assert is_kept(room, path, "not committed: readme.txt")


def test_a_changed_file_of_the_same_size_and_time(room: Room, path: Path) -> None:
    """Settings can tell git to trust size and time, and then it shows nothing."""
    file, long_ago = path / "readme.txt", (1_600_000_000, 1_600_000_000)
    git(path, "config", "core.trustctime", "false")
    git(path, "config", "core.checkStat", "minimal")
    os.utime(file, long_ago)
    git(path, "update-index", "--refresh")
    file.write_text("eno\n")
    os.utime(file, long_ago)
    assert git(path, "status", "--porcelain") == ""
    assert is_kept(room, path, "not committed: readme.txt")


def test_a_deleted_file(room: Room, path: Path) -> None:
    (path / "readme.txt").unlink()
    assert is_kept(room, path, "not committed: readme.txt")


def test_a_file_that_is_only_staged(room: Room, path: Path) -> None:
    write(path, {"new.txt": "x\n"})
    git(path, "add", "new.txt")
    (path / "new.txt").unlink()
    assert is_kept(room, path, "not committed: new.txt")


def test_a_file_that_git_does_not_know(room: Room, path: Path) -> None:
    write(path, {"deep/down/new.txt": "x\n"})
    git(path, "config", "status.showUntrackedFiles", "no")
    assert is_kept(room, path, "not known to git: deep/")


def test_files_that_git_was_told_to_overlook(room: Room, path: Path) -> None:
    git(path, "update-index", "--assume-unchanged", "readme.txt")
    write(path, {"readme.txt": "changed\n"})
    assert is_kept(room, path, "told not to look for changes in: readme.txt")


def test_files_that_git_was_told_to_skip(room: Room, path: Path) -> None:
    git(path, "update-index", "--skip-worktree", "src/code.py")
    write(path, {"src/code.py": "changed\n"})
    assert is_kept(room, path, "src/code.py")


def test_a_repository_inside(room: Room, path: Path) -> None:
    a_repository(path / "inside")
    assert is_kept(room, path, "not known to git: inside/")


def test_ignored_files_may_go(room: Room, repository: Path) -> None:
    commit(repository, "ignore", {".gitignore": "*.log\n"})
    path = room.prepare("run1", repository=repository)
    write(path, {"build.log": "x\n"})
    room.release("run1")
    assert the_one(room).removed


def test_but_not_when_the_run_itself_said_so(room: Room, path: Path) -> None:
    write(path, {".gitignore": "*.py\n", "work.py": "x\n"})
    assert is_kept(room, path, ".gitignore")


# -- commits --------------------------------------------------------------------------------


def test_commits_on_its_branch_stay_with_the_branch(
    room: Room, path: Path, repository: Path
) -> None:
    done = commit(path, "done")
    assert the_one(room).removed
    assert tip(repository, "paddock/run1") == done


def test_a_run_that_committed_nothing_leaves_no_branch(
    room: Room, path: Path, repository: Path
) -> None:
    assert the_one(room).removed
    assert git(repository, "branch", "--list", "paddock/*") == ""
    assert path.parent.is_dir()


def test_the_last_branch_that_has_a_commit_stays(room: Room, repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "short")
    start = commit(repository, "soon gone")
    room.prepare("run1", repository=repository)
    git(repository, "checkout", "--quiet", "main")
    git(repository, "branch", "-D", "short")
    room.release("run1")
    assert the_one(room).removed
    assert tip(repository, "paddock/run1") == start


def test_commits_of_a_detached_head(room: Room, path: Path) -> None:
    git(path, "checkout", "--quiet", "--detach")
    commit(path, "nowhere")
    commit(path, "else")
    assert is_kept(room, path, "2 commits on no branch, tag or remote")


def test_a_detached_head_whose_commits_are_tagged_may_go(
    room: Room, path: Path, repository: Path
) -> None:
    git(path, "checkout", "--quiet", "--detach")
    done = commit(path, "tagged")
    git(path, "tag", "mark")
    assert the_one(room).removed
    assert tip(repository, "mark") == done


def test_commits_that_were_amended_away_get_a_reference(
    room: Room, path: Path, repository: Path
) -> None:
    first = commit(path, "first try")
    git(path, "commit", "--quiet", "--amend", "--message=second try")
    assert the_one(room).removed
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "--quiet", "--prune=now")
    assert git(repository, "log", "-1", "--format=%s", first) == "first try"
    assert first in git(repository, "for-each-ref", "refs/paddock/kept/run1")


def test_commits_that_were_reset_away_get_a_reference(
    room: Room, path: Path, repository: Path
) -> None:
    commit(path, "one")
    lost = commit(path, "two")
    git(path, "reset", "--quiet", "--hard", "HEAD~2")
    assert the_one(room).removed
    git(repository, "reflog", "expire", "--expire=now", "--all")
    git(repository, "gc", "--quiet", "--prune=now")
    assert git(repository, "rev-list", "--count", f"main..{lost}") == "2"


def test_references_of_the_one_worktree_get_a_better_one(
    room: Room, path: Path, repository: Path
) -> None:
    lost = commit(path, "noted")
    git(path, "update-ref", "refs/worktree/note", lost)
    git(path, "reset", "--quiet", "--hard", "HEAD~1")
    git(path, "reflog", "expire", "--expire=now", "--all")
    (repository / ".git/worktrees/run1/ORIG_HEAD").unlink()
    assert the_one(room).removed
    assert lost in git(repository, "for-each-ref", "refs/paddock/kept/run1")


def test_a_stash_that_was_made_there(room: Room, path: Path) -> None:
    write(path, {"readme.txt": "later\n"})
    git(path, "stash", "--quiet")
    assert is_kept(room, path, "stashed here: WIP on paddock/run1")


def test_a_stash_that_was_made_on_another_branch_there(room: Room, path: Path) -> None:
    git(path, "checkout", "--quiet", "-b", "aside")
    write(path, {"readme.txt": "later\n"})
    git(path, "stash", "push", "--quiet", "--message=words: of its own")
    assert is_kept(room, path, "On aside: words: of its own")


def test_a_stash_without_a_branch(room: Room, path: Path) -> None:
    git(path, "checkout", "--quiet", "--detach")
    write(path, {"readme.txt": "later\n"})
    git(path, "stash", "--quiet")
    assert is_kept(room, path, "(no branch)")


def test_a_stash_of_the_users_keeps_nothing(room: Room, path: Path, repository: Path) -> None:
    write(repository, {"readme.txt": "the user's\n"})
    git(repository, "stash", "--quiet")
    assert the_one(room).removed
    assert not path.exists()
    assert "WIP on main" in git(repository, "stash", "list")


# -- something half done --------------------------------------------------------------------


def conflicting(path: Path) -> None:
    git(path, "checkout", "--quiet", "-b", "other")
    commit(path, "theirs", {"readme.txt": "theirs\n"})
    git(path, "checkout", "--quiet", "paddock/run1")
    commit(path, "ours", {"readme.txt": "ours\n"})


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("merge", "other"), "a merge is not finished"),
        (("rebase", "other"), "a rebase is not finished"),
        (("cherry-pick", "other"), "a cherry-pick is not finished"),
        (("revert", "--no-edit", "HEAD~1"), ""),
    ],
)
def test_an_operation_that_stopped_at_a_conflict(
    room: Room, path: Path, words: tuple[str, ...], said: str
) -> None:
    conflicting(path)
    if words[0] == "revert":
        commit(path, "again", {"readme.txt": "again\n"})
        said = "a revert is not finished"
    git(path, *words, check=False)
    assert is_kept(room, path, said)


def test_a_bisect(room: Room, path: Path) -> None:
    for name in "abc":
        commit(path, name)
    git(path, "bisect", "start", "HEAD", "HEAD~3")
    assert is_kept(room, path, "a bisect is not finished")


def test_patches_that_are_being_applied(room: Room, path: Path) -> None:
    conflicting(path)
    patch = git(path, "format-patch", "--stdout", "-1", "other")
    git(path, "am", given=patch.encode() + b"\n", check=False)
    assert is_kept(room, path, "a rebase or am is not finished")


def test_a_lock(room: Room, path: Path) -> None:
    git(path, "worktree", "lock", "--reason", "I am on holiday", str(path))
    assert is_kept(room, path, "it is locked: I am on holiday")
    git(path, "worktree", "unlock", str(path))


# -- somebody is there ----------------------------------------------------------------------


def test_a_process_that_stands_in_it(room: Room, path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], cwd=path / "src") as process:
        try:
            assert is_kept(room, path, f"pid {process.pid} (sleep) is at work in it")
        finally:
            ended(process)
    assert the_one(room).removed


def test_a_process_that_has_a_file_of_it_open(room: Room, path: Path) -> None:
    with (path / "readme.txt").open("rb") as file:
        process = subprocess.Popen(["sleep", "60"], cwd="/", stdin=file)
    try:
        assert is_kept(room, path, f"pid {process.pid} (sleep)")
    finally:
        ended(process)


def test_a_process_in_a_container(room: Room, path: Path, tmp_path: Path) -> None:
    """It knows the directory by another path; here a mount of its own namespace."""
    inside = tmp_path / "inside"
    inside.mkdir()
    script = f"mount --bind '{path}' '{inside}' && cd '{inside}/src' && exec sleep 60"
    process = subprocess.Popen(["unshare", "--mount", "sh", "-c", script])
    try:
        until(
            lambda: (
                process.poll() is not None
                or Path(f"/proc/{process.pid}/comm").read_text() == "sleep\n"
            )
        )
        if process.poll() is not None:
            pytest.skip("no right to make a mount namespace")
        assert is_kept(room, path, f"pid {process.pid} (sleep)")
    finally:
        ended(process)


def test_a_run_that_has_it(room: Room, repository: Path) -> None:
    path = room.prepare("run1", repository=repository)
    assert is_kept(room, path, "run run1 has it")


def test_whoever_slips_in_between_look_and_removal_is_seen(
    room: Room, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = clearing.judge

    def judge_and_let_in(spot: clearing.Spot) -> object:
        found = judge(spot)
        write(path, {"late.txt": "x\n"})
        return found

    monkeypatch.setattr(clearing, "judge", judge_and_let_in)
    assert not is_kept(room, path, "something began in it while it was looked at: late.txt")
    assert (path / "late.txt").read_text() == "x\n"
    assert git(path, "status", "--porcelain") == "?? late.txt"
