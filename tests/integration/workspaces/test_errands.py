"""Work that is broken off: its git ends with all it started, and nothing half-made stays."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paddock.workspaces.errands import Errand, current, having, in_peace
from paddock.workspaces.errors import BrokenOff, GitTimedOut
from paddock.workspaces.git import Git
from paddock.workspaces.locks import hold
from paddock.workspaces.removal import delete_tree, sweep
from paddock.workspaces.room import Room
from tests.kit.repositories import commit, git, write
from tests.kit.slow_git import SlowGit
from tests.kit.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOON_S = 10.0  # far below any time-out of git's, and far above what a busy machine needs


@contextmanager
def doing(work: Callable[[], Any], errand: Errand | None = None) -> Iterator[Future[Any]]:
    """In a thread, as the daemon does."""

    def whole() -> Any:
        with (errand or Errand()).under_way():
            return work()

    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(whole)


def is_broken_off(done: Future[Any]) -> bool:
    return isinstance(done.exception(SOON_S), BrokenOff)


# -- what a thread may wait for -----------------------------------------------------------------


def test_git_ends_with_all_that_it_started(tmp_path: Path) -> None:
    slow, errand = SlowGit(tmp_path, word="version"), Errand()
    with slow.used(), doing(lambda: Git(directory=tmp_path).out("version"), errand) as done:
        slow.wait()
        errand.end()
        assert is_broken_off(done)
    assert slow.ended


def test_one_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    slow, errand = SlowGit(tmp_path, word="version", deaf=True), Errand()
    with slow.used(), doing(lambda: Git(directory=tmp_path).out("version"), errand) as done:
        slow.wait()
        errand.end()
        assert is_broken_off(done)
    until(lambda: slow.ended)


def test_nothing_begins_for_one_that_is_over(tmp_path: Path) -> None:
    errand = Errand()
    errand.end()
    with errand.under_way(), pytest.raises(BrokenOff):
        Git(directory=tmp_path).out("version")
    assert Git(directory=tmp_path).out("version")


def test_one_that_waits_for_a_lock_stops_waiting(tmp_path: Path) -> None:
    errand, lock = Errand(), tmp_path / "lock"

    def wait() -> None:
        with hold(lock, who="a test", wait_s=60):
            pass

    with hold(lock, who="another", wait_s=0), doing(wait, errand) as done:
        time.sleep(0.05)
        assert not done.done()
        errand.end()
        assert is_broken_off(done)


def test_one_that_waits_for_its_turn_to_write_stops_waiting() -> None:
    errand, turns = Errand(), threading.BoundedSemaphore(1)

    def wait() -> None:
        with having(turns):
            pass

    with turns, doing(wait, errand) as done:
        time.sleep(0.05)
        errand.end()
        assert is_broken_off(done)
    assert turns.acquire(blocking=False), "and has none"


def test_a_part_ends_with_the_whole_and_not_the_other_way() -> None:
    whole = Errand()
    part, other = Errand(whole), Errand(whole)
    part.end()
    assert part.is_over and not other.is_over and not whole.is_over
    whole.end()
    assert other.is_over


def test_putting_right_goes_on_until_the_whole_ends() -> None:
    whole = Errand()
    part = Errand(whole)
    with whole.under_way(), part.under_way():
        assert current() is part
        part.end()
        with in_peace():
            current().check()
            whole.end()
            with pytest.raises(BrokenOff):
                current().check()


def test_a_deletion_that_is_broken_off_is_gone_on_with(tmp_path: Path) -> None:
    write(tmp_path, {"tree/a/b": "1", "tree/c": "2"})
    errand = Errand()
    errand.end()
    with errand.under_way(), pytest.raises(BrokenOff):
        delete_tree(tmp_path, tmp_path / "tree")
    assert not (tmp_path / "tree").exists() and list(tmp_path.glob(".deleting-*"))
    assert sweep(tmp_path, tmp_path) == []
    assert list(tmp_path.iterdir()) == [tmp_path / "home"]


def test_a_git_that_takes_too_long_is_first_asked_to_end(tmp_path: Path) -> None:
    """Killed at once it would leave its lock files in the user's repository."""
    asked = tmp_path / "asked"
    (tmp_path / "bin").mkdir()
    script = f"#!/bin/sh\ntrap 'touch {asked}; exit 1' TERM\nsleep 300 & wait\n"
    (tmp_path / "bin/git").write_text(script, encoding="ascii")
    (tmp_path / "bin/git").chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
        with pytest.raises(GitTimedOut):
            Git(directory=tmp_path, timeout_s=0.5).out("version")
    assert asked.exists()


# -- making -------------------------------------------------------------------------------------


def traces(top: Path, repository: Path) -> list[str]:
    """Whatever there could be left of a workspace."""
    found = [path.name for path in top.glob("*/*") if path.name not in (".slots", ".gone", ".lock")]
    found += [path.name for path in top.glob("*/.slots/*")]
    found += git(repository, "worktree", "list", "--porcelain").split("\n\n")[1:]
    found += git(repository, "branch", "--list", "paddock/*").split()
    return [name for name in found if not name.endswith(".lock")]


