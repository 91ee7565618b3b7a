"""Small files: all of them or nothing."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from paddock.workspaces.plain_files import put_plain, read_plain


@contextmanager
def files_of_at_most(limit_bytes: int) -> Iterator[None]:
    """The kernel then writes what fits, and only the next write is an error: as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


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
