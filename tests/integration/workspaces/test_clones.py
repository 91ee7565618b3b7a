"""Clones that paddock keeps, by address: whole, shallow, without files, sparse."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from paddock.workspaces.clones import address_of
from paddock.workspaces.errors import WorkspaceError
from paddock.workspaces.progress import Progress
from paddock.workspaces.room import Room
from paddock.workspaces.size_rules import Answer
from paddock.workspaces.sizes import Size
from paddock.workspaces.sources import Manner
from paddock.workspaces.strategy import Strategy, choose
from tests.kit.repositories import a_repository, commit, git, monorepo, tip

WHOLE = Manner(strategy=Strategy(own_clone=True, because="a test"))


@pytest.fixture
def address(repository: Path) -> str:
    for name in ("second", "third"):
        commit(repository, name)
    git(repository, "branch", "other", "HEAD~1")
    git(repository, "config", "uploadpack.allowFilter", "true")
    return f"file://{repository}"


def clone_of(path: Path) -> Path:
    return path.parent / ".clone"


def test_a_run_works_in_a_worktree_of_our_clone(room: Room, address: str, repository: Path) -> None:
    path = room.prepare("run1", repository=address, manner=WHOLE)
    assert git(path, "branch", "--show-current") == "paddock/run1"
    assert tip(path) == tip(repository)
    assert git(path, "rev-parse", "origin/other") == tip(repository, "other")
    assert git(path, "rev-list", "--count", "HEAD") == "3"
    assert git(clone_of(path), "branch", "--list") == "+ paddock/run1"
    assert git(repository, "branch", "--list", "paddock/*") == ""


def test_the_clone_is_shared_and_brought_up_to_date(
    room: Room, address: str, repository: Path
) -> None:
    one = room.prepare("run1", repository=address, manner=WHOLE)
    commit(repository, "fourth")
    two = room.prepare("run2", repository=address, manner=WHOLE)
    assert clone_of(one) == clone_of(two)
    assert tip(two) == tip(repository) != tip(one)


def test_a_branch_of_the_other_side(room: Room, address: str, repository: Path) -> None:
    path = room.prepare("run1", repository=address, branch="other", manner=WHOLE)
    assert tip(path) == tip(repository, "other")


def test_shallow_has_one_commit_of_one_branch(room: Room, address: str, repository: Path) -> None:
    manner = Manner(strategy=choose(local=False, size=Size(10**9)))
    path = room.prepare("run1", repository=address, manner=manner)
    assert git(path, "rev-list", "--count", "HEAD") == "1"
    assert git(path, "for-each-ref", "--format=%(refname)", "refs/remotes/origin/other") == ""
    commit(repository, "fourth")
    later = room.prepare("run2", repository=address, manner=manner)
    assert tip(later) == tip(repository)
    assert git(later, "merge-base", "HEAD", "paddock/run1") == tip(path)
    other = room.prepare("run3", repository=address, branch="other", manner=manner)
    assert tip(other) == tip(repository, "other")


def test_shallow_also_of_a_tag(room: Room, address: str, repository: Path) -> None:
    git(repository, "tag", "v1", "HEAD~1")
    manner = Manner(strategy=choose(local=False, size=Size(10**9)))
    path = room.prepare("run1", repository=address, branch="v1", manner=manner)
    assert tip(path) == tip(repository, "v1")
    assert git(path, "rev-list", "--count", "HEAD") == "1"


def test_a_shallow_clone_of_one_on_this_machine(room: Room, address: str, repository: Path) -> None:
    assert address
    manner = Manner(strategy=choose(local=True, answer=Answer.SHALLOW))
    path = room.prepare("run1", repository=repository, manner=manner)
    assert git(path, "rev-list", "--count", "HEAD") == "1"
    assert git(repository, "worktree", "list").count("\n") == 0


def test_without_files_all_commits_come_and_files_when_needed(
    room: Room, address: str, repository: Path
) -> None:
    old = git(repository, "rev-parse", "HEAD:readme.txt")
    commit(repository, "newer", {"readme.txt": "newer\n"})
    path = room.prepare("run1", repository=address)
    assert git(path, "rev-list", "--count", "HEAD") == "4"
    missing = git(path, "rev-list", "--objects", "--missing=print", "HEAD")
    assert f"?{old}" in missing
    assert (path / "readme.txt").read_text() == "newer\n"
    assert git(path, "show", "HEAD~1:readme.txt") == "one"


def test_sparse_checks_out_what_was_asked_for(room: Room, tmp_path: Path) -> None:
    source = monorepo(tmp_path / "mono", 4_000_000)
    before = (source / ".git/config").read_bytes()
    manner = Manner(strategy=choose(local=True, sparse=("projects/project03", "tools")))
    path = room.prepare("run1", repository=source, manner=manner)
    assert [one.name for one in (path / "projects").iterdir()] == ["project03"]
    assert (path / "tools/build.txt").exists() and (path / "readme.txt").exists()
    assert git(path, "status", "--porcelain") == ""
    assert (source / ".git/config").read_bytes() == before
    other = Manner(strategy=choose(local=True, sparse=("projects/project05",)))
    second = room.prepare("run2", repository=source, manner=other)
    assert [one.name for one in (second / "projects").iterdir()] == ["project05"]
    assert [one.name for one in (path / "projects").iterdir()] == ["project03"]


@pytest.mark.parametrize("name", ["projcts/project03", "readme.txt"])
def test_sparse_wants_directories_that_are_there(room: Room, tmp_path: Path, name: str) -> None:
    source = monorepo(tmp_path / "mono", 4_000_000)
    manner = Manner(strategy=choose(local=True, sparse=("tools", name)))
    with pytest.raises(WorkspaceError, match=f"has no directory '{name}'"):
        room.prepare("run1", repository=source, manner=manner)
    assert room.records() == []


def test_work_in_a_sparse_checkout_is_saved_told_and_removed_like_any(
    room: Room, tmp_path: Path
) -> None:
    source = monorepo(tmp_path / "mono", 4_000_000)
    manner = Manner(strategy=choose(local=True, sparse=("projects/project03",)))
    path = room.prepare("run1", repository=source, manner=manner)
    commit(path, "inside", {"projects/project03/new.txt": "new\n"})
    (path / "projects/project03/more.txt").write_text("more\n")
    assert room.diff("run1").text.count(b"diff --git") == 2
    saved = room.save("run1", because="a timeout")
    assert saved is not None and saved.files == ("projects/project03/more.txt",)
    room.release("run1")
    judged, clone = room.gc()
    assert judged.removed, judged.because
    assert not clone.removed
    assert tip(clone_of(path), "paddock/run1") == saved.commit


def test_progress_is_told(room: Room, tmp_path: Path) -> None:
    source = monorepo(tmp_path / "mono", 4_000_000, checkout=False)
    told: list[Progress] = []
    manner = Manner(strategy=WHOLE.strategy, tell=told.append)
    room.prepare("run1", repository=address_of(source), manner=manner)
    assert {"Receiving objects"} <= {one.phase for one in told}
    assert told[-1].percent == 100


def test_many_at_once_make_one_clone_and_fetch_once(
    top: Path, address: str, repository: Path
) -> None:
    room = Room(top, most=20)
    with ThreadPoolExecutor(8) as pool:
        runs = [f"run{number}" for number in range(8)]
        paths = list(
            pool.map(lambda run: room.prepare(run, repository=address, manner=WHOLE), runs)
        )
    assert len({clone_of(path) for path in paths}) == 1
    assert {tip(path) for path in paths} == {tip(repository)}


def test_a_clone_that_was_killed_half_way_is_made_anew(room: Room, address: str, top: Path) -> None:
    path = room.prepare("run1", repository=address, manner=WHOLE)
    left = path.parent / ".cloning-123"
    clone_of(path).rename(left)
    before = time.time()
    room.prepare("run2", repository=address, manner=WHOLE)
    assert clone_of(path).stat().st_ctime >= before
    assert not left.exists() and top.is_dir()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("file:///nowhere/nothing", "does not appear to be a git repository"),
        ("http://127.0.0.1:9/x", r"unable to access 'http://127\.0\.0\.1:9/x/'"),
        ("--upload-pack=evil:x", "fatal"),
        ("https://user@/x", "fatal"),
    ],
)
def test_an_address_that_leads_nowhere_is_an_error_and_leaves_nothing(
    room: Room, top: Path, address: str, said: str
) -> None:
    with pytest.raises(WorkspaceError, match=said):
        room.prepare("run1", repository=address)
    assert list(top.glob("*/.cloning-*")) == []
    assert room.records() == []


def test_an_empty_repository_afar_is_said(room: Room, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "--quiet", "--bare")
    with pytest.raises(WorkspaceError, match="has no commit yet"):
        room.prepare("run1", repository=f"file://{empty}")


def test_paths_with_difficult_names_have_addresses(room: Room, tmp_path: Path) -> None:
    source = a_repository(tmp_path / "a b%20c é")
    manner = Manner(strategy=choose(local=True, answer=Answer.SHALLOW))
    assert tip(room.prepare("run1", repository=source, manner=manner)) == tip(source)


def test_a_clone_that_nobody_uses_goes(room: Room, address: str) -> None:
    path = room.prepare("run1", repository=address, manner=WHOLE)
    (_, used) = room.gc()
    assert used.because == "1 workspace comes from it"
    room.release("run1")
    assert [one.removed for one in room.gc(dry_run=True)] == [False, False]
    assert [one.removed for one in room.gc()] == [True, True]
    assert not clone_of(path).exists()
    assert room.prepare("run1", repository=address, manner=WHOLE).is_dir()


def test_a_clone_with_commits_that_are_only_there_stays(room: Room, address: str) -> None:
    path = room.prepare("run1", repository=address, manner=WHOLE)
    commit(path, "one")
    done = commit(path, "two")
    room.release("run1")
    gone, kept = room.gc()
    assert gone.removed and not kept.removed
    assert kept.because == "2 commits are only in it, on paddock/run1; push them"
    assert tip(room.prepare("run1", repository=address, manner=WHOLE)) == done
    git(path, "push", "--quiet", "origin", "paddock/run1")
    room.release("run1")
    assert [one.removed for one in room.gc()] == [True, True]


def test_a_clone_is_not_idle_before_its_days_are_over(top: Path, address: str) -> None:
    room = Room(top, idle_days=7)
    path = room.prepare("run1", repository=address, manner=WHOLE)
    (path.parent / ".run1.json").unlink()
    (stranger, clone) = room.gc()
    assert not stranger.removed
    assert not clone.removed and "7 d are wanted" in clone.because


def test_a_later_attempt_needs_no_network(room: Room, address: str, repository: Path) -> None:
    path = room.prepare("run1", repository=address, manner=WHOLE)
    repository.rename(repository.parent / "unreachable")
    assert room.prepare("run1", repository=address, manner=WHOLE) == path
    with pytest.raises(WorkspaceError, match="does not appear"):
        room.prepare("run2", repository=address, manner=WHOLE)
