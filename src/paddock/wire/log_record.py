"""A log in records: each a line of JSON, and then so many bytes as it says."""

from __future__ import annotations

import msgspec


class LogRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """`at` is the place of the first byte among all that the run ever wrote; before it so many are
    missing that are not kept."""

    at: int
    size: int  # of the bytes that follow
    missing_bytes: int = 0
    missing_lines: int | None = 0  # None: not known


def written(at: int, data: bytes) -> bytes:
    """As `msgspec` would write it, in a third of the time."""
    return b'{"at":%d,"size":%d}\n%b' % (at, len(data), data)


def gap_written(at: int, *, missing_bytes: int, missing_lines: int | None) -> bytes:
    gap = LogRecord(at=at, size=0, missing_bytes=missing_bytes, missing_lines=missing_lines)
    return msgspec.json.encode(gap) + b"\n"
