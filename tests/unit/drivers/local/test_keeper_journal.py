"""The journal: what is written can be read, torn or not, and it does not grow for ever."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from paddock.drivers.local.keeper.journal import REWRITE_ABOVE_BYTES, Journal, read_journal

HEADER = {"keeper": {"pid": 1}}


class Kept:
    """A journal and the endings it is about."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = Journal(str(path), HEADER)
        self.endings: dict[str, dict[str, Any]] = {}

    def end(self, name: str, size: int = 10) -> None:
        self.endings[name] = {"attempt": name, "filler": "x" * size}
        self.journal.add(self.endings[name], lambda: list(self.endings.values()))

    def forget(self, name: str) -> None:
        del self.endings[name]
        self.journal.forgot(len(self.endings), lambda: list(self.endings.values()))

    def read(self) -> list[str]:
        header, *records = read_journal(str(self.path))
        assert header == HEADER
        return [record["attempt"] for record in records]


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "journal")


def test_there_may_be_none(tmp_path: Path) -> None:
    assert read_journal(str(tmp_path / "nothing")) == []


@pytest.mark.parametrize("kind", ["pipe", "link", "directory"])
def test_what_is_no_file_is_none(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "journal"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    assert read_journal(str(path)) == []


def test_a_pipe_where_it_is_written_anew_holds_nobody_up(kept: Kept) -> None:
    os.mkfifo(f"{kept.path}.new")
    kept.end("a")
    assert kept.read() == ["a"]


def test_endings_are_read_in_order(kept: Kept) -> None:
    for name in ("a", "b", "c"):
        kept.end(name)
    kept.journal.sync()
    assert kept.read() == ["a", "b", "c"]
    assert not kept.journal.unsynced
    kept.journal.close()


def test_a_torn_line_costs_only_itself(kept: Kept) -> None:
    kept.end("a")
    kept.end("b")
    kept.journal.close()
    kept.path.write_bytes(kept.path.read_bytes()[:-5])
    assert kept.read() == ["a"]


def test_it_stays_small_while_endings_come_and_are_forgotten(kept: Kept) -> None:
    kept.end("first")
    for number in range(3000):
        kept.end(f"a{number}", size=100)
        kept.forget(f"a{number}")
    assert kept.path.stat().st_size < REWRITE_ABOVE_BYTES + 4096
    assert kept.read()[0] == "first"
    kept.journal.close()


def test_what_could_not_be_written_is_written_when_it_can(kept: Kept) -> None:
    hindrance = kept.path.with_name("journal.new")
    hindrance.mkdir()
    kept.end("a")
    kept.end("b")
    assert read_journal(str(kept.path)) == []
    hindrance.rmdir()
    kept.end("c")
    assert kept.read() == ["a", "b", "c"]
    kept.journal.close()


def test_on_a_disk_that_is_nearly_full_what_was_written_before_is_not_lost(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept.journal.begin()
    for name in ("a", "b", "c"):
        kept.end(name)
    write = os.write

    def a_part(descriptor: int, data: bytes) -> int:
        return write(descriptor, data[:30])

    monkeypatch.setattr(os, "write", a_part)
    kept.end("d")
    kept.end("e")
    assert kept.read() == ["a", "b", "c"]
    assert not Path(f"{kept.path}.new").exists()
    monkeypatch.setattr(os, "write", write)
    kept.end("f")
    assert kept.read() == ["a", "b", "c", "d", "e", "f"]
