"""Sockets to listen on: the Unix socket in the state directory, and one for TCP when asked for."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

BACKLOG: Final = 1024
_NEW: Final = ".new"
_PORT: Final = re.compile(r"[0-9]{1,5}")

Identity = tuple[int, int]


class CannotListen(Exception):
    """Says on what, and why, in one line."""


def bind_unix(path: Path) -> socket.socket:
    """Listening at the path, for its owner only. Whatever socket was there is replaced at once,
    so no client ever finds none; the caller holds the lock that says whose path it is."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Linux takes the mode of the file from the socket: there is no moment when it is open.
        os.fchmod(made.fileno(), 0o600)
        with _short(path.parent) as directory:
            new, final = f"{path.name}{_NEW}", path.name
            with suppress(FileNotFoundError):
                os.unlink(f"{directory}/{new}")  # noqa: PTH108 - short on purpose
            made.bind(f"{directory}/{new}")
            made.listen(BACKLOG)
            made.setblocking(False)  # noqa: FBT003 - it takes no name
            _check_replaceable(f"{directory}/{final}")
            os.rename(f"{directory}/{new}", f"{directory}/{final}")  # noqa: PTH104
    except OSError as error:
        made.close()
        raise CannotListen(f"cannot listen on {path}: {error.strerror or error}") from None
    except BaseException:
        made.close()
        raise
    return made


def identity(path: Path) -> Identity | None:
    """Which file has this name now."""
    try:
        found = path.stat(follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def bind_tcp(listen: str) -> socket.socket:
    host, port = split_address(listen)
    try:
        [family, kind, protocol, _, address] = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(f"cannot listen on {listen}: {error.strerror or error}") from None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(BACKLOG)
        made.setblocking(False)  # noqa: FBT003 - it takes no name
    except OSError as error:
        made.close()
        raise CannotListen(f"cannot listen on {listen}: {error.strerror or error}") from None
    return made


def split_address(text: str) -> tuple[str, int]:
    """`127.0.0.1:7070`, `[::1]:7070`, `localhost:7070`."""
    host, _, port = text.rpartition(":")
    if not host or not _PORT.fullmatch(port) or int(port) > 65535:
        raise CannotListen(f"cannot listen on {text!r}; write it as 127.0.0.1:7070")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _check_replaceable(path: str) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise FileExistsError(0, "there is something else of that name; move it away")


@contextmanager
def _short(directory: Path) -> Iterator[str]:
    """A name for a directory that is short however deep it lies: a socket's path has 107 bytes."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
