"""`paddock workspace`: a table of what is there, what is kept and why, what went."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from paddock.client import Refused
from paddock.wire.views import ClearedView, WorkspaceView
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_daemon import FakeDaemon

THERE = WorkspaceView(
    run="r0001",
    name="review",
    path="/w/shop/r0001",
    repository="/work/shop",
    branch="paddock/r0001",
    state="idle",
    idle_s=90.0,
)
SLOT = WorkspaceView(run=None, repository="/work/shop", branch="", state="slot", idle_s=1.0)
KEPT = ClearedView(path="/w/r0001", run="r0001", done="kept", because="not committed: a.txt")
GONE = ClearedView(path="/w/r0002", run="r0002", name="b", done="removed", because="all of it is")
COULD = ClearedView(path="/w/r0003", run="r0003", done="would_remove", because="all of it is")


SHORT = ["run", "name", "branch", "state", "idle", "holds"]


def test_ls_is_a_table_with_slots(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.workspaces = [THERE, SLOT]
    head, first, second = paddock("workspace", "ls").out.splitlines()
    assert head.split() == [*SHORT, "repository", "workspace"]
    assert first.split()[:4] == ["r0001", "review", "paddock/r0001", "idle"]
    assert "/w/shop/r0001" in first
    assert second.split()[:4] == ["-", "-", "-", "slot"]
    assert [view["run"] for view in paddock("workspace", "ls", "--json").json] == ["r0001", None]


def test_ls_shows_paths_whole_or_not_at_all(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = f"/{'w' * 60}"
    holds = {"commits": 3, "unmerged": 2, "base": "main", "uncommitted": 1}
    daemon.workspaces = [replace(THERE, path=long, repository=long, **holds)]
    monkeypatch.setattr("paddock.cli.workspace.terminal_width", lambda: 100)
    head, line = paddock("workspace", "ls").out.splitlines()
    assert head.split() == SHORT and len(line) <= 100
    assert "paddock/r0001" in line and line.endswith(
        "3 commits, 2 not in main; 1 file not committed"
    )
    assert paddock("workspace", "ls", "--long").out.count(long) == 2
    monkeypatch.setattr("paddock.cli.workspace.terminal_width", lambda: 300)
    assert paddock("workspace", "ls").out.count(long) == 2
    monkeypatch.setattr("paddock.cli.workspace.terminal_width", lambda: 40)
    assert all(len(line) <= 40 for line in paddock("workspace", "ls").out.splitlines())


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, "-"),
        ({"commits": 0, "unmerged": 0, "uncommitted": 0}, "nothing"),
        ({"commits": 1, "unmerged": 0, "base": "main"}, "1 commit, all in main"),
        (
            {"commits": 3, "unmerged": 2, "base": "dev", "uncommitted": 1},
            "3 commits, 2 not in dev; 1 file not committed",
        ),
        ({"commits": 2, "uncommitted": 4}, "2 commits; 4 files not committed"),
    ],
)
def test_ls_says_what_each_holds(
    paddock: Paddock, daemon: FakeDaemon, facts: dict[str, Any], said: str
) -> None:
    daemon.workspaces = [replace(THERE, **facts)]
    _, line = paddock("workspace", "ls").out.splitlines()
    assert f" {said} " in line


def test_rm_takes_runs_or_what_is_merged(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.cleared = [COULD]
    called = paddock("workspace", "rm", "--merged", "--dry-run")
    assert called.err == "paddock: 1 would be removed, 0 kept\n"
    assert (daemon.merged, daemon.dry_runs) == ([True], [True])
    for words in ([], ["--merged", "r0001"], ["--dry-run", "r0001"]):
        assert paddock("workspace", "rm", *words).code == 2


def test_none_is_said_and_is_an_empty_list(paddock: Paddock) -> None:
    called = paddock("workspace", "ls")
    assert (called.code, called.out, called.err) == (0, "", "paddock: no workspaces\n")
    assert paddock("workspace", "ls", "--json").json == []
    assert paddock("workspace", "gc").err == "paddock: 0 removed, 0 kept\n"


def test_check_says_what_keeps_each(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.cleared = [KEPT, COULD]
    called = paddock("workspace", "check")
    assert "not committed: a.txt" in called.out and "would be removed" in called.out
    assert called.err == "paddock: 1 would be removed, 1 kept\n"
    assert daemon.dry_runs == []


def test_gc_says_what_went_and_what_stays(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.cleared = [KEPT, GONE]
    called = paddock("workspace", "gc")
    assert "kept" in called.out and "/w/r0002" in called.out
    assert called.err == "paddock: 1 removed, 1 kept\n"
    assert paddock("workspace", "gc", "--dry-run", "--json").json[1]["done"] == "removed"
    assert daemon.dry_runs == [False, True]


def test_what_agents_called_their_files_cannot_act_on_a_terminal(
    paddock: Paddock, daemon: FakeDaemon
) -> None:
    daemon.cleared = [ClearedView(path="/w", done="kept", because="not committed: \x1b[2Jx")]
    assert "\x1b" not in paddock("workspace", "check").out


@pytest.mark.parametrize("word", ["ls", "check", "gc"])
def test_a_daemon_without_workspaces_is_a_refusal(
    paddock: Paddock, daemon: FakeDaemon, word: str
) -> None:
    daemon.fails_with = Refused("this daemon has no workspaces", "refused")
    called = paddock("workspace", word)
    assert (called.code, called.err) == (3, "paddock: this daemon has no workspaces\n")
