"""Lines on which a server goes on telling, and what becomes of one that is dead."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import httpx2
import pytest

from paddock.cluster.lines import changes


@contextlib.asynccontextmanager
async def a_server(said: bytes) -> AsyncIterator[httpx2.AsyncClient]:
    """It says this, and nothing more; the line stays open."""
    lines: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        yield client
    for line in lines:
        line.transport.abort()
    server.close()
    await server.wait_closed()


def test_a_watch_on_a_line_that_is_dead_ends_soon_after_its_time() -> None:
    event = json.dumps({"type": "ADDED", "object": {}}).encode() + b"\n"
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%s\r\n" % (len(event), event)

    async def whole() -> None:
        async with a_server(head + chunk) as client:
            told = changes(client, "/", {}, watch_s=1, late_s=0.2)
            assert json.loads(await anext(told))["type"] == "ADDED"
            with pytest.raises(httpx2.ReadTimeout):
                await anext(told)

    asyncio.run(whole())
