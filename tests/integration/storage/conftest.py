"""Real files, a small disk of their own where it must fill up, and nothing left behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


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


class SmallDisk:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._ballast = root / "ballast"

    def fill(self, *, leave_bytes: int = 0) -> None:
        room = os.statvfs(self.root)
        size = room.f_bavail * room.f_frsize - leave_bytes
        with self._ballast.open("wb") as file:
            file.write(b"x" * max(size, 0))

    def make_room(self) -> None:
        self._ballast.unlink()

    def make_read_only(self) -> None:
        _run("mount", "-o", "remount,ro", str(self.root))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    if os.geteuid() != 0:
        pytest.skip("no right to mount a file system")
    root = tmp_path / "disk"
    root.mkdir(mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=700", "tmpfs", str(root)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no right to mount a file system")
    try:
        yield SmallDisk(root)
    finally:
        _run("umount", str(root))


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
