"""A block of TCP and UDP ports for each attempt, its own on the whole machine.

A block is a lock (flock) on a file that all users share; what is written in it is for people. The
kernel drops it with the daemon; one that comes back takes the same block again by its number.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import stat
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from .errors import WorkspaceError

VARIABLE: Final = "PADDOCK_PORT_BASE"
PLACES: Final = (Path("/run/lock"), Path("/tmp"))
_DIRECTORY: Final = "paddock-ports"
# Below what Linux and macOS give to connections by themselves, above what services like.
FIRST_PORT, END_PORT = 20000, 32000
WIDTH: Final = 10
_LOOK: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class Block:
    """Held until it is closed, or its process is gone."""

    base: int
    width: int
    _descriptors: tuple[int, ...]

    def environment(self) -> dict[str, str]:
        return {VARIABLE: str(self.base), "PADDOCK_PORT_COUNT": str(self.width)}

    @property
    def is_held(self) -> bool:
        return bool(self._descriptors)

    def is_in_use(self) -> bool:
        return any(_is_in_use(port) for port in range(self.base, self.base + self.width))

    def close(self) -> None:
        for descriptor in self._descriptors:
            with suppress(OSError):
                os.close(descriptor)


class PortBlocks:
    """Blocks of 10; a wider one is several in a row."""

    def __init__(self, places: tuple[Path, ...] = PLACES) -> None:
        self._places = places

    def take(self, who: str, *, width: int = WIDTH) -> Block:
        """The first free one, beginning at a place that differs from run to run."""
        _check_width(width)
        starts = range(FIRST_PORT, END_PORT - width + 1, WIDTH)
        offset = zlib.crc32(who.encode()) % len(starts)
        for number in range(len(starts)):
            base = starts[(offset + number) % len(starts)]
            block = self.retake(base, who, width=width)
            if block is None:
                continue
            if not any(_is_in_use(port) for port in range(base, base + width)):
                return block
            block.close()
        raise WorkspaceError(
            f"no {width} ports in a row are free between {FIRST_PORT} and {END_PORT}; "
            "end some runs, or what listens there"
        )

    def retake(self, base: int, who: str, *, width: int = WIDTH) -> Block | None:
        """This one, whatever listens in it: after a restart that is the agent. None: taken."""
        _check_width(width)
        directory = _opened(self._places)
        held: list[int] = []
        try:
            for port in range(base, base + width, WIDTH):
                descriptor = _lock(directory, f"{port}", who)
                if descriptor is None:
                    break
                held.append(descriptor)
            else:
                return Block(base, width, tuple(held))
        finally:
            os.close(directory)
        Block(base, width, tuple(held)).close()
        return None


def _check_width(width: int) -> None:
    if width < 1 or width % WIDTH or width > END_PORT - FIRST_PORT:
        raise ValueError(f"{width} ports: a block has {WIDTH}, or a multiple of that")


def _opened(places: tuple[Path, ...]) -> int:
    """A descriptor of the shared directory: whatever happens to its path, this was checked."""
    place = next((one for one in places if one.is_dir() and os.access(one, os.W_OK)), None)
    if place is None:
        names = " and ".join(map(str, places))
        raise WorkspaceError(f"no directory that all users share: {names} cannot be written")
    path = place / _DIRECTORY
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
        made = os.open(path, _LOOK)
        os.fchmod(made, 0o1777)
        os.close(made)
    try:
        return os.open(path, _LOOK)
    except OSError as error:
        raise WorkspaceError(f"{path} is not a directory to be trusted: {error.strerror}") from None


def _lock(directory: int, name: str, who: str) -> int | None:
    descriptor = _file(directory, name)
    if descriptor is None:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            raise BlockingIOError
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {who}\n".encode()[:200], 0)
    return descriptor


def _file(directory: int, name: str) -> int | None:
    """None where somebody made it so that we cannot use it: then another block is taken."""
    for _ in range(2):
        try:
            # Without O_CREAT: with it, `fs.protected_regular` refuses another user's file.
            return os.open(name, _OPEN, dir_fd=directory)
        except FileNotFoundError:
            with suppress(FileExistsError):
                made = os.open(name, _OPEN | os.O_CREAT | os.O_EXCL, 0o666, dir_fd=directory)
                os.fchmod(made, 0o666)  # whatever the umask
                return made
        except OSError:
            return None
    return None


def _is_in_use(port: int) -> bool:
    kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM)
    families = ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::"))
    return any(_is_bound(f, kind, host, port) for f, host in families for kind in kinds)


def _is_bound(family: int, kind: int, host: str, port: int) -> bool:
    try:
        with socket.socket(family, kind) as probe:
            if kind == socket.SOCK_STREAM:
                # What only waits for late packets of an old connection is free.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            probe.bind((host, port))
    except OSError as error:
        return error.errno in (errno.EADDRINUSE, errno.EACCES)
    return False
