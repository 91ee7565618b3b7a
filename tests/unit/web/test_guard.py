"""Who gets in: a link once, a cookie, this host's name, no other page."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from paddock.web.guard import MOST_SESSIONS, Guard, Keys, Message, allowed_names, is_loopback

PORT = 7177
HERE = f"127.0.0.1:{PORT}"


class Door:
    """The guard in front of an application that says yes to everything."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.keys = Keys(port=PORT)
        self.used = 0
        self._guard = Guard(_yes, self.keys, host=host, used=self._use)

    def _use(self) -> None:
        self.used += 1

    def asks(
        self, target: str = "/", *, kind: str = "http", top: str | None = None, **headers: str
    ) -> list[Message]:
        path, _, query = target.partition("?")
        path = (self.keys.path if top is None else top) + path
        said = {"host": HERE} | headers
        scope: Message = {
            "type": kind,
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in said.items() if value],
        }
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": f"{kind}.connect"}

        async def send(message: Message) -> None:
            sent.append(message)

        asyncio.run(self._guard(scope, receive, send))
        return sent

    def status(self, target: str = "/", **headers: str) -> int:
        return int(self.asks(target, **headers)[0]["status"])

    def cookie(self) -> str:
        answer = self.asks(f"/?token={self.keys.new_token()}")
        assert answer[0]["status"] == 200
        return str(dict(answer[0]["headers"])[b"set-cookie"].decode()).partition(";")[0]


async def _yes(scope: Message, receive: Any, send: Any) -> None:
    del receive
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})


def test_a_token_lets_one_in_and_is_then_worth_nothing() -> None:
    door = Door()
    token = door.keys.new_token()
    answer = door.asks(f"/?token={token}")
    cookie = dict(answer[0]["headers"])[b"set-cookie"].decode()
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    # For this path alone: browsers do not tell the ports of a host apart.
    assert cookie.endswith(f"; Path={door.keys.path}/") and len(door.keys.path) > 20
    assert token not in cookie
    assert door.used == 1
    assert door.status(f"/?token={token}") == 401
    assert door.status("/agents", cookie=cookie.partition(";")[0]) == 200


def test_a_new_token_takes_the_place_of_the_one_before() -> None:
    door = Door()
    old, new = door.keys.new_token(), door.keys.new_token()
    assert door.status(f"/?token={old}") == 401
    assert door.status(f"/?token={new}") == 200


@pytest.mark.parametrize("cookie", ["", "x=y", f"paddock_web_{PORT}=", f"paddock_web_{PORT}=ä"])
def test_without_the_right_cookie_there_is_nothing(cookie: str) -> None:
    door = Door()
    door.cookie()
    sent = door.asks("/agents", cookie=cookie)
    assert sent[0]["status"] == 401
    assert b"inside" not in sent[1]["body"]


@pytest.mark.parametrize("top", ["", "/", "/x", "/\udcff"])
def test_outside_of_the_path_that_nobody_can_guess_there_is_nothing(top: str) -> None:
    door = Door()
    cookie = door.cookie()
    token = door.keys.new_token()
    for target in ("/", "/agents", f"/?token={token}"):
        sent = door.asks(target, top=top, cookie=cookie)
        assert sent[0]["status"] == 401 and b"inside" not in sent[1]["body"]
    assert door.status(f"/?token={token}") == 200  # it was not used up there


@pytest.mark.parametrize(
    "others", ["a b=c", 'x="', "paddock_web_7177=forged", "=", ";;", "$Version=1", "ä=ö"]
)
def test_cookies_of_other_servers_of_this_host_are_not_in_the_way(others: str) -> None:
    door = Door()
    own = door.cookie()
    for cookie in (f"{others}; {own}", f"{own}; {others}"):
        assert door.status("/agents", cookie=cookie) == 200


def test_the_cookie_of_another_dashboard_on_this_host_is_not_ours() -> None:
    door, other = Door(), Door()
    assert door.status("/", cookie=other.cookie()) == 401


def test_only_so_many_browsers_are_remembered() -> None:
    door = Door()
    first = door.cookie()
    for _ in range(MOST_SESSIONS):
        door.cookie()
    assert door.status("/agents", cookie=first) == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "0.0.0.0:7177", ""])
def test_another_hosts_name_is_refused_also_with_the_cookie(host: str) -> None:
    door = Door()
    assert door.status("/", cookie=door.cookie(), host=host) in (400, 421)


@pytest.mark.parametrize("host", [HERE, f"localhost:{PORT}", f"[::1]:{PORT}", "LOCALHOST"])
def test_the_names_of_loopback_are_fine(host: str) -> None:
    door = Door()
    assert door.status("/", cookie=door.cookie(), host=host) == 200


def test_the_origin_of_another_page_is_refused() -> None:
    door = Door()
    cookie = door.cookie()
    assert door.status("/", cookie=cookie, origin=f"http://{HERE}") == 200
    for origin in ("http://evil.example", "null", f"https://{HERE}", f"http://localhost:{PORT}"):
        assert door.status("/", cookie=cookie, origin=origin) == 403
    token = door.keys.new_token()
    assert door.status(f"/?token={token}", origin="http://evil.example") == 403
    assert door.status(f"/?token={token}") == 200


def test_a_websocket_needs_the_cookie_and_the_origin_of_our_page() -> None:
    door = Door()
    cookie, ours = door.cookie(), f"http://{HERE}"

    def opened(**headers: str) -> bool:
        sent = door.asks("/ws", kind="websocket", **headers)
        return [message["type"] for message in sent] == ["websocket.accept"]

    assert opened(cookie=cookie, origin=ours)
    assert not opened(cookie=cookie)
    assert not opened(cookie=cookie, origin="http://evil.example")
    assert not opened(origin=ours)
    assert not opened(cookie=cookie, origin="http://evil.example", host="evil.example")


def test_every_answer_says_that_nothing_may_come_from_elsewhere() -> None:
    door = Door()
    for sent in (door.asks("/"), door.asks("/", cookie=door.cookie())):
        policy = dict(sent[0]["headers"])[b"content-security-policy"].decode()
        assert "default-src 'self'" in policy and "http" not in policy


def test_where_others_are_let_in_an_address_will_do_and_a_foreign_name_will_not() -> None:
    door = Door(host="0.0.0.0")
    cookie = door.cookie()
    assert door.status("/", cookie=cookie, host="192.0.2.7:7177") == 200
    assert door.status("/", cookie=cookie, host="evil.example") == 421


def test_loopback_is_known_in_every_spelling() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.7", "example.org")))
    assert "[::1]" in allowed_names("::1") and "*" not in allowed_names("::1")
