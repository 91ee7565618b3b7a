"""Bytes on their way from a pipe to a file, on a disk that fills up meanwhile."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from paddock.drivers.container import moving
from paddock.drivers.local.keeper import output
from tests.kit.disks import a_small_disk

BYTES = 200_000
ROOM_BYTES = 65_536


def by_keeper(fifo: int, segment: Path) -> int:
    file = output.open_segment(str(segment))
    try:
        return output.move(fifo, file, BYTES)
    finally:
        os.close(file)


def by_container(fifo: int, segment: Path) -> int:
    return moving.move(fifo, str(segment), BYTES).moved_bytes


@pytest.mark.parametrize("move", [by_keeper, by_container])
def test_what_was_moved_before_the_disk_was_full_is_told(
    tmp_path: Path, move: Callable[[int, Path], int]
) -> None:
    """Otherwise it would lie in the file and be counted as not there: all after it stood wrong."""
    os.mkfifo(tmp_path / "fifo")
    fifo = output.open_fifo(str(tmp_path / "fifo"))
    fcntl.fcntl(fifo, fcntl.F_SETPIPE_SZ, 1 << 18)
    written = os.urandom(BYTES)
    assert os.write(fifo, written) == BYTES
    with a_small_disk(tmp_path) as disk:
        segment = disk.root / "1.log"
        disk.fill(leave_bytes=ROOM_BYTES)
        moved = move(fifo, segment)
        assert 0 < moved < BYTES and segment.read_bytes() == written[:moved]
        with pytest.raises(OSError, match="No space left"):
            move(fifo, segment)
        assert segment.stat().st_size == moved
        disk.make_room()
        assert move(fifo, segment) == BYTES - moved
        assert segment.read_bytes() == written
    os.close(fifo)
