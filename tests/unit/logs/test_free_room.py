"""A disk that is nearly full: told once, counted, and over when there is room again."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.logs.free_room import LOOK_EVERY_BYTES, LOW_BYTES, FreeRoom, Space
from paddock.logs.keeping import Keeping
from paddock.logs.output import OutputStore
from paddock.ports import Fate
from tests.kit.discarding import discard

GB = 1000 * 1000 * 1000
A = Attempt("a", 1)


class Disk:
    def __init__(self) -> None:
        self.now = 1000.0
        self.space: Space | None = Space(100 * GB, 50 * GB)
        self.looks = 0
        self.room = FreeRoom(Path("/x"), now=lambda: self.now, look=self._look)

    def _look(self, _: Path) -> Space | None:
        self.looks += 1
        return self.space

    def free(self, free_bytes: int) -> bool:
        self.space = Space(100 * GB, free_bytes)
        self.now += 2.0
        return self.room.is_low()


@pytest.fixture
def disk() -> Disk:
    return Disk()


def test_below_100_mb_it_is_low_and_a_little_above_it_is_not_any_more(disk: Disk) -> None:
    assert not disk.free(LOW_BYTES)
    assert disk.free(LOW_BYTES - 1)
    assert disk.free(LOW_BYTES + 1), "no flutter at the edge"
    assert not disk.free(2 * LOW_BYTES)


def test_it_is_told_once_and_its_end_with_what_was_not_kept(
    disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "paddock.logs"):
        for _ in range(5):
            disk.free(80_000_000)
            disk.room.not_kept(1000, 3)
        assert "76.3 MiB free at /x" in str(disk.room.notice())
        disk.free(GB)
    first, last = [record.getMessage() for record in caplog.records]
    assert "nearly full" in first and "agents go on" in first
    assert "4.9 KiB (15 lines) were not kept" in last
    assert "was nearly full" in str(disk.room.notice())
    disk.now += 4000
    assert disk.room.notice() is None


def test_a_disk_smaller_than_that_keeps_a_tenth_free() -> None:
    assert Space(8_000_000, 0).low_bytes == 800_000
    assert Space(110_000_000, 0).low_bytes == LOW_BYTES


def test_it_is_looked_at_seldom_but_in_a_flood_often(disk: Disk) -> None:
    for _ in range(1000):
        disk.room.is_low()
    assert disk.looks == 1
    for _ in range(10):
        disk.room.took(LOOK_EVERY_BYTES)
        disk.room.is_low()
    assert disk.looks == 11


def test_a_disk_that_cannot_be_asked_and_one_that_lies(disk: Disk) -> None:
    disk.space = None
    assert not disk.room.is_low()
    disk.space = Space(100 * GB, 50 * GB)
    disk.room.refused()
    assert disk.room.is_low(), "whatever the sums say: it refused"
    disk.now += 2.0
    assert not disk.room.is_low()


def test_what_is_not_kept_is_a_gap_and_the_stream_goes_on_behind_it(tmp_path: Path) -> None:
    store = OutputStore(tmp_path, packers=0)
    store.intake.about("a", "x", Keeping())
    store.append(A, b"before\n")
    store.intake.refused(A)
    assert store.intake.fate(A) is Fate.DISCARD
    for _ in range(3):
        assert discard(store, A, b"x" * 98 + b"\n\n")
    assert store.size("a") == 307
    assert store.missing("a") == (300, 6)
    store.append(A, b"after\n")
    assert store.read("a", 0, 100) == b"before\n"
    assert store.piece("a", 7, 100) == (307, b"after\n", 6, True)
    again = OutputStore(tmp_path, packers=0)
    discard(again, A, b"not kept.\n")
    again.append(A, b"end\n")
    assert again.missing("a") == (310, 7)
    assert again.piece("a", 307, 100).data == b"after\n"
    assert again.piece("a", 313, 100) == (323, b"end\n", 1, True)


def test_a_run_whose_very_first_byte_is_not_kept_is_counted(tmp_path: Path) -> None:
    store = OutputStore(tmp_path / "output", packers=0)
    discard(store, A, b"not kept.\n")
    assert store.missing("a") == (10, 1)
    assert store.piece("a", 0, 100) == (10, b"", 1, True)
