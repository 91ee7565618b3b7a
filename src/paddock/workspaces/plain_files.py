"""Small files in places where an agent may write too: no link is followed, no pipe waited for."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

LARGEST_BYTES: Final = 1 << 16
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_plain(path: Path) -> bytes:
    """OSError where it is not there, ValueError where it is no plain file or too large."""
    descriptor = os.open(path, _READ)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError(f"{path} is no plain file")
        data = os.read(descriptor, LARGEST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > LARGEST_BYTES:
        raise ValueError(f"{path} has more than {LARGEST_BYTES} bytes")
    return data


def put_plain(path: Path, data: bytes, *, durable: bool = False) -> None:
    """All of it or nothing, whatever ends us."""
    fresh = path.with_name(f"{path.name}.{os.getpid()}.paddock")
    with suppress(FileNotFoundError):
        fresh.unlink()
    descriptor = os.open(fresh, _WRITE, 0o600)
    try:
        # Not `os.write`: on a disk that becomes full it writes a part, and that is no error.
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(descriptor)
        fresh.rename(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
