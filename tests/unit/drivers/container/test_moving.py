"""Output from a FIFO to a file: whole, in order, and by one process at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.drivers.container.holder import Holder
from paddock.drivers.container.moving import Lock, move, move_into, open_fifo, widen
from tests.kit.disks import files_of_at_most


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[int]:
    os.mkfifo(tmp_path / "fifo")
    descriptor = open_fifo(str(tmp_path / "fifo"))
    yield descriptor
    os.close(descriptor)


def test_what_lies_in_the_fifo_comes_to_the_end_of_the_file(fifo: int, tmp_path: Path) -> None:
    segment = tmp_path / "output/run/1.log"
    os.write(fifo, b"one\n")
    assert move(fifo, str(segment)).moved_bytes == 4
    os.write(fifo, b"two\n")
    assert move(fifo, str(segment)).moved_bytes == 4
    assert move(fifo, str(segment)).moved_bytes == 0, "an empty FIFO is not waited for"
    assert segment.read_bytes() == b"one\ntwo\n"
    assert segment.stat().st_mode & 0o777 == 0o600


def test_a_widened_fifo_holds_more_than_the_usual_64_kilobytes(fifo: int, tmp_path: Path) -> None:
    widen(fifo)
    assert os.write(fifo, b"x" * 100_000) == 100_000
    assert move(fifo, str(tmp_path / "1.log")) == (100_000, 100_000)


def test_what_a_full_disk_refuses_of_a_copy_stays_in_the_fifo(fifo: int, tmp_path: Path) -> None:
    """The kernel says EINVAL for O_APPEND, as it does for file systems that cannot splice."""
    segment = os.open(tmp_path / "1.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    text = bytes(range(256)) * 120
    os.write(fifo, text)
    with files_of_at_most(10_000):
        assert move_into(fifo, segment, 1 << 20) == (10_000, 10_000)
        with pytest.raises(OSError, match="File too large"):
            move_into(fifo, segment, 1 << 20)
    assert move_into(fifo, segment, 1 << 20) == (len(text) - 10_000, len(text))
    os.close(segment)
    assert (tmp_path / "1.log").read_bytes() == text


def test_what_is_no_fifo_or_no_file_is_not_opened(fifo: int, tmp_path: Path) -> None:
    """An agent may write to its own directory, and put a link there."""
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    for name in ("file", "link"):
        with pytest.raises(OSError, match=r"not a FIFO|symbolic links"):
            open_fifo(str(tmp_path / name))
    with pytest.raises(OSError, match=r"symbolic links|not a regular file"):
        move(fifo, str(tmp_path / "link"))


def test_a_lock_is_one_holders_until_it_is_left(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    first, second = Lock(path), Lock(path)
    assert first.take()
    assert not second.take()
    first.leave()
    assert second.take()
    second.close()
    assert first.take()
    first.close()


def test_a_holder_with_nothing_to_hold_and_no_daemon_ends(tmp_path: Path) -> None:
    Holder(str(tmp_path), str(tmp_path / "output")).live()
