"""Who gets into the dashboard: whoever has the link, once, in a real Chromium; and nobody else."""

from __future__ import annotations

import http.server
import threading

import pytest
from playwright.sync_api import expect

from tests.kit.waiting import until
from tests.web.conftest import Sight
from tests.web.looking import (
    asked,
    cookie_of,
)


def test_a_link_works_once_and_leaves_a_cookie_that_no_script_and_no_other_page_gets(
    sight: Sight,
) -> None:
    link = sight.web.link
    context, page = sight.web.let_in(sight.browser)
    expect(page.locator("h1")).to_have_text("Overview")
    assert "token" not in page.url
    cookie = next(c for c in context.cookies() if c["name"].startswith("paddock_web_"))
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    context.close()

    other = sight.browser.new_context()
    late = other.new_page()
    answer = late.goto(link)
    assert answer and answer.status == 401
    expect(late.locator("body")).to_contain_text("A link works once")
    other.close()


@pytest.mark.parametrize(
    "path",
    [
        *("/", "/agents", "/agents/x", "/workspaces", "/benchmarks", "/capacity", "/report/x"),
        *("/assets/style.css", "/_nicegui/x", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"),
        *("/docs", "/openapi.json", "/?token=", "/?token=wrong"),
    ],
)
def test_without_the_cookie_there_is_nothing(sight: Sight, path: str) -> None:
    for top in ("", sight.web.top):  # also for whoever has seen an address in somebody's browser
        status, body = asked(sight, f"{top}{path}")
        assert status == 401
        assert b"This dashboard is its owner" in body


def test_a_server_on_another_port_of_this_host_is_not_shown_the_cookie(sight: Sight) -> None:
    seen: list[str] = []

    class Stranger(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(f"{self.path} {self.headers.get('Cookie', '')}")
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><img src='/image'>")

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as stranger:
        threading.Thread(target=stranger.serve_forever, daemon=True).start()
        context, page = sight.web.let_in(sight.browser)
        page.goto(f"http://127.0.0.1:{stranger.server_port}/")
        until(lambda: any(one.startswith("/image") for one in seen), within_s=30)
        assert any(cookie["name"].startswith("paddock_web_") for cookie in context.cookies())
        context.close()
        stranger.shutdown()
    assert not any("paddock_web" in one for one in seen), seen


def test_with_the_cookie_and_without_the_path_there_is_nothing_either(sight: Sight) -> None:
    assert asked(sight, "/agents", Cookie=cookie_of(sight))[0] == 401
    assert asked(sight, f"{sight.web.top}x/agents", Cookie=cookie_of(sight))[0] == 401


def test_another_name_another_origin_and_a_foreign_websocket_are_refused(sight: Sight) -> None:
    cookie = cookie_of(sight)
    here, agents = f"127.0.0.1:{sight.web.port}", f"{sight.web.top}/agents"
    assert asked(sight, agents, Cookie=cookie)[0] == 200
    assert asked(sight, agents, Cookie=cookie, Host="evil.example")[0] == 421
    assert asked(sight, agents, Cookie=cookie, Origin="http://evil.example")[0] == 403
    socket_ = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
    socket_ |= {"Sec_WebSocket_Key": "c3VwZXIgc2VjcmV0IGtleQ=="}
    way = f"{sight.web.top}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    foreign = socket_ | {"Origin": "http://evil.example"}
    assert asked(sight, way, Cookie=cookie, **foreign)[0] == 403
    assert asked(sight, way, Cookie=cookie, **socket_)[0] == 403
    assert asked(sight, way, **socket_ | {"Origin": f"http://{here}"})[0] == 403
