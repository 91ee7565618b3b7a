"""In front of every page, file and websocket: is it the owner, and did no other page send it.

Who shows the token of the printed link gets a cookie, once. Without the cookie there is nothing,
not even a style sheet. Host and Origin are looked at, so that no web page can come in through a
name that it controls, or with a cookie that is not its own.

A browser shows a cookie to every port of a host, so also to a server of another user there. That
is why all of this lies below a path that nobody can guess, and the cookie is for that path alone.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final
from urllib.parse import parse_qs

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

MOST_SESSIONS: Final = 64  # the oldest goes
MOST_COOKIES: Final = 200
_HOST: Final = re.compile(r"([A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::([0-9]{1,5}))?")
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
# Vue compiles templates and nicegui sends snippets, so scripts need eval; but none comes from
# elsewhere, and nothing that a page holds can be sent elsewhere.
_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-src 'self'; frame-ancestors 'self'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"SAMEORIGIN"),
)
_NOBODY: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8>"
    "<meta name=viewport content='width=device-width, initial-scale=1'>"
    "<meta name=color-scheme content='light dark'><title>paddock</title>"
    "<style>body{font:16px/1.6 system-ui,sans-serif;max-width:34rem;margin:18vh auto;"
    "padding:0 1.5rem}code{font-size:.95em}</style><h1>This dashboard is its owner's</h1>"
    "<p>Open the link that <code>paddock web</code> printed. A link works once; press Enter in "
    "that terminal for another one.</p></html>"
)
# A page and no redirect: a browser that came from elsewhere would not show the new cookie to one.
_WELCOME: Final = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>paddock</title>"
    "<meta http-equiv=refresh content='0;url=./'><p><a href='./'>Go on to the dashboard</a></p>"
    "</html>"
)


class Keys:
    """Tokens that were printed and not used yet, and the browsers that have used one."""

    def __init__(self, *, port: int) -> None:
        # Browsers send a cookie to every port of a host: two dashboards must not share one.
        self.cookie = f"paddock_web_{port}"
        self.path = f"/{secrets.token_urlsafe(16)}"
        self._tokens: list[str] = []
        self._sessions: dict[str, None] = {}

    def new_token(self) -> str:
        """Only the newest counts."""
        token = secrets.token_urlsafe(32)
        self._tokens[:] = [token]
        return token

    def use(self, token: str) -> str | None:
        """A session for a token, which is worth nothing from now on."""
        shown = token.encode("utf-8", "replace")
        if not any(hmac.compare_digest(kept.encode(), shown) for kept in self._tokens):
            return None
        self._tokens.clear()
        session = secrets.token_urlsafe(32)
        self._sessions[session] = None
        while len(self._sessions) > MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return session

    def knows(self, header: str) -> bool:
        """Other servers of this host can set cookies too, of the same name, or such as no parser
        takes: each is looked at by itself, and one that is right is enough."""
        pairs = (part.strip().partition("=") for part in header.split(";")[:MOST_COOKIES])
        shown = [value.encode() for name, _, value in pairs if name == self.cookie]
        known = [kept.encode() for kept in self._sessions]
        return any(hmac.compare_digest(kept, value) for value in shown for kept in known)

    def leads_inside(self, path: str) -> bool:
        begin = f"{self.path}/".encode()
        return hmac.compare_digest(path.encode("utf-8", "replace")[: len(begin)], begin)


class Guard:
    """`used` is told when a token was used."""

    def __init__(self, app: App, keys: Keys, *, host: str, used: Callable[[], None]) -> None:
        self.app = app
        self._keys = keys
        self._names = allowed_names(host)
        self._used = used

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        said = _said(scope["headers"])
        wrong = self._wrong(scope, said)
        if wrong is not None:
            await _refuse(scope, receive, send, *wrong)
        elif not self._keys.leads_inside(scope["path"]):
            await _refuse(scope, receive, send, 401, _NOBODY)
        elif (token := _token_of(scope, self._keys.path)) is not None:
            await self._welcome(send, token)
        elif self._keys.knows("; ".join(said.get("cookie", ()))):
            inside = {**scope, "root_path": self._keys.path}
            await self.app(inside, receive, _with_headers(send))
        else:
            await _refuse(scope, receive, send, 401, _NOBODY)

    def _wrong(self, scope: Message, said: dict[str, list[str]]) -> tuple[int, str] | None:
        hosts = said.get("host", [])
        match = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if match is None:
            return 400, "the request needs one plain Host header"
        if not _is_allowed(match[1].lower(), self._names):
            return 421, "this is not the host that was asked for"
        origins = said.get("origin", [])
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return 403, "requests of other web pages are not answered"
        if scope["type"] == "websocket" and not origins:
            return 403, "a websocket needs the Origin of its page"
        return None

    async def _welcome(self, send: Send, token: str) -> None:
        session = self._keys.use(token)
        if session is None:
            await _answer(send, 401, _NOBODY)
            return
        name, path = self._keys.cookie, self._keys.path
        cookie = f"{name}={session}; HttpOnly; SameSite=Strict; Path={path}/"
        await _answer(send, 200, _WELCOME, (b"set-cookie", cookie.encode()))
        self._used()


def allowed_names(host: str) -> frozenset[str]:
    """What a Host header may say. An address cannot be claimed by a foreign name server, so where
    others are let in, any address will do (written as `*`)."""
    if is_loopback(host):
        return _LOOPBACK | {_bracketed(host)}
    return _LOOPBACK | {_bracketed(host), socket.gethostname().lower(), socket.getfqdn(), "*"}


def _is_allowed(name: str, names: frozenset[str]) -> bool:
    return name in names or ("*" in names and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _bracketed(host: str) -> str:
    return f"[{host.lower()}]" if ":" in host else host.lower()


def _said(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, list[str]]:
    said: dict[str, list[str]] = {}
    for name, value in headers:
        said.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return said


def _token_of(scope: Message, top: str) -> str | None:
    if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != f"{top}/":
        return None
    found = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
    return found[0] if found else None


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            mine = {name for name, _ in message.get("headers", ())}
            extra = [pair for pair in _HEADERS if pair[0] not in mine]
            message["headers"] = [*message.get("headers", ()), *extra]
        await send(message)

    return sent


async def _refuse(scope: Message, receive: Receive, send: Send, status: int, text: str) -> None:
    if scope["type"] == "websocket":
        await receive()  # its wish to connect; closed before it is accepted, it is answered 403
        await send({"type": "websocket.close", "code": 1008})
        return
    await _answer(send, status, text)


async def _answer(send: Send, status: int, text: str, *more: tuple[bytes, bytes]) -> None:
    kind = b"text/html" if text.startswith("<!") else b"text/plain"
    headers = [
        (b"content-type", kind + b"; charset=utf-8"),
        (b"cache-control", b"no-store"),
        *_HEADERS,
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
