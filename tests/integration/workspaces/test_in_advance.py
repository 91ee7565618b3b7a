"""Directories that are made in advance: new, empty, and never in anybody's way."""

from __future__ import annotations

import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.workspaces import in_advance
from paddock.workspaces.in_advance import FEW, PREFIX, InAdvance
from tests.kit.waiting import until


@pytest.fixture
def top(tmp_path: Path) -> Path:
    made = tmp_path / "top"
    made.mkdir()
    return made


@pytest.fixture
def ready(top: Path) -> Iterator[InAdvance]:
    made = InAdvance(top)
    yield made
    made.close()
    assert spares(top) == []


def spares(top: Path) -> list[Path]:
    return sorted(top.glob(f"{PREFIX}*"))


def begin(ready: InAdvance, top: Path) -> None:
    """Two that come one after the other: more are made for those that follow."""
    assert not ready.take(top / "one")
    ready.take(top / "two")
    until(lambda: len(spares(top)) >= FEW, within_s=30)


def test_nothing_is_made_for_one_alone(
    top: Path, ready: InAdvance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_advance, "OFTEN_S", 0.0)
    assert not ready.take(top / "one")
    assert not ready.take(top / "another")
    assert list(top.iterdir()) == []


def test_many_in_a_row_get_new_and_empty_ones(top: Path, ready: InAdvance) -> None:
    begin(ready, top)
    found = set()
    for number in range(10 * FEW):
        path = top / f"run-{number}"
        until(lambda path=path: ready.take(path), within_s=30)  # type: ignore[misc]
        assert stat.S_IMODE(path.stat().st_mode) == 0o700 and list(path.iterdir()) == []
        found.add(path.stat().st_ino)
    assert len(found) == 10 * FEW


@pytest.mark.parametrize("there", ["a file", "a link", "something in it"])
def test_what_is_there_is_not_touched(top: Path, ready: InAdvance, there: str) -> None:
    path, elsewhere = top / "run", top / "elsewhere"
    elsewhere.mkdir()
    if there == "a file":
        path.write_text("work")
    elif there == "a link":
        path.symlink_to(elsewhere)
    else:
        path.mkdir()
        (path / "work").write_text("work")
    before = path.lstat()
    begin(ready, top)
    assert not ready.take(path)
    assert path.lstat().st_ino == before.st_ino
    assert ready.take(top / "other")


def test_when_it_is_quiet_they_go_and_come_again(
    top: Path, ready: InAdvance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_advance, "QUIET_S", 0.05)
    begin(ready, top)
    until(lambda: spares(top) == [], within_s=30)
    until(lambda: all(each.name != "in advance" for each in threading.enumerate()), within_s=30)
    monkeypatch.undo()
    for name in ("three", "four"):
        ready.take(top / name)  # so soon after the others, a new one may lie ready for the first
    until(lambda: len(spares(top)) >= FEW, within_s=30)
    assert ready.take(top / "five")


def test_those_that_somebody_removed_are_not_given(top: Path, ready: InAdvance) -> None:
    begin(ready, top)
    for each in spares(top):
        each.rmdir()
    assert not ready.take(top / "run")
    assert not (top / "run").exists()


def test_what_a_killed_daemon_had_made_goes(top: Path, ready: InAdvance) -> None:
    old = top / f"{PREFIX}old"
    old.mkdir()
    begin(ready, top)
    assert not old.exists()


def test_on_a_disk_that_is_nearly_full_none_is_made(
    top: Path, ready: InAdvance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_advance, "AMPLE_BYTES", 1 << 60)
    for number in range(3):
        assert not ready.take(top / f"run-{number}")
    until(lambda: all(each.name != "in advance" for each in threading.enumerate()), within_s=30)
    assert list(top.iterdir()) == []


def test_where_none_can_be_made_there_are_none(top: Path) -> None:
    ready = InAdvance(top / "nowhere")
    for name in ("one", "two", "three"):
        assert not ready.take(top / name)
    ready.close()
    assert not ready.take(top / "four")
    assert list(top.iterdir()) == []
