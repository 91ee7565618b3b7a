"""The conversation itself, written once: HTTP by h11, and what to do when somebody breaks off.

Touches no socket. A talk is a generator that yields what it needs done (connect, send, receive)
and is sent the result; `Client` does it with a socket, `AsyncClient` with asyncio.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import h11
import msgspec

from paddock.wire.views import Problem

from .asks import Ask, StreamAsk
from .errors import Failed, NoDaemon, of_status

T = TypeVar("T")

CONNECT_S: Final = 2.0
AGAIN_S: Final = 0.02
LARGEST_HEAD: Final = 64 * 1024
_LOST: Final = (ConnectionError, h11.RemoteProtocolError)


@dataclass(frozen=True, slots=True)
class Connect:
    within_s: float = CONNECT_S


@dataclass(frozen=True, slots=True)
class Send:
    data: bytes


@dataclass(frozen=True, slots=True)
class Receive:
    within_s: float | None


@dataclass(frozen=True, slots=True)
class Pause:
    seconds: float


@dataclass(frozen=True, slots=True)
class Close:
    pass


Deed = Connect | Send | Receive | Pause | Close
Talk = Generator[Deed, bytes, T]


@dataclass(frozen=True, slots=True)
class Piece:
    """Of a stream: something for whoever reads it. The first is empty: the answer has begun."""

    data: bytes


class Line:
    """One connection, as far as HTTP is concerned. Carries one request at a time."""

    def __init__(self, *, host: str, where: str, token: str | None = None) -> None:
        self._headers = [("Host", host)]
        if token is not None:
            self._headers.append(("Authorization", f"Bearer {token}"))
        self._where = where
        self._http: h11.Connection | None = None

    @property
    def idle(self) -> bool:
        """Open, and ready for the next request."""
        return self._http is not None and self._http.our_state is h11.IDLE

    def ask(self, ask: Ask[T]) -> Talk[T]:
        try:
            head, body = yield from self._exchange(ask)
        except _LOST as error:
            yield from self._hang_up()
            if not ask.repeatable:
                raise Failed(f"the daemon broke off ({_plain(error)})", "lost") from None
            # Once more: it went away between two requests, or was restarted. Nothing is done twice.
            try:
                head, body = yield from self._exchange(ask)
            except _LOST as again:
                yield from self._hang_up()
                raise Failed(f"the daemon broke off ({_plain(again)})", "lost") from None
        if head.status_code != 200:
            raise _problem(head.status_code, body)
        return _decoded(body, ask.gives)

    def stream(self, ask: StreamAsk[T]) -> Generator[Deed | Piece, bytes, None]:
        """Pieces as they come, until the end. One that breaks off raises Failed (`lost`)."""
        try:
            yield from self._open()
            yield from self._send(ask.method, ask.path, ask.body, ask.headers.items())
            head = yield from self._head(ask.answer_s)
            if head.status_code != 200:
                raise _problem(head.status_code, (yield from self._body(ask.answer_s)))
            yield Piece(b"")
            while not isinstance(event := (yield from self._event(ask.answer_s)), h11.EndOfMessage):
                if isinstance(event, h11.Data):
                    yield Piece(bytes(event.data))
        except _LOST as error:
            raise Failed(f"the daemon broke off ({_plain(error)})", "lost") from None

    # -- one request ----------------------------------------------------------------------

    def _exchange(self, ask: Ask[T]) -> Talk[tuple[h11.Response, bytes]]:
        if self._http is None:
            yield from self._open()
        try:
            yield from self._send(ask.method, ask.path, ask.body)
        except ConnectionError:
            # It may have said why before it hung up.
            if self._http is None:
                raise
        try:
            head = yield from self._head(ask.answer_s)
            body = yield from self._body(ask.answer_s)
        except TimeoutError:
            yield from self._hang_up()
            raise Failed(f"no answer from the daemon within {ask.answer_s:g} s", "late") from None
        yield from self._next_cycle()
        return head, body

    def _open(self) -> Talk[None]:
        """A socket that is there and refuses belongs to a daemon that is just being restarted."""
        give_up_at = time.monotonic() + CONNECT_S
        while True:
            try:
                yield Connect()
            except (ConnectionRefusedError, BlockingIOError, TimeoutError) as error:
                if time.monotonic() > give_up_at:
                    raise _nobody(self._where, error) from None
                yield Pause(AGAIN_S)
            except OSError as error:
                raise _nobody(self._where, error) from None
            else:
                break
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)

    def _send(
        self,
        method: str,
        path: str,
        body: bytes | Iterable[bytes],
        more: Iterable[tuple[str, str]] = (),
    ) -> Talk[None]:
        assert self._http is not None
        whole = isinstance(body, bytes)
        size = ("Content-Length", str(len(body))) if isinstance(body, bytes) else _CHUNKED
        request = h11.Request(method=method, target=path, headers=[*self._headers, size, *more])
        head = self._http.send(request) or b""
        pieces: Iterator[bytes] = iter((body,)) if isinstance(body, bytes) else iter(body)
        if whole:
            # One write for a whole request: half the system calls.
            head += b"".join(self._http.send(h11.Data(data=p)) or b"" for p in pieces if p)
            yield Send(head + (self._http.send(h11.EndOfMessage()) or b""))
            return
        yield Send(head)
        for piece in pieces:
            yield Send(self._http.send(h11.Data(data=piece)) or b"")
        yield Send(self._http.send(h11.EndOfMessage()) or b"")

    def _head(self, within_s: float | None) -> Talk[h11.Response]:
        while True:
            event = yield from self._event(within_s)
            if isinstance(event, h11.Response):
                return event
            if isinstance(event, h11.ConnectionClosed):
                raise ConnectionResetError("it closed the connection")

    def _body(self, within_s: float | None) -> Talk[bytes]:
        parts: list[bytes] = []
        while not isinstance(event := (yield from self._event(within_s)), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                parts.append(bytes(event.data))
        return b"".join(parts)

    def _event(self, within_s: float | None) -> Talk[Any]:
        assert self._http is not None
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data((yield Receive(within_s)))
        return event

    def _next_cycle(self) -> Talk[None]:
        assert self._http is not None
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            yield from self._hang_up()

    def _hang_up(self) -> Talk[None]:
        self._http = None
        yield Close()


_CHUNKED: Final = ("Transfer-Encoding", "chunked")


def _nobody(where: str, error: OSError) -> NoDaemon:
    if isinstance(error, PermissionError):
        return NoDaemon(f"the daemon at {where} belongs to another user ({error.strerror})")
    return NoDaemon(f"no daemon answers at {where} ({error.strerror or error})")


def _plain(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).lower()


def _problem(status: int, body: bytes) -> Exception:
    try:
        found = msgspec.json.decode(body, type=Problem)
    except (msgspec.DecodeError, UnicodeDecodeError):
        text = body[:200].decode("utf-8", "replace").strip()
        return of_status(status, "", f"the daemon answered {status}: {text or 'nothing'}")
    return of_status(status, found.code, found.message)


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        message = f"the daemon's answer is not understood ({error}); is it of another version?"
        raise Failed(message, "version") from None
