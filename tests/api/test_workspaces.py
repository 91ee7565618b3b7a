"""Workspaces over the API: what a run changed, which there are, what keeps them, what went."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.client import Client, NotFound, Refused
from paddock.workspaces.room import Room
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.repositories import a_repository, commit, git, write
from tests.kit.slow_git import SlowGit


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "shop")


@pytest.fixture
def room(desk: ServedDesk) -> Room:
    assert desk.room is not None
    return desk.room


def a_run(desk: ServedDesk, room: Room, repository: Path, name: str = "a") -> tuple[str, Path]:
    """One with a workspace, as the daemon would have made it."""
    [run] = desk.submit(an_agent(name)).runs
    return run.id, room.prepare(run.id, repository=repository)


# -- diff ---------------------------------------------------------------------------------------


def test_a_diff_has_commits_and_uncommitted_files(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    run, path = a_run(desk, room, repository)
    commit(path, "second", {"readme.txt": "two\n"})
    write(path, {"new.txt": "new\n"})
    found = client.diff("a")
    assert "-one\n+two\n" in found.text and "+++ b/new.txt" in found.text
    assert (found.cut, found.raw) == (False, None)
    assert (found.path, found.branch) == (str(path), f"paddock/{run}")
    assert git(path, "status", "--porcelain") == "?? new.txt"


def test_a_diff_of_what_is_no_utf8_has_its_very_bytes(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    _, path = a_run(desk, room, repository)
    (path / "latin.txt").write_bytes("größe\n".encode("latin-1"))
    found = client.diff("a")
    assert found.raw is not None and b"+gr\xf6\xdfe\n" in found.raw
    assert "+gr\ufffd\ufffde\n" in found.text


def test_a_diff_of_a_run_that_changed_nothing_is_empty(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    a_run(desk, room, repository)
    assert client.diff("a").text == ""


def test_a_diff_without_an_end_is_cut_at_a_line(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    _, path = a_run(desk, room, repository)
    (path / "long.txt").write_text("a line of some length\n" * 800_000, encoding="utf-8")
    found = client.diff("a")
    assert found.cut and found.text.endswith("+a line of some length\n")
    assert len(found.text) <= 16 << 20


def test_of_a_workspace_that_is_gone_the_diff_is_that_of_its_branch(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    run, path = a_run(desk, room, repository)
    commit(path, "second", {"readme.txt": "two\n"})
    room.release(run)
    assert [one.done for one in client.clear_workspaces()] == ["removed"]
    assert not path.exists()
    found = client.diff("a")
    assert "+two\n" in found.text and found.path is None
    assert found.branch == f"paddock/{run}"


def test_of_a_workspace_that_left_nothing_no_branch_is_named(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    run, _ = a_run(desk, room, repository)
    room.release(run)
    client.clear_workspaces()
    found = client.diff("a")
    assert (found.text, found.path, found.branch) == ("", None, None)


def test_a_run_without_a_workspace_has_no_diff(desk: ServedDesk, client: Client) -> None:
    desk.submit(an_agent("plain"))
    with pytest.raises(NotFound, match="has no workspace"):
        client.diff("plain")
    with pytest.raises(NotFound, match="there is no run 'nobody'"):
        client.diff("nobody")


# -- which there are ----------------------------------------------------------------------------


def test_workspaces_are_listed_with_their_runs(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    assert client.workspaces() == []
    run, path = a_run(desk, room, repository)
    [view] = client.workspaces()
    assert (view.run, view.name, view.path) == (run, "a", str(path))
    assert (view.repository, view.branch) == (str(repository), f"paddock/{run}")
    assert (view.state, view.idle_s) == ("taken", None)
    room.release(run)
    [view] = client.workspaces()
    assert view.state == "idle" and view.idle_s is not None and view.idle_s < 60


def test_slots_are_listed_without_a_run(client: Client, room: Room, repository: Path) -> None:
    room.refill(repository, want=1)
    [view] = client.workspaces()
    assert (view.run, view.name, view.state) == (None, None, "slot")


def test_one_whose_run_nobody_knows_is_listed_without_a_name(
    client: Client, room: Room, repository: Path
) -> None:
    room.prepare("longgone", repository=repository)
    [view] = client.workspaces()
    assert (view.run, view.name) == ("longgone", None)


# -- what may go --------------------------------------------------------------------------------


def test_a_check_says_what_keeps_each_and_removes_none(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    dirty, there = a_run(desk, room, repository, "dirty")
    write(there, {"unsaved.txt": "x\n"})
    clean, _ = a_run(desk, room, repository, "clean")
    a_run(desk, room, repository, "busy")
    room.release(dirty)
    room.release(clean)
    found = {view.name: view for view in client.check_workspaces()}
    assert found["dirty"].done == "kept" and "unsaved.txt" in found["dirty"].because
    assert found["clean"].done == "would_remove"
    assert found["busy"].done == "kept" and "has it" in found["busy"].because
    assert len(client.workspaces()) == 3


def test_a_check_looks_into_those_whose_time_has_not_come(tmp_path: Path, repository: Path) -> None:
    patient = Room(tmp_path / "state/workspaces", idle_days=7)
    with a_desk(tmp_path, room=patient) as desk, desk.client() as client:
        dirty, path = a_run(desk, patient, repository, "dirty")
        write(path, {"unsaved.txt": "x\n"})
        clean, _ = a_run(desk, patient, repository, "clean")
        patient.release(dirty)
        patient.release(clean)
        checked = {view.run: view for view in client.check_workspaces()}
        assert "unsaved.txt" in checked[dirty].because
        assert checked[clean].done == "kept" and "7 d are wanted" in checked[clean].because
        tried = {view.run: view.because for view in client.clear_workspaces(dry_run=True)}
        assert tried[dirty] == checked[dirty].because and "7 d are wanted" in tried[clean]
        done = {view.run: view.because for view in client.clear_workspaces()}
        assert done[dirty] == tried[dirty] and "7 d are wanted" in done[clean]


def test_gc_removes_what_may_go_and_says_why_the_rest_stays(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    dirty, there = a_run(desk, room, repository, "dirty")
    write(there, {"unsaved.txt": "x\n"})
    clean, gone = a_run(desk, room, repository, "clean")
    room.release(dirty)
    room.release(clean)
    tried = {view.run: view.done for view in client.clear_workspaces(dry_run=True)}
    assert tried == {dirty: "kept", clean: "would_remove"}
    assert gone.exists()
    done = {view.run: view for view in client.clear_workspaces()}
    assert done[clean].done == "removed" and done[clean].path == str(gone)
    assert done[dirty].done == "kept" and "unsaved.txt" in done[dirty].because
    assert there.exists() and not gone.exists()


def test_one_is_removed_by_hand_with_its_work_on_its_branch(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    dirty, path = a_run(desk, room, repository, "dirty")
    write(path, {"unsaved.txt": "x\n"})
    with pytest.raises(Refused, match="has it"):
        client.remove_workspace("dirty")
    room.release(dirty)
    view = client.remove_workspace("dirty")
    assert (view.done, view.path, path.exists()) == ("removed", str(path), False)
    assert "what it had not committed is" in view.because
    assert "+x" in client.diff("dirty").text
    with pytest.raises(NotFound, match="has no workspace"):
        client.remove_workspace("dirty")


def test_the_list_says_what_each_holds_and_what_is_merged_goes(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    paths = {}
    for name in ("merged", "open", "dirty", "gone", "empty"):
        run, path = a_run(desk, room, repository, name)
        paths[name] = path
        if name not in ("dirty", "empty"):
            commit(path, name)
        room.release(run)
    write(paths["dirty"], {"unsaved.txt": "x\n"})
    for name in ("merged", "gone"):
        git(repository, "merge", "--quiet", "-m", name, f"paddock/{paths[name].name}")
    client.remove_workspace("gone")
    found = {view.name: view for view in client.workspaces()}
    held = {n: (v.state, v.commits, v.unmerged, v.uncommitted) for n, v in found.items()}
    assert held == {
        "merged": ("idle", 1, 0, 0),
        "open": ("idle", 1, 1, 0),
        "dirty": ("idle", 0, 0, 1),
        "empty": ("idle", 0, 0, 0),
        "gone": ("gone", 1, 0, 0),
    }
    assert {view.base for view in found.values()} == {"main"} and found["gone"].path is None
    tried = {view.name: view.done for view in client.clear_workspaces(merged=True, dry_run=True)}
    done = {view.name: view for view in client.clear_workspaces(merged=True)}
    removed = {name for name, view in done.items() if view.done == "removed"}
    assert removed == {n for n, word in tried.items() if word == "would_remove"}
    assert removed == {"merged", "gone", "empty"}
    assert "1 of its commits are not in main" in done["open"].because
    assert "unsaved.txt" in done["dirty"].because
    left = git(repository, "branch", "--list", "paddock/*", "--format=%(refname:short)").split()
    assert sorted(left) == sorted(f"paddock/{paths[name].name}" for name in ("open", "dirty"))
    assert (paths["dirty"] / "unsaved.txt").exists() and not paths["merged"].exists()


def test_a_retry_first_saves_what_was_not_committed(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    [run] = desk.submit(an_agent("fails", "exit=3")).runs
    client.wait([run.id])
    path = room.prepare(run.id, repository=repository)
    write(path, {"half.txt": "half\n"})
    room.release(run.id)
    client.retry("fails", environment={})
    assert git(repository, "show", f"paddock/{run.id}:half.txt") == "half"


def test_a_repository_that_went_away_is_told_and_is_no_bug(
    desk: ServedDesk, client: Client, room: Room, repository: Path
) -> None:
    a_run(desk, room, repository)
    repository.rename(repository.with_name("elsewhere"))
    with pytest.raises(Refused, match=r"\w"):
        client.diff("a")
    [view] = client.check_workspaces()
    assert view.done == "kept"


def test_a_check_asks_git_once_about_each(
    desk: ServedDesk, client: Client, room: Room, repository: Path, tmp_path: Path
) -> None:
    dirty, there = a_run(desk, room, repository, "dirty")
    write(there, {"unsaved.txt": "x\n"})
    room.release(dirty)
    git_here = SlowGit(tmp_path / "counted", word="status", passed=1000)
    with git_here.used():
        assert [view.done for view in client.check_workspaces()] == ["kept"]
    assert len(list((tmp_path / "counted/stays").iterdir())) == 1