@pytest.mark.parametrize("word", ["worktree", "read-tree"])
def test_a_workspace_that_nobody_wants_any_more_leaves_nothing(
    room: Room, top: Path, repository: Path, tmp_path: Path, word: str
) -> None:
    slow, errand = SlowGit(tmp_path, word=word), room.errand()
    with slow.used(), doing(lambda: room.prepare("a", repository=repository), errand) as done:
        slow.wait()
        errand.end()
        assert is_broken_off(done) or word == "worktree"
    until(lambda: slow.ended)
    assert traces(top, repository) == []
    assert room.prepare("a", repository=repository).is_dir(), "and it can be made again"


def test_a_clone_that_nobody_wants_any_more_leaves_nothing(
    room: Room, top: Path, repository: Path, tmp_path: Path
) -> None:
    slow, errand = SlowGit(tmp_path, word="fetch"), room.errand()
    address = f"file://{repository}"
    with slow.used(), doing(lambda: room.prepare("a", repository=address), errand) as done:
        slow.wait()
        errand.end()
        assert is_broken_off(done)
    assert slow.ended and traces(top, repository) == []
    assert (room.prepare("a", repository=address) / "readme.txt").is_file()


def test_a_slot_that_is_just_being_handed_over_leaves_nothing(
    room: Room, top: Path, repository: Path, tmp_path: Path
) -> None:
    room.refill(repository, want=1)
    slow, errand = SlowGit(tmp_path, word="symbolic-ref"), room.errand()
    with slow.used(), doing(lambda: room.prepare("a", repository=repository), errand) as done:
        slow.wait()
        errand.end()
        assert is_broken_off(done)
    assert slow.ended and traces(top, repository) == []


def test_at_the_end_of_all_what_is_half_made_is_left_for_the_next(
    room: Room, top: Path, repository: Path, tmp_path: Path
) -> None:
    slow = SlowGit(tmp_path, word="read-tree")
    with slow.used(), doing(lambda: room.prepare("a", repository=repository)) as done:
        slow.wait()
        room.end()
        assert is_broken_off(done)
    assert slow.ended
    Room(top).finish()
    assert traces(top, repository) == []


# -- removing -----------------------------------------------------------------------------------


def steps_of_a_gc(directory: Path, room: Room) -> int:
    """How many commands of git it takes."""
    slow = SlowGit(directory, word="*", passed=1000)
    with slow.used():
        assert [judged.removed for judged in room.gc()] == [True]
    return len(list((directory / "stays").iterdir()))


def test_a_gc_may_be_broken_off_anywhere_and_is_gone_on_with(
    top: Path, repository: Path, tmp_path: Path
) -> None:
    def a_workspace() -> Room:
        fresh = Room(top, idle_days=0)
        path = fresh.prepare("a", repository=repository)
        commit(path, "work", {"work.txt": "work\n"})
        git(path, "commit", "--amend", "--quiet", "--message=amended")  # one is only in the log
        fresh.release("a")
        return fresh

    steps = steps_of_a_gc(tmp_path / "counted", a_workspace())
    assert steps > 10
    for step in sorted({*range(0, steps, 3), *range(steps - 8, steps)}):  # the last ones remove
        git(repository, "branch", "-D", "paddock/a")
        for ref in git(repository, "for-each-ref", "--format=%(refname)", "refs/paddock").split():
            git(repository, "update-ref", "-d", ref)
        room, slow = a_workspace(), SlowGit(tmp_path / str(step), word="*", passed=step)
        with slow.used(), doing(room.gc) as done:
            slow.wait()
            room.end()
            assert is_broken_off(done), f"at {step}"
        after = Room(top, idle_days=0)
        after.finish()
        assert [judged.removed for judged in after.gc()] in ([True], []), f"at {step}"
        assert traces(top, repository) == ["paddock/a"], f"at {step}"
        assert git(repository, "show", "paddock/a:work.txt") == "work", f"at {step}"
        kept = git(repository, "for-each-ref", "--format=%(refname)", "refs/paddock/kept")
        assert len(kept.split()) == 1, f"at {step}: the commit that was amended"


def test_work_that_is_just_being_saved_is_still_in_the_files(
    room: Room, top: Path, repository: Path, tmp_path: Path
) -> None:
    path = room.prepare("a", repository=repository)
    write(path, {"half.txt": "half\n"})
    slow = SlowGit(tmp_path, word="commit-tree")
    with slow.used(), doing(lambda: room.save("a", because="a test")) as done:
        slow.wait()
        room.end()
        assert is_broken_off(done)
    assert (path / "half.txt").read_text(encoding="utf-8") == "half\n"
    saved = Room(top).save("a", because="a test")
    assert saved is not None and saved.files == ("half.txt",)
