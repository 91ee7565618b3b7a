"""Answers that go on: what a run writes, and what happens in the fleet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from paddock.core.run import Ended, Run

from .answering import Stream
from .asking import Asked
from .desk import Desk
from .problems import bad_request

CHUNK: Final = 64 * 1024
MOST_LINES: Final = 1_000_000
# While output flows it is looked for often, and less and less while it does not.
SOON_S: Final = 0.05
LATEST_S: Final = 0.25
ALIVE_S: Final = 15.0  # proxies and people lose patience with a silent stream
ALIVE: Final = b": still here\n\n"


async def log(desk: Desk, asked: Asked) -> Stream:
    lines, from_byte = asked.whole("lines", most=MOST_LINES), asked.whole("from")
    if lines is not None and from_byte is not None:
        raise bad_request("found lines and from; allowed: one of them")
    run, output = await desk.find(asked.path["run"]), desk.output
    if lines is not None:
        wanted = lines
        from_byte = await desk.aside(lambda: output.tail(run.id, wanted), within_s=None)
    read = _follow if asked.flag("follow") else _read
    return Stream(_begun(read(desk, run, from_byte or 0)), "application/octet-stream")


async def _begun(pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """The head of the answer does not wait for the run's first word."""
    yield b""
    async with aclosing(pieces):
        async for piece in pieces:
            yield piece


async def _read(desk: Desk, run: Run, at: int) -> AsyncGenerator[bytes, None]:
    """What there is, from there to the end."""
    while piece := await _piece(desk, run, at):
        at += len(piece)
        yield piece


async def _follow(desk: Desk, run: Run, at: int) -> AsyncGenerator[bytes, None]:
    """Until the run has ended and all is sent: an end is told when the last byte is there."""
    pause_s = SOON_S
    while True:
        ended = _has_ended(desk, run)
        before = at
        async for piece in _read(desk, run, at):
            at += len(piece)
            yield piece
        if ended:
            return
        pause_s = SOON_S if at > before else min(pause_s * 1.5, LATEST_S)
        await desk.supervisor.ended({run.id}, within_s=pause_s)


async def _piece(desk: Desk, run: Run, at: int) -> bytes:
    """The size is a look at a file or two; reading may have to wait for the disk."""
    output = desk.output
    if output.size(run.id) <= at:
        return b""
    return await desk.aside(lambda: output.read(run.id, at, CHUNK), within_s=None)


def _has_ended(desk: Desk, run: Run) -> bool:
    known = desk.supervisor.fleet.runs.get(run.id)
    return known is None or isinstance(known.state, Ended)


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
