"""A small disk of a test's own, that can fill up or become read-only; and what feels like one."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    def __init__(self, root: Path) -> None:
        self.root = root
        self._ballast = root / "ballast"

    def fill(self, *, leave_bytes: int = 0) -> None:
        """Once more, if somebody gave room back."""
        room = os.statvfs(self.root)
        size = room.f_bavail * room.f_frsize - leave_bytes
        with self._ballast.open("ab") as file:
            file.write(b"x" * max(size, 0))

    def make_room(self) -> None:
        self._ballast.unlink()

    def make_read_only(self) -> None:
        _run("mount", "-o", "remount,ro", str(self.root))

    @contextmanager
    def read_only_for_newcomers(self) -> Iterator[None]:
        """Whoever has files open for writing keeps them; a disk in use cannot be remounted."""
        _run("mount", "--bind", str(self.root), str(self.root))
        _run("mount", "-o", "remount,ro,bind", str(self.root))
        try:
            yield
        finally:
            _run("umount", "-l", str(self.root))


@contextmanager
def a_small_disk(directory: Path, *, size: str = "2m") -> Iterator[SmallDisk]:
    if os.geteuid() != 0:
        pytest.skip("no right to mount a file system")
    root = directory / "disk"
    root.mkdir(mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(root)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no right to mount a file system")
    try:
        yield SmallDisk(root)
    finally:
        _run("umount", "-l", str(root))  # lazily: who was killed may not be gone yet


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def files_of_at_most(limit_bytes: int) -> Iterator[None]:
    """The kernel then writes what fits, and only the next write is an error: as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
