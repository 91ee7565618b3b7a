"""Who may ask. The socket's directory keeps others out; this is for when it does not, and for TCP.

Over the Unix socket: the peer's user id, from the kernel. Over TCP: a token, and a Host header
that names this machine, so that no web page can talk to it through a name it controls.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
import socket
import struct
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from paddock.config.places import Places
from paddock.workspaces.plain_files import read_plain

from .answering import Send, send_problem
from .asking import Message, Receive
from .problems import Declined

App = Callable[[Message, Receive, Send], Awaitable[None]]

SHORTEST_TOKEN: Final = 16
_CREDENTIALS: Final = struct.Struct("3i")
_HOST: Final = re.compile(r"([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
LOCAL: Final = "paddock.local"  # in the scope's state: it came over the Unix socket


class Guard:
    """In front of the application. Says no before anything of the body is read."""

    def __init__(self, app: App, *, token: str | None, listen_host: str | None = None) -> None:
        self._app = app
        self._token = None if token is None else f"Bearer {token}".encode()
        named = set() if listen_host is None else {listen_host.lower(), f"[{listen_host.lower()}]"}
        self._hosts = _LOOPBACK | named

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        declined = self._check(scope)
        if declined is None:
            await self._app(scope, receive, send)
        else:
            await send_problem(send, declined)

    def _check(self, scope: Message) -> Declined | None:
        hosts, shown, origin = _said(scope["headers"])
        if origin:
            return Declined(403, "forbidden", "requests of web pages are not answered")
        match = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if match is None:
            return Declined(400, "bad_request", "the request needs one plain Host header")
        if scope["state"].get(LOCAL):
            return None
        if match[1].lower() not in self._hosts:
            return Declined(421, "forbidden", "this is not the host that was asked for")
        # Both are bytes: compare_digest refuses text that is not ASCII.
        if self._token is None or not hmac.compare_digest(shown, self._token):
            message = "a token is needed: Authorization: Bearer TOKEN, from the state directory"
            return Declined(401, "forbidden", message)
        return None


def _said(headers: Iterable[tuple[bytes, bytes]]) -> tuple[list[str], bytes, bool]:
    hosts: list[str] = []
    shown: list[bytes] = []
    origin = False
    for name, value in headers:
        if name == b"host":
            hosts.append(value.decode("latin-1"))
        elif name == b"authorization":
            shown.append(value)
        elif name == b"origin":
            origin = True
    return hosts, shown[0] if len(shown) == 1 else b"", origin


def may_ask(peer: socket.socket) -> bool:
    if peer.family != socket.AF_UNIX:
        return True  # the guard asks for its token
    found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(found)
    return user in (0, os.geteuid())


def token_of(places: Places) -> str:
    """The token for TCP, made when there is none yet; readable by its owner only."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        file = os.open(places.token, flags, 0o600)
    except FileExistsError:
        places.token.chmod(0o600)
        kept = read_plain(places.token).decode("ascii").strip()
        if len(kept) < SHORTEST_TOKEN:
            raise ValueError(f"the token in {places.token} is too short; remove the file") from None
        return kept
    token = secrets.token_urlsafe(32)
    with os.fdopen(file, "w", encoding="ascii") as made:
        made.write(f"{token}\n")
    return token
