"""Answers that go on: what happens in the fleet. What a run writes is in `log_stream`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from .answering import Stream
from .asking import Asked
from .desk import Desk
from .log_stream import log

__all__ = ["events", "log"]

ALIVE_S: Final = 15.0  # proxies and people lose patience with a silent stream
ALIVE: Final = b": still here\n\n"


async def events(desk: Desk, asked: Asked) -> Stream:
    return Stream(_events(desk, _last_seen(asked)), "text/event-stream")


def _last_seen(asked: Asked) -> int | None:
    text = asked.header(b"last-event-id") or ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


async def _events(desk: Desk, after: int | None) -> AsyncGenerator[bytes, None]:
    supervisor = desk.supervisor
    news = supervisor.news
    subscription = news.subscribe(after=after)
    try:
        yield _hello(after, last=news.last, kept=[item.n for item in news.since(after or 0)])
        while True:
            try:
                # Loses nothing: an item is only taken once there is nothing left to wait for.
                async with asyncio.timeout(ALIVE_S):
                    item = await anext(subscription)
            except TimeoutError:
                yield ALIVE
            except StopAsyncIteration:
                return
            else:
                yield desk.told.of(supervisor.clock, item)
    finally:
        subscription.close()


def _hello(after: int | None, *, last: int, kept: list[int]) -> bytes:
    """Sent at once, so that a reader knows it is heard; and says what is no longer there."""
    if after is None or after == last:
        return b": hello\n\n"
    if after > last:
        return b": these are the events of another daemon; it counts from 1\n\n"
    if kept and kept[0] == after + 1:
        return b": hello again\n\n"
    return f": what came after {after} is no longer there\n\n".encode()
