"""The asynchronous client: the same talks, done with asyncio. Calls may overlap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator
from types import TracebackType
from typing import Any, Self, TypeVar, assert_never

from paddock.config.places import Places

from .asks import Ask, StreamAsk
from .endpoints import AsyncSide, Endpoints
from .reaching import Address, address_of, check_owner, reachable
from .starting import ensure_daemon
from .talking import Close, Connect, Deed, Line, Pause, Piece, Receive, Send

T = TypeVar("T")

RECEIVED = 256 * 1024


class _Wire:
    """Streams that do what a talk asks for."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def do(self, deed: Deed) -> bytes:
        match deed:
            case Receive(within_s):
                assert self._reader is not None
                return await asyncio.wait_for(self._reader.read(RECEIVED), within_s)
            case Send(data):
                assert self._writer is not None
                self._writer.write(data)
                await self._writer.drain()
            case Connect(within_s):
                self.close()
                await asyncio.wait_for(self._connect(), within_s)
            case Pause(seconds):
                await asyncio.sleep(seconds)
            case Close():
                self.close()
            case _:
                assert_never(deed)
        return b""

    async def _connect(self) -> None:
        address = self._address
        if address.path is None:
            self._reader, self._writer = await asyncio.open_connection(address.host, address.port)
            return
        with reachable(address.path) as name:
            self._reader, self._writer = await asyncio.open_unix_connection(name)
        try:
            check_owner(self._writer.get_extra_info("socket"))
        except PermissionError:
            self.close()
            raise

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


class AsyncClient(Endpoints, AsyncSide):
    """As `Client`, with the same methods as coroutines and async iterators."""

    def __init__(
        self, places: Places, *, address: str | None = None, token: str | None = None
    ) -> None:
        self._address = address_of(places, address, token)
        self._free: list[tuple[Line, _Wire]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        while self._free:
            self._free.pop()[1].close()
        await asyncio.sleep(0)  # for the transports to close their sockets

    async def perform(self, ask: Ask[T]) -> T:
        line, wire = self._free.pop() if self._free else self._new()
        try:
            return await _drive(line.ask(ask), wire)
        finally:
            if line.idle:
                self._free.append((line, wire))
            else:
                wire.close()

    async def follow(self, ask: StreamAsk[T]) -> AsyncIterator[T]:
        """On a connection of its own, which is closed when the iterator is."""
        line, wire = self._new()
        feed = ask.reader()
        try:
            pieces = _pieces(line.stream(ask), wire)
            await anext(pieces)  # empty: the answer has begun
            async for piece in pieces:
                for item in feed(piece):
                    yield item
        finally:
            wire.close()

    def _new(self) -> tuple[Line, _Wire]:
        return self._address.line(), _Wire(self._address)


async def ensure_daemon_async(places: Places) -> None:
    await asyncio.to_thread(ensure_daemon, places)


async def _drive(talk: Generator[Deed, bytes, T], wire: _Wire) -> T:
    try:
        deed = next(talk)
        while True:
            try:
                done = await wire.do(deed)
            except OSError as error:
                deed = talk.throw(error)
            else:
                deed = talk.send(done)
    except StopIteration as end:
        result: T = end.value
        return result


async def _pieces(talk: Generator[Deed | Piece, bytes, Any], wire: _Wire) -> AsyncIterator[bytes]:
    try:
        deed = next(talk)
        while True:
            if isinstance(deed, Piece):
                yield deed.data
                deed = talk.send(b"")
                continue
            try:
                done = await wire.do(deed)
            except OSError as error:
                deed = talk.throw(error)
            else:
                deed = talk.send(done)
    except StopIteration:
        return
