"""Real files, a small disk of their own where it must fill up, and nothing left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.disks import SmallDisk, a_small_disk


def _descriptors() -> set[str]:
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.add(os.readlink(entry))  # noqa: PTH115 - the target is text, not always a path
        except FileNotFoundError:
            continue  # the one that listed them
    return found


@pytest.fixture(autouse=True)
def no_descriptor_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    assert [name for name in _descriptors() if name.startswith(str(tmp_path))] == []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "fleet.db"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with a_small_disk(tmp_path) as disk:
        yield disk
