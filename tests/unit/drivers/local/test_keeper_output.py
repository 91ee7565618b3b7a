"""Moving bytes from a FIFO to the end of a file, without waiting and up to a cap."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.drivers.local.keeper.output import (
    MoverLock,
    Outlet,
    move,
    open_fifo,
    open_segment,
)
from paddock.drivers.local.keeper.protocol import Order
from tests.kit.disks import files_of_at_most


@pytest.fixture
def outlet(tmp_path: Path) -> Iterator[Outlet]:
    order = Order(
        {
            "attempt": "a",
            "argv": ["true"],
            "env": {},
            "cwd": "/",
            "fifo": str(tmp_path / "fifo"),
            "segment": str(tmp_path / "log"),
            "cap_bytes": 100,
        }
    )
    outlet = Outlet(order)
    yield outlet
    outlet.close()
    assert not (tmp_path / "fifo").exists()


def written(outlet: Outlet) -> bytes:
    return Path(outlet.segment).read_bytes()


def test_an_empty_pipe_is_not_waited_for(outlet: Outlet) -> None:
    assert outlet.move()
    assert written(outlet) == b""


def test_bytes_go_to_the_end_of_what_is_there(outlet: Outlet) -> None:
    Path(outlet.segment).write_bytes(b"before ")
    os.write(outlet.fifo_fd, b"after")
    assert outlet.move()
    assert written(outlet) == b"before after"


def test_the_cap_is_kept_and_the_rest_stays_in_the_pipe(outlet: Outlet) -> None:
    os.write(outlet.fifo_fd, b"x" * 150)
    assert outlet.has_room()
    assert not outlet.move()
    assert not outlet.has_room()
    assert written(outlet) == b"x" * 100
    assert os.read(outlet.fifo_fd, 1000) == b"x" * 50


def test_a_file_already_above_the_cap_takes_nothing(outlet: Outlet) -> None:
    Path(outlet.segment).write_bytes(b"y" * 200)
    os.write(outlet.fifo_fd, b"x")
    assert not outlet.move()
    assert written(outlet) == b"y" * 200


def test_a_file_that_cannot_be_spliced_into_is_copied_into(outlet: Outlet) -> None:
    """The kernel says EINVAL for O_APPEND, as it does for file systems that cannot."""
    segment = os.open(outlet.segment, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(outlet.fifo_fd, b"x" * 70_000)
    assert move(outlet.fifo_fd, segment, 1 << 20) == 70_000
    assert move(outlet.fifo_fd, segment, 1 << 20) == 0
    os.close(segment)
    assert written(outlet) == b"x" * 70_000


def test_what_a_full_disk_refuses_of_a_copy_stays_in_the_pipe(outlet: Outlet) -> None:
    segment = os.open(outlet.segment, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    text = bytes(range(256)) * 120
    os.write(outlet.fifo_fd, text)
    with files_of_at_most(10_000):
        assert move(outlet.fifo_fd, segment, 1 << 20) == 10_000
        with pytest.raises(OSError, match="File too large"):
            move(outlet.fifo_fd, segment, 1 << 20)
    assert move(outlet.fifo_fd, segment, 1 << 20) == len(text) - 10_000
    os.close(segment)
    assert written(outlet) == text


@pytest.mark.parametrize("opened", [open_fifo, open_segment])
def test_links_and_other_kinds_of_files_are_refused(tmp_path: Path, opened: object) -> None:
    assert callable(opened)
    (tmp_path / "link").symlink_to("/dev/null")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "file").touch()
    wrong = "file" if opened is open_fifo else "fifo"
    keeper = os.open(tmp_path / "fifo", os.O_RDWR)
    for name in ("link", wrong):
        with pytest.raises(OSError, match=r"Too many levels|not a"):
            opened(str(tmp_path / name))
    os.close(keeper)


def test_only_one_may_move(tmp_path: Path) -> None:
    first, second = (MoverLock(str(tmp_path / "lock")) for _ in range(2))
    assert first.take()
    assert not second.take()
    first.leave()
    assert second.take()
    second.close()
    assert first.take()
    first.close()
