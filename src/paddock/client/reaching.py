"""Where the daemon is: its Unix socket, or host and port with a token."""

from __future__ import annotations

import errno
import os
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from paddock.config.places import Places

from .errors import BadRequest, NoDaemon
from .talking import Line

_PORT: Final = re.compile(r"[0-9]{1,5}")
LONGEST_PATH: Final = 107  # bytes of a socket's path that the kernel takes
_CREDENTIALS: Final = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class Address:
    path: Path | None = None
    host: str = ""
    port: int = 0
    token: str | None = None

    def line(self) -> Line:
        if self.path is not None:
            return Line(host="localhost", where=str(self.path))
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return Line(host=f"{shown}:{self.port}", where=f"{shown}:{self.port}", token=self.token)


def address_of(places: Places, address: str | None, token: str | None) -> Address:
    if address is None:
        return Address(path=places.socket)
    host, _, port = address.rpartition(":")
    if not host or not _PORT.fullmatch(port) or int(port) > 65535:
        raise BadRequest(f"{address!r} is no address; write it as 127.0.0.1:7070", "bad_request")
    host = host.removeprefix("[").removesuffix("]")
    return Address(host=host, port=int(port), token=token or _kept_token(places))


def _kept_token(places: Places) -> str:
    try:
        return places.token.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        raise NoDaemon(f"a token is needed, and there is none in {places.token}") from None


@contextmanager
def reachable(path: Path) -> Iterator[str]:
    """A name of the socket that is short enough, however deep its directory lies."""
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)


def check_owner(made: socket.socket) -> None:
    """PermissionError for a daemon of somebody else, before a word is said to it: whoever may
    write in the directory that is named can lay a socket there, and would be sent our environment.
    Root asks the daemons of all."""
    found = made.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(found)
    us = os.geteuid()
    if us not in (0, user) and user != 0:
        raise PermissionError(errno.EPERM, f"user {user}, and we are {us}")
