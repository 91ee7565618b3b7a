"""Chunk files: written in small pieces, out of memory at once, durable when they are sealed.

Pages that a stage dirties count against its wall until they are written, and those it has read stay
until the kernel needs them. So both are given back as the stream goes by.
"""

# ruff: noqa: PTH104
from __future__ import annotations

import errno
import os
from _hashlib import openssl_sha256

# Advising DONTNEED starts to write what is dirty and gives back what is clean, and waits for
# neither: the next advice gives back what this one began to write.
WINDOW_BYTES = 4 << 20
FULL = (errno.ENOSPC, errno.EDQUOT)


class OpenChunk:
    """The chunk that is being filled. `cut`: where its last line ends, for those cut at lines."""

    __slots__ = ("_advised", "_cut_hash", "_hash", "cut", "descriptor", "path", "size")

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        self.cut = 0
        self._hash = openssl_sha256()
        self._cut_hash = self._hash
        self._advised = 0
        flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        self.descriptor = os.open(path, flags, 0o600)

    def write(self, data: memoryview, *, by_lines: bool = False) -> int:
        """As much of it as the disk has room for, and how much that was."""
        written = 0
        try:
            while written < len(data):
                written += os.write(self.descriptor, data[written:])
        except OSError as error:
            if error.errno not in FULL:
                raise
        line_end = bytes(data[:written]).rfind(b"\n") + 1 if by_lines else 0
        if line_end:
            self._hash.update(data[:line_end])
            self.cut, self._cut_hash = self.size + line_end, self._hash.copy()
        self._hash.update(data[line_end:written])
        self.size += written
        self._advise()
        return written

    def write_all(self, data: memoryview) -> None:
        if self.write(data) < len(data):
            raise no_room()

    def _advise(self) -> None:
        if self.size - self._advised >= WINDOW_BYTES:
            give_back(self.descriptor, self.size)
            self._advised = self.size

    def digest(self, *, at_line: bool = False) -> str:
        return (self._cut_hash if at_line else self._hash).hexdigest()

    def close_as(self, path: str, size: int) -> None:
        """Durable under its name, but for the directory's own sync."""
        if size < self.size:
            os.ftruncate(self.descriptor, size)
        os.fsync(self.descriptor)
        give_back(self.descriptor, size)
        os.close(self.descriptor)
        os.rename(self.path, path)


def no_room() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def give_back(descriptor: int, upto: int) -> None:
    os.posix_fadvise(descriptor, 0, upto, os.POSIX_FADV_DONTNEED)
