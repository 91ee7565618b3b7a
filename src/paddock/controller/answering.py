"""What a replica answers over HTTP, to whoever asks in one line: probes, and Prometheus."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Final

from paddock.observe.page import MEDIA_TYPE

PLAIN: Final = "text/plain; charset=utf-8"
LONGEST: Final = 16 << 10  # of a request: nobody has anything to tell
PATIENCE_S: Final = 10.0

Page = Callable[[], bytes]


async def answer(host: str, port: int, pages: Mapping[str, Page]) -> asyncio.Server:
    """By path. That it answers is what probes want to know: one that waits for its turn is well."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            async with asyncio.timeout(PATIENCE_S):
                asked = await reader.readuntil(b"\r\n\r\n")
                writer.write(_answered(asked, pages))
                await writer.drain()
        writer.close()

    return await asyncio.start_server(one, host, port, limit=LONGEST)


def _answered(asked: bytes, pages: Mapping[str, Page]) -> bytes:
    method, _, rest = asked.partition(b" ")
    path = rest.partition(b" ")[0].partition(b"?")[0].decode("ascii", "replace")
    page = pages.get(path)
    if page is None:
        return _whole("404 Not Found", b"not found\n")
    if method != b"GET":
        return _whole("405 Method Not Allowed", b"only GET\n")
    return _whole("200 OK", page(), MEDIA_TYPE if path == "/metrics" else PLAIN)


def _whole(status: str, body: bytes, kind: str = PLAIN) -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
