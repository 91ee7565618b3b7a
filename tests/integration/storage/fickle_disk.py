"""A disk that keeps what was synced and, when the power goes, any part of what was not.

Between SQLite and the file system, as an apsw VFS. Sectors of one write may be kept or lost each by
itself; only a sync is a promise.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


class Medium:
    """One file as the platter knows it, and the writes still on their way."""

    def __init__(self, data: bytes) -> None:
        self._kept = bytearray(data)
        self._pending: list[tuple[int, bytes | None]] = []  # None: cut off there

    def write(self, data: bytes, offset: int) -> None:
        self._pending.append((offset, bytes(data)))

    def truncate(self, size: int) -> None:
        self._pending.append((size, None))

    def sync(self) -> None:
        for offset, data in self._pending:
            _apply(self._kept, offset, data)
        self._pending = []

    def after_power_loss(self, draw: random.Random) -> bytes:
        kept, share = bytearray(self._kept), draw.choice([0.0, 0.5, 1.0])
        for offset, data in self._pending:
            if data is None:
                if draw.random() < share:
                    _apply(kept, offset, None)
                continue
            for at in range(0, len(data), SECTOR):
                if draw.random() < share:
                    _apply(kept, offset + at, data[at : at + SECTOR])
        return bytes(kept)


def _apply(kept: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del kept[offset:]
        return
    kept.extend(bytes(max(0, offset - len(kept))))
    kept[offset : offset + len(data)] = data


class FickleDisk(apsw.VFS):
    def __init__(self, moment: Callable[[], None]) -> None:
        self.base = apsw.vfs_names()[0]
        self.moment = moment  # called before every write and sync
        self.media: dict[str, Medium] = {}
        super().__init__("fickle", self.base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> _File:  # noqa: N802 - SQLite's name
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001 - SQLite's
        super().xDelete(filename, syncdir)
        self.media.pop(filename, None)

    def after_power_loss(self, draw: random.Random) -> dict[str, bytes]:
        return {
            Path(name).name: medium.after_power_loss(draw) for name, medium in self.media.items()
        }


class _File(apsw.VFSFile):
    def __init__(self, disk: FickleDisk, name: Any, flags: list[int]) -> None:
        super().__init__(disk.base, name, flags)
        text = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        path = Path(text)
        self._disk = disk
        self._medium = disk.media.setdefault(text, Medium(path.read_bytes()))

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.moment()
        super().xWrite(data, offset)
        self._medium.write(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.moment()
        super().xTruncate(newsize)
        self._medium.truncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        self._disk.moment()
        super().xSync(flags)
        self._medium.sync()


@contextmanager
def fickle_disk(moment: Callable[[], None]) -> Iterator[FickleDisk]:
    disk = FickleDisk(moment)
    try:
        yield disk
    finally:
        disk.unregister()
