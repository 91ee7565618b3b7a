"""Small files: all of them or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.workspaces.plain_files import put_plain, read_plain
from tests.kit.disks import files_of_at_most


@pytest.mark.parametrize("durable", [False, True])
def test_what_was_there_stays_when_only_a_part_could_be_written(
    tmp_path: Path, *, durable: bool
) -> None:
    path = tmp_path / "note"
    put_plain(path, b"before", durable=durable)
    with files_of_at_most(100), pytest.raises(OSError, match="File too large"):
        put_plain(path, b"x" * 300, durable=durable)
    assert read_plain(path) == b"before"
    assert list(tmp_path.iterdir()) == [path]
