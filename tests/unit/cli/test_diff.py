"""`paddock diff`: a patch as it is for programs, harmless and coloured for people, or counted."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from paddock.cli.diff_stat import stat_of
from paddock.cli.main import main
from paddock.client import NotFound
from paddock.wire.views import DiffView
from tests.kit.repositories import a_repository, git, write
from tests.unit.cli.conftest import Paddock
from tests.unit.cli.fake_daemon import FakeDaemon

PATCH = """\
diff --git a/a.txt b/a.txt
index 1..2 100644
--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 same
--- a comment of SQL
+++ now in C
\tx
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_into_a_pipe_goes_the_patch_as_it_is(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    daemon.patch = DiffView(text=PATCH, path="/w/r0001", branch="paddock/r0001")
    called = paddock("diff", "a")
    assert (called.code, called.out) == (0, PATCH)
    assert called.err == "paddock: its workspace is /w/r0001, on the branch paddock/r0001\n"


def test_bytes_that_are_no_text_come_through(
    daemon: FakeDaemon, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    daemon.add("a")
    daemon.patch = DiffView(text="+gr\ufffd\n", raw=b"+gr\xf6\n")
    assert main(["diff", "a"], door=daemon.door) == 0
    assert capsysbinary.readouterr().out == b"+gr\xf6\n"


def test_on_a_terminal_it_has_colours_and_nothing_acts(
    paddock: Paddock, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    daemon.add("a")
    daemon.patch = DiffView(text=PATCH + "+\x1b]0;title\x07\n")
    paddock("diff", "a")
    lines = screen.getvalue().split("\n")
    assert lines[0] == "\x1b[1mdiff --git a/a.txt b/a.txt\x1b[0m"
    assert lines[6] == "\x1b[31m--- a comment of SQL\x1b[0m"  # a removed line, and no head
    assert lines[8] == "\tx"
    assert lines[9] == "\x1b[32m+\\x1b]0;title\\x07\x1b[0m"


def test_a_cut_one_and_an_empty_one_are_said(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    daemon.patch = DiffView(text=PATCH, cut=True, path="/w/r0001")
    assert "only the beginning" in paddock("diff", "a").err
    daemon.patch = DiffView(text="", path="/w/r0001")
    called = paddock("diff", "a")
    assert called.out == "" and called.err.startswith("paddock: it changed nothing\n")
    daemon.patch = DiffView(text="")
    assert "its workspace is gone, and nothing was committed" in paddock("diff", "a").err
    daemon.patch = DiffView(text=PATCH, branch="paddock/r0001")
    told = "paddock: its workspace is gone; its work is on the branch paddock/r0001\n"
    assert paddock("diff", "a").err == told


def test_json_is_the_whole_answer(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    daemon.patch = DiffView(text=PATCH, path="/w/r0001")
    found = paddock("diff", "--json", "a").json
    assert (found["text"], found["cut"], found["path"]) == (PATCH, False, "/w/r0001")


def test_a_run_without_a_workspace_is_not_found(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.fails_with = NotFound("run r0001 has no workspace", "not_found")
    assert paddock("diff", "a").code == 4


def test_the_stat_counts_files_and_lines(paddock: Paddock, daemon: FakeDaemon) -> None:
    daemon.add("a")
    daemon.patch = DiffView(text=PATCH)
    called = paddock("diff", "--stat", "a")
    assert called.out.splitlines() == [
        "file   added  removed",
        "a.txt      1        1",
        "1 file, 1 line added, 1 removed",
    ]
    assert paddock("diff", "--stat", "--json", "a").json == [
        {"name": "a.txt", "added": 1, "removed": 1, "binary": False}
    ]


def test_the_stat_says_what_git_says(tmp_path: Path) -> None:
    repository = a_repository(tmp_path / "r", {"one two.txt": "1\n2\n", "old.txt": "same\n" * 9})
    write(repository, {"one two.txt": "1\n-- 3\n+ 4\n", "ümlaut\t.txt": "x\n", "empty": ""})
    (repository / "picture").write_bytes(bytes(range(256)))
    git(repository, "mv", "old.txt", "new name.txt")
    git(repository, "add", "--all")
    text = git(repository, "diff", "--cached", "--find-renames", "HEAD") + "\n"
    counted = git(repository, "diff", "--cached", "--find-renames", "--numstat", "-z", "HEAD")
    words = counted.split("\0")
    found = {one.name: one for one in stat_of(text)}
    assert found.keys() == {"one two.txt", "ümlaut\t.txt", "empty", "picture", "new name.txt"}
    assert "2\t1\tone two.txt" in words
    assert (found["one two.txt"].added, found["one two.txt"].removed) == (2, 1)
    assert found["picture"].binary and not found["empty"].binary
    assert (found["new name.txt"].added, found["new name.txt"].removed) == (0, 0)
    assert found["ümlaut\t.txt"].added == 1
