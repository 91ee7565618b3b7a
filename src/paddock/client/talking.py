"""The conversation itself, written once: HTTP, and what to do when somebody breaks off.

Answers are parsed by httptools, which is C: with h11 a request took the client 250 us of CPU, now
it takes 66, and every command paid for importing it.

Touches no socket. A talk is a generator that yields what it needs done (connect, send, receive)
and is sent the result; `Client` does it with a socket, `AsyncClient` with asyncio.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable, Mapping
from typing import Final, TypeVar

import httptools
import msgspec

from paddock.wire.one_line import safe
from paddock.wire.views import Problem

from .asks import Ask, StreamAsk
from .errors import BadRequest, Failed, NoDaemon, not_understood, of_status

T = TypeVar("T")

CONNECT_S: Final = 2.0
# A daemon that hung up on us was killed or has died: its keeper waits a second, and on a busy
# machine the next one takes some more to begin.
RESTART_S: Final = 10.0
AGAIN_S: Final = 0.02
LARGEST_HEAD: Final = 64 * 1024
# As the daemon writes it; in any other form the parser reads it.
_PLAIN: Final = re.compile(
    rb"HTTP/1\.1 200 OK\r\ncontent-type: application/json\r\ncache-control: no-store\r\n"
    rb"content-length: ([0-9]{1,6})\r\n\r\n"
)
_LOST: Final = (ConnectionError, httptools.HttpParserError)


# Structs, because a dataclass takes a millisecond to make, at every start of a command.
class Connect(msgspec.Struct, frozen=True):
    within_s: float = CONNECT_S


class Send(msgspec.Struct, frozen=True):
    data: bytes


class Receive(msgspec.Struct, frozen=True):
    within_s: float | None


class Pause(msgspec.Struct, frozen=True):
    seconds: float


class Close(msgspec.Struct, frozen=True):
    pass


Deed = Connect | Send | Receive | Pause | Close
Talk = Generator[Deed, bytes, T]


class Piece(msgspec.Struct, frozen=True):
    """Of a stream: something for whoever reads it. The first is empty: the answer has begun."""

    data: bytes


class _Answer:
    """One answer, as far as it has come. The parser calls the `on_…`."""

    def __init__(self) -> None:
        self.status = 0
        self.complete = False
        self.reusable = False
        self._parts: list[bytes] = []
        self._head_bytes = 0
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        if not data:
            raise ConnectionResetError("it closed the connection")
        self._parser.feed_data(data)

    def taken(self) -> bytes:
        """What has come of the body since it was last taken."""
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > LARGEST_HEAD:
            raise ConnectionAbortedError("its headers have no end")

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()

    def on_body(self, data: bytes) -> None:
        self._parts.append(data)

    def on_message_complete(self) -> None:
        self.complete = True
        self.reusable = self._parser.should_keep_alive()


class Line:
    """One connection, as far as HTTP is concerned. Carries one request at a time."""

    def __init__(self, *, host: str, where: str, token: str | None = None) -> None:
        self._common = f" HTTP/1.1\r\nHost: {_header(host)}\r\n"
        if token is not None:
            self._common += f"Authorization: Bearer {_header(token)}\r\n"
        self._where = where
        self._open = False
        self.idle = False  # open, and ready for the next request

    def ask(self, ask: Ask[T], begun: bytes | None = None) -> Talk[T]:
        """`begun`: it was sent already (see `plain`), and this has come of the answer."""
        try:
            status, body = yield from self._exchange(ask, begun)
        except _LOST as error:
            yield from self._hang_up()
            if not ask.repeatable:
                raise Failed(f"the daemon broke off ({_plain(error)})", "lost") from None
            # Once more: it went away between two requests, or was restarted. Nothing is done twice.
            try:
                yield from self._connect(within_s=RESTART_S)
                status, body = yield from self._exchange(ask)
            except _LOST as again:
                yield from self._hang_up()
                raise Failed(f"the daemon broke off ({_plain(again)})", "lost") from None
        if status != 200:
            raise _problem(status, body)
        return decoded(body, ask.gives)

    def plain(self, ask: Ask[T]) -> bytes | None:
        """The whole request, where one write will do; None: it must be talked over. Only what may
        be asked again: what goes wrong on the short way, the long one mends."""
        if not (self.idle and ask.repeatable and isinstance(ask.body, bytes)):
            return None
        self.idle = False  # an answer is owed from here on, whatever interrupts us
        return self._request(ask.method, ask.path, ask.body)

    def answered(self) -> None:
        self.idle = True

    def lost(self) -> None:
        """Whoever used it for a plain request got no answer."""
        self._open = False

    def stream(self, ask: StreamAsk[T]) -> Generator[Deed | Piece, bytes, None]:
        """Pieces as they come, until the end. One that breaks off raises Failed (`lost`)."""
        try:
            yield from self._connect()
            yield from self._send(ask.method, ask.path, ask.body, ask.headers)
            answer = _Answer()
            while not answer.status:
                answer.feed((yield Receive(ask.answer_s)))
            if answer.status != 200:
                raise _problem(answer.status, (yield from self._rest(answer, ask.answer_s)))
            yield Piece(b"")
            while True:
                if data := answer.taken():
                    yield Piece(data)
                if answer.complete:
                    return
                answer.feed((yield Receive(ask.answer_s)))
        except _LOST as error:
            raise Failed(f"the daemon broke off ({_plain(error)})", "lost") from None

    # -- one request ----------------------------------------------------------------------

    def _exchange(self, ask: Ask[T], begun: bytes | None = None) -> Talk[tuple[int, bytes]]:
        if not self._open:
            yield from self._connect()
        self.idle = False
        answer = _Answer()
        try:
            if begun is not None:
                answer.feed(begun)
            else:
                yield from self._send(ask.method, ask.path, ask.body, {})
        except ConnectionError:
            # It may have said why before it hung up.
            if begun is not None or not self._open:
                raise
        try:
            body = yield from self._rest(answer, ask.answer_s)
        except TimeoutError:
            yield from self._hang_up()
            raise late(ask) from None
        if answer.reusable:
            self.idle = True
        else:
            yield from self._hang_up()
        return answer.status, body

    def _connect(self, *, within_s: float = CONNECT_S) -> Talk[None]:
        """A socket that is there and refuses belongs to a daemon that is just being restarted."""
        give_up_at = time.monotonic() + within_s
        while not self._open:
            try:
                yield Connect()
            except (ConnectionRefusedError, BlockingIOError, TimeoutError) as error:
                if time.monotonic() > give_up_at:
                    raise _nobody(self._where, error) from None
                yield Pause(AGAIN_S)
            except OSError as error:
                raise _nobody(self._where, error) from None
            else:
                self._open = True

    def _send(
        self, method: str, path: str, body: bytes | Iterable[bytes], more: Mapping[str, str]
    ) -> Talk[None]:
        if isinstance(body, bytes) and not more:
            # One write for a whole request: half the system calls.
            yield Send(self._request(method, path, body))
            return
        head = f"{method} {path}{self._common}"
        head += "".join(f"{name}: {_header(value)}\r\n" for name, value in more.items())
        if isinstance(body, bytes):
            yield Send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            return
        yield Send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for piece in filter(None, body):
            yield Send(b"%x\r\n%b\r\n" % (len(piece), piece))
        yield Send(b"0\r\n\r\n")

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        head = f"{method} {path}{self._common}Content-Length: {len(body)}\r\n\r\n"
        return head.encode() + body

    def _rest(self, answer: _Answer, within_s: float | None) -> Talk[bytes]:
        while not answer.complete:
            answer.feed((yield Receive(within_s)))
        return answer.taken()

    def _hang_up(self) -> Talk[None]:
        self._open = self.idle = False
        yield Close()


def late(ask: Ask[T]) -> Failed:
    return Failed(f"no answer from the daemon within {ask.answer_s:g} s", "late")


def plain_body(data: bytes) -> bytes | None:
    """The body of an answer that says yes and came in one piece; None for any other."""
    head = _PLAIN.match(data)
    return data[head.end() :] if head and len(data) - head.end() == int(head[1]) else None


def _header(value: str) -> str:
    """What could end a line would be a header of its own."""
    if not value.isascii() or not value.isprintable():
        raise BadRequest("a token or host holds what no header can hold", "bad_request")
    return value


def _nobody(where: str, error: OSError) -> NoDaemon:
    if isinstance(error, PermissionError):
        return NoDaemon(f"the daemon at {where} belongs to another user ({error.strerror})")
    return NoDaemon(f"no daemon answers at {where} ({error.strerror or error})")


def _plain(error: Exception) -> str:
    return safe(str(getattr(error, "strerror", None) or error).lower())


def _problem(status: int, body: bytes) -> Exception:
    try:
        found = msgspec.json.decode(body, type=Problem)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = safe(body[:200].decode("utf-8", "replace").strip())
        return of_status(status, "", f"the daemon answered {status}: {text or 'nothing'}")
    return of_status(status, found.code, safe(found.message))


def decoded(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise not_understood(error) from None
