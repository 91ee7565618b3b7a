"""The synchronous client: talks are done with plain sockets. May be shared between threads."""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import Any, Final, Self, TypeVar, cast

from paddock.config.places import Places

from .asks import Ask, StreamAsk
from .endpoints import Endpoints, SyncSide
from .reaching import Address, address_of, check_owner, reachable
from .talking import (
    Close,
    Connect,
    Deed,
    Line,
    Pause,
    Piece,
    Receive,
    Send,
    decoded,
    late,
    plain_body,
)

T = TypeVar("T")

RECEIVED: Final = 64 * 1024  # more is mapped anew for every answer
SHORTEST_S: Final = 0.001  # to the kernel, none at all is for ever


class _Wire:
    """A socket that does what a talk asks for."""

    def __init__(self, address: Address, on_silence: Callable[[], None] | None = None) -> None:
        self._address = address
        self._socket: socket.socket | None = None
        self._patience_s: float | None = None
        self._on_silence = on_silence
        self.quiet_s: float | None = None  # of what is being asked

    def do(self, deed: Deed) -> bytes:
        match deed:
            case Receive(within_s):
                assert self._socket is not None
                return self._received(self._socket, within_s)
            case Send(data):
                assert self._socket is not None
                self._socket.sendall(data)
            case Connect(within_s):
                self.close()
                self._socket = self._connected(within_s)
                self._socket.settimeout(None)
                self._patience_s = None
            case Pause(seconds):
                time.sleep(seconds)
            case Close():
                self.close()
        return b""

    def exchange(self, request: bytes, within_s: float | None) -> bytes:
        assert self._socket is not None
        self._socket.sendall(request)
        return self._received(self._socket, within_s)

    def _received(self, wire: socket.socket, within_s: float | None) -> bytes:
        quiet_s = self.quiet_s
        if self._on_silence is None or quiet_s is None or (within_s and within_s <= quiet_s):
            return self._read(wire, within_s)
        try:
            return self._read(wire, quiet_s)
        except TimeoutError:
            self.quiet_s = None  # said once
            self._on_silence()
        return self._read(wire, None if within_s is None else within_s - quiet_s)

    def _read(self, wire: socket.socket, within_s: float | None) -> bytes:
        """The kernel keeps the time: with Python's own, each call would first ask by another."""
        if within_s != self._patience_s:
            seconds = 0.0 if within_s is None else max(within_s, SHORTEST_S)
            whole = int(seconds)
            given = struct.pack("ll", whole, int((seconds - whole) * 1e6))
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, given)
            self._patience_s = within_s
        try:
            return wire.recv(RECEIVED)
        except BlockingIOError:
            raise TimeoutError(errno.ETIMEDOUT, "timed out") from None

    def _connected(self, within_s: float) -> socket.socket:
        address = self._address
        if address.path is None:
            return socket.create_connection((address.host, address.port), within_s)
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.settimeout(within_s)
            with reachable(address.path) as name:
                made.connect(name)
            check_owner(made)
        except BaseException:
            made.close()
            raise
        return made

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Client(Endpoints, SyncSide):
    """Connects when it is first asked something; `with` or `close` lets go of the connection.

    `on_silence` is called when an answer takes longer than it should; it is still waited for.
    """

    def __init__(
        self,
        places: Places,
        *,
        address: str | None = None,
        token: str | None = None,
        on_silence: Callable[[], None] | None = None,
    ) -> None:
        self._address = address_of(places, address, token)
        self._on_silence = on_silence
        self._free: list[tuple[Line, _Wire]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        while self._free:
            self._free.pop()[1].close()

    def perform(self, ask: Ask[T]) -> T:
        line, wire = self._free.pop() if self._free else self._new()
        wire.quiet_s = ask.quiet_s
        try:
            begun = self._begin(ask, line, wire)
            body = None if begun is None else plain_body(begun)
            if body is not None:
                line.answered()
                return decoded(body, ask.gives)
            return _drive(line.ask(ask, begun), wire)
        finally:
            if line.idle:
                self._free.append((line, wire))
            else:
                wire.close()

    @staticmethod
    def _begin(ask: Ask[T], line: Line, wire: _Wire) -> bytes | None:
        """Said and answered in one breath, as nearly always; None: it is to be said at length."""
        request = line.plain(ask)
        if request is None:
            return None
        try:
            return wire.exchange(request, ask.answer_s)
        except TimeoutError:
            line.lost()
            raise late(ask) from None
        except OSError:
            line.lost()
            return None

    def follow(self, ask: StreamAsk[T]) -> Iterator[T]:
        """On a connection of its own, which is closed when the iterator is. The answer has begun
        when this returns: what happens from now on is in it."""
        items = self._items(ask)
        next(items)
        return items

    def _items(self, ask: StreamAsk[T]) -> Iterator[T]:
        line, wire = self._new()
        feed = ask.reader()
        try:
            pieces = _pieces(line.stream(ask), wire)
            next(pieces)
            yield cast(T, None)
            for piece in pieces:
                yield from feed(piece)
        finally:
            wire.close()

    def _new(self) -> tuple[Line, _Wire]:
        return self._address.line(), _Wire(self._address, self._on_silence)


def _drive(talk: Generator[Deed, bytes, T], wire: _Wire) -> T:
    try:
        deed = next(talk)
        while True:
            try:
                done = wire.do(deed)
            except OSError as error:
                deed = talk.throw(error)
            else:
                deed = talk.send(done)
    except StopIteration as end:
        result: T = end.value
        return result


def _pieces(talk: Generator[Deed | Piece, bytes, Any], wire: _Wire) -> Iterator[bytes]:
    try:
        deed = next(talk)
        while True:
            if isinstance(deed, Piece):
                yield deed.data
                deed = talk.send(b"")
                continue
            try:
                done = wire.do(deed)
            except OSError as error:
                deed = talk.throw(error)
            else:
                deed = talk.send(done)
    except StopIteration:
        return
