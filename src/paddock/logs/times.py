"""When an attempt wrote what: a record for each second in which it wrote, fewer for the talkative.

A record says that bytes from a place on came from a time on, and when the last byte before them
had come. So a silence is known for what it is, however few records there are.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from typing import Final

from .names import HALF

EVERY_S: Final = 1.0
MOST_RECORDS: Final = 2048  # 48 KiB; then every second one goes
_RECORD: Final = struct.Struct("<Qdd")  # from byte, from time, time of the byte before
_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW

Record = tuple[int, float, float]


class Marker:
    """Writes the records of one attempt. That one cannot be written harms nobody."""

    __slots__ = ("_every_s", "_marked_at", "_name", "_written_at")

    def __init__(self, name: str, *, written_at: float) -> None:
        """`written_at`: of the last byte before this marker."""
        self._name = name
        self._written_at = written_at
        self._marked_at = 0.0
        self._every_s = EVERY_S

    @property
    def written_at(self) -> float:
        return self._written_at

    def is_due(self, now: float) -> bool:
        return not 0 <= now - self._marked_at < self._every_s

    def wrote(self, now: float) -> None:
        """Between two records."""
        self._written_at = now

    def mark(self, handle: int, at: int, now: float) -> None:
        """Bytes from `at` on have come. `handle` is the directory's."""
        record = _RECORD.pack(at, now, min(self._written_at, now))
        with suppress(OSError):
            if _append(handle, self._name, record) >= MOST_RECORDS:
                _thin(handle, self._name)
                self._every_s *= 2
        self._marked_at = self._written_at = now


def _append(handle: int, name: str, record: bytes) -> int:
    """How many there are now."""
    descriptor = os.open(name, _WRITE, 0o600, dir_fd=handle)
    try:
        os.write(descriptor, record)
        return os.fstat(descriptor).st_size // _RECORD.size
    finally:
        os.close(descriptor)


def _thin(handle: int, name: str) -> None:
    half = HALF + name
    with suppress(FileNotFoundError):
        os.unlink(half, dir_fd=handle)
    for record in records(handle, name)[::2]:
        _append(handle, half, _RECORD.pack(*record))
    os.rename(half, name, src_dir_fd=handle, dst_dir_fd=handle)


def records(handle: int, name: str) -> list[Record]:
    """In order; what a torn write or an agent left is no record."""
    try:
        descriptor = os.open(name, _READ, dir_fd=handle)
    except OSError:
        return []
    try:
        data = os.pread(descriptor, 2 * MOST_RECORDS * _RECORD.size, 0)
    except OSError:
        return []
    finally:
        os.close(descriptor)
    found: list[Record] = []
    for record in _RECORD.iter_unpack(data[: len(data) // _RECORD.size * _RECORD.size]):
        if not found or record[0] >= found[-1][0]:
            found.append(record)
    return found


def since(found: list[Record], at: float, *, written_at: float, size: int) -> int:
    """The first byte that may have come at that time or later. `written_at`: of the last one."""
    if written_at and written_at < at:
        return size
    begin = 0
    for from_byte, _, before in found:
        if before >= at:
            return begin
        begin = from_byte
    return begin
