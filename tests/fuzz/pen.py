"""A pen for targets of root: a view of the machine in which nothing can be written but memory.

A target once made a link, wrote through it, and the machine's /etc/passwd was gone. So whatever
path, link or `..` an input leads to, here it leads to a file system that is read-only.
"""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

SHM: Final = Path("/dev/shm")
_CLONE_FS: Final = 0x200
_CLONE_NEWNS: Final = 0x20000
_MS_PRIVATE: Final = 1 << 18
_MOUNT_SETATTR: Final = 442  # the same on every machine; Linux 5.12
_AT_RECURSIVE: Final = 0x8000
_RDONLY, _NODEV = 1, 4
_ATTRIBUTES: Final = (ctypes.c_uint64 * 4)(_RDONLY | _NODEV, 0, _MS_PRIVATE, 0)
_MEMORY: Final = b"size=256m,mode=0700"


class _View(NamedTuple):
    """Descriptors: of the mounts, of what is `/`, of what is `.`."""

    mounts: int
    root: int
    here: int


@contextmanager
def penned() -> Iterator[None]:
    """Nothing at all where we may not make one: who is not root has less to lose."""
    pen = _pen()
    if pen is None:
        yield
        return
    outside = _view()
    _enter(pen)
    try:
        yield
    finally:
        _enter(outside)
        for descriptor in outside:
            os.close(descriptor)


def let_go() -> None:
    """Of the pen: as long as it is there, it holds every mount that was there when it was made."""
    pen = _pen() if _pen.cache_info().currsize else None
    _pen.cache_clear()
    for descriptor in pen or ():
        os.close(descriptor)


@cache
def _pen() -> _View | None:
    """Made once a process: to go in and out takes microseconds."""
    if os.geteuid() != 0:
        return None
    outside = _view()
    try:
        _call("unshare", _CLONE_NEWNS)
        size = ctypes.sizeof(_ATTRIBUTES)
        _call("syscall", _MOUNT_SETATTR, -1, b"/", _AT_RECURSIVE, _ATTRIBUTES, size)
        memory = os.fsencode(SHM if SHM.is_dir() else tempfile.gettempdir())
        _call("mount", b"fuzz", memory, b"tmpfs", 0, _MEMORY)
        os.chdir("/")
        return _view()
    except OSError:  # a container, an older kernel, a chroot
        return None
    finally:
        _enter(outside)
        for descriptor in outside:
            os.close(descriptor)


def _view() -> _View:
    flags = os.O_RDONLY | os.O_CLOEXEC
    mounts = os.open("/proc/thread-self/ns/mnt", flags)
    return _View(mounts, os.open("/", flags), os.open(".", flags))


def _enter(view: _View) -> None:
    _call("unshare", _CLONE_FS)  # a thread that was started meanwhile shares it, and stays behind
    _call("setns", view.mounts, _CLONE_NEWNS)
    os.fchdir(view.root)
    os.chroot(".")
    os.fchdir(view.here)


def _call(name: str, *words: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*words) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
