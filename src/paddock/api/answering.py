"""From a handler to HTTP: what it returns goes out as JSON, what it raises as a problem.

No middleware and no Request objects on the way: a submission should cost what its run costs.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from paddock.storage.errors import StoreError
from paddock.supervisor.trouble import StoreTrouble

from .asking import Asked, Gone, Message, Receive
from .desk import Desk
from .problems import Declined, trouble

Send = Callable[[Message], Awaitable[None]]
Handler = Callable[[Desk, Asked], Awaitable[object]]

_JSON: Final = b"application/json"
_FRESH: Final = (b"cache-control", b"no-store")
_encode: Final = msgspec.json.Encoder().encode

log = logging.getLogger("paddock.api")


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer without an end in sight. Its first piece comes at once and shows that everything
    is in place, so that whoever sees the head of the answer misses nothing; it may be empty."""

    pieces: AsyncGenerator[bytes, None]
    media_type: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


@dataclass(frozen=True, slots=True)
class Ready:
    """An answer that is JSON already."""

    body: bytes


@dataclass(frozen=True, slots=True)
class Plain:
    """An answer that is text of its own kind."""

    body: bytes
    media_type: str


class Endpoint:
    """One route, as an ASGI application."""

    def __init__(self, desk: Desk, handle: Handler, query: Sequence[str]) -> None:
        self._desk = desk
        self._handle = handle
        self._query = frozenset(query)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            asked = Asked(scope, receive, self._query, self._desk.bodies)
            answer = await self._handle(self._desk, asked)
        except Gone:
            return
        except Exception as error:  # noqa: BLE001 - the daemon outlives a bug in a handler
            await send_problem(send, declined_by(error, scope))
        else:
            await _send_answer(answer, receive, send, path=scope["path"])


def declined_by(error: BaseException, scope: Message) -> Declined:
    """What is said of an error. A bug is logged, and not said more of."""
    if isinstance(error, Declined):
        return error
    if isinstance(error, StoreTrouble | StoreError):
        return trouble(str(error))
    log_bug(scope, error)
    return Declined(500, "internal", "paddock met a bug; the daemon's log says where")


async def _send_answer(answer: object, receive: Receive, send: Send, *, path: str) -> None:
    if isinstance(answer, Stream):
        await _send_stream(answer, receive, send, path=path)
        return
    if isinstance(answer, Plain):
        await send_body(send, 200, answer.body, kind=answer.media_type.encode())
        return
    body = answer.body if isinstance(answer, Ready) else _encode(answer)
    await send_body(send, 200, body)


async def send_problem(send: Send, declined: Declined) -> None:
    await send_body(send, declined.status, declined.body())


async def send_body(send: Send, status: int, body: bytes, *, kind: bytes = _JSON) -> None:
    length = (b"content-length", str(len(body)).encode())
    headers = [(b"content-type", kind), _FRESH, length]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _send_stream(stream: Stream, receive: Receive, send: Send, *, path: str) -> None:
    first = await anext(stream.pieces)
    headers = [(b"content-type", stream.media_type.encode()), _FRESH, *stream.headers]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": first, "more_body": True})
    sending = asyncio.ensure_future(_send_pieces(stream, send))
    leaving = asyncio.ensure_future(_until_gone(receive))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        if sending.done() and not sending.cancelled() and (error := sending.exception()):
            # Too late for a problem: returning without the end makes the server break it off.
            log_bug({"path": path}, error)
    finally:
        for task in (sending, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


async def _send_pieces(stream: Stream, send: Send) -> None:
    async with aclosing(stream.pieces) as pieces:
        async for piece in pieces:
            if piece:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def log_bug(scope: Any, error: BaseException) -> None:
    """Where, and of what kind; not the message, which may hold what nobody else should read."""
    where = "".join(traceback.format_tb(error.__traceback__))
    log.error("a bug answering %s: %s\n%s", scope.get("path"), type(error).__name__, where)
