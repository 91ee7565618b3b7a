"""What changes in directories, told by the kernel (inotify): one descriptor for all who ask.

One, because a user may have only 128 of them and a thousand runs.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path
from typing import Final

_CREATE, _MOVED_TO, _CLOSE_WRITE, _MODIFY = 0x100, 0x80, 0x8, 0x2
_ATTRIB, _DELETED_ITSELF = 0x4, 0x400
_LOST, _IGNORED = 0x4000, 0x8000
_WANTED: Final = _CREATE | _MOVED_TO | _CLOSE_WRITE | _MODIFY | _ATTRIB | _DELETED_ITSELF
_ONLY_DIRECTORIES: Final = 0x01000000
_HEADER: Final = struct.Struct("iIII")
_READ_BYTES: Final = 1 << 16


class Ears:
    """`hear` who asked about what changed. OSError at birth where the kernel has no inotify."""

    def __init__(self) -> None:
        try:
            self._libc = ctypes.CDLL(None, use_errno=True)
            self._descriptor: int = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        except AttributeError:
            raise OSError("this system has no inotify") from None
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        # By watch: who asks, and for which name (None: for any).
        self._asked: dict[int, dict[Hashable, str | None]] = {}

    def fileno(self) -> int:
        return self._descriptor

    def watch(self, who: Hashable, directory: Path, *, name: str | None = None) -> bool:
        """False where it cannot be watched; then only polling finds what happens there."""
        path = os.fsencode(directory)
        flags = ctypes.c_uint32(_WANTED | _ONLY_DIRECTORIES)
        watch = self._libc.inotify_add_watch(self._descriptor, path, flags)
        if watch < 0:
            return False
        self._asked.setdefault(watch, {})[who] = name
        return True

    def forget(self, who: Hashable) -> None:
        for watch, asking in list(self._asked.items()):
            asking.pop(who, None)
            if not asking:
                del self._asked[watch]
                self._libc.inotify_rm_watch(self._descriptor, watch)

    def hear(self) -> set[Hashable]:
        """Whose things changed since the last time. Never waits."""
        found: set[Hashable] = set()
        with suppress(BlockingIOError):
            while data := os.read(self._descriptor, _READ_BYTES):
                self._understand(data, found)
        return found

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _understand(self, data: bytes, found: set[Hashable]) -> None:
        at = 0
        while at < len(data):
            watch, mask, _, length = _HEADER.unpack_from(data, at)
            at += _HEADER.size + length
            name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
            if mask & _LOST:  # more happened than the kernel could queue: everybody looks
                found.update(who for asking in self._asked.values() for who in asking)
            asking = self._asked.get(watch, {})
            found.update(who for who, wanted in asking.items() if wanted in (None, name))
            if mask & _IGNORED:
                self._asked.pop(watch, None)
