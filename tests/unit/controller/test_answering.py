"""What a replica answers over HTTP: its pages, to whoever asks as HTTP does, and nothing more."""

from __future__ import annotations

import asyncio

import pytest

from paddock.controller.answering import LONGEST, answer

PAGES = {"/healthz": lambda: b"ok", "/metrics": lambda: b"paddock_leader 1\n"}


def asked(*requests: bytes) -> list[bytes]:
    async def whole() -> list[bytes]:
        async with await answer("127.0.0.1", 0, PAGES) as server:
            port = server.sockets[0].getsockname()[1]
            return [await _ask(port, one) for one in requests]

    return asyncio.run(whole())


async def _ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    if not request.endswith(b"\r\n\r\n"):
        writer.write_eof()
    try:
        return await asyncio.wait_for(reader.read(), 30)
    finally:
        writer.close()


def get(path: bytes, method: bytes = b"GET") -> bytes:
    return method + b" " + path + b" HTTP/1.1\r\nHost: a\r\nUser-Agent: b\r\n\r\n"


def test_a_probe_and_a_scrape_are_answered() -> None:
    probe, scrape = asked(get(b"/healthz"), get(b"/metrics?x=1"))
    assert probe.startswith(b"HTTP/1.1 200 OK\r\n") and probe.endswith(b"\r\n\r\nok")
    assert b"Content-Type: text/plain; version=0.0.4" in scrape
    assert scrape.endswith(b"\r\n\r\npaddock_leader 1\n")
    assert b"Content-Length: 17\r\n" in scrape


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (get(b"/"), b"404"),
        (get(b"/metricsx"), b"404"),
        (get(b"/healthz/../metrics"), b"404"),
        (get(b"/metrics", b"POST"), b"405"),
        (b"\r\n\r\n", b"404"),
        (get(b"/\xff\xfe"), b"404"),
    ],
)
def test_anything_else_is_refused(request_: bytes, status: bytes) -> None:
    [found] = asked(request_)
    assert found.startswith(b"HTTP/1.1 " + status)


def test_what_is_no_request_gets_no_answer_and_stops_nobody() -> None:
    torn, endless, well = asked(b"GET /heal", b"x" * (2 * LONGEST), get(b"/healthz"))
    assert torn == b"" and endless == b""
    assert well.endswith(b"ok")
