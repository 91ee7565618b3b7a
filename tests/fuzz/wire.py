"""What goes over sockets: requests, answers, streams; what daemon and keeper tell each other."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator, Iterable
from typing import Any

import msgspec

from paddock.api import submitting
from paddock.api.asking import decode as decode_body
from paddock.api.problems import Declined
from paddock.api.routes import ROUTES
from paddock.client.asks import Ask, StreamAsk, as_bytes, as_happenings, as_records
from paddock.client.errors import ClientError
from paddock.client.talking import Line, Piece, Receive, plain_body
from paddock.wire.history_views import HistoryView
from paddock.wire.log_record import written
from paddock.wire.views import RunView, StatusView, Submit

from .target import is_clear, target, told

BODIES: dict[str, Any] = {
    route.name: route.takes for route in ROUTES if isinstance(route.takes, type)
}
ANSWERS: tuple[Any, ...] = (StatusView, list[RunView], HistoryView)


@target(
    b'{"key": "kkkkkkkkkkkk", "directory": "/", ', b'"runs": [{"name": "a", "command": ["x"]',
    b"[" * 900, b'"environment": {', b"\\ud800", b"1e999", b"null", b'"heartbeats": [',
    b'"steps": [', b"-1",
)  # fmt: skip
def submission(data: bytes) -> None:
    """Taken as it was sent, or declined in one line that holds no value of a variable."""
    try:
        body = decode_body(data, Submit)
        _now(submitting.check(body))
    except Declined as declined:
        _check(declined)
        return
    assert msgspec.json.decode(msgspec.json.encode(body), type=Submit) == body


@target(
    b'{"runs": ["', b'"timeout_s": ', b'"priority": "high"', b'"key": "', b'"otherwise": {',
    b"[" * 900,
)  # fmt: skip
def bodies(data: bytes) -> None:
    for kind in BODIES.values():
        try:
            body: Any = decode_body(data, kind)
        except Declined as declined:
            _check(declined)
        else:
            assert msgspec.json.decode(msgspec.json.encode(body), type=kind) == body


def _check(declined: Declined) -> None:
    assert declined.status in (400, 413) and is_clear(str(declined)), declined


def _now(work: Any) -> None:
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()


@target(
    b"HTTP/1.1 200 OK\r\n", b"content-length: ", b"transfer-encoding: chunked\r\n", b"\r\n\r\n",
    b"{}", b"HTTP/1.1 409 x\r\n", b'{"code": "refused", "message": "', b"[" * 900, b"0\r\n\r\n",
    b"\x1b[2J",
)  # fmt: skip
def answer(data: bytes) -> None:
    """As the client reads it, however it is cut: a value, or one of its errors in one line."""
    for kind in ANSWERS:
        for cut in (len(data) or 1, 7):
            line = Line(host="localhost", where="x")
            _heard(line.ask(Ask("GET", "/v1/x", kind)), data, cut)
    reader = Line(host="localhost", where="x")
    _heard(reader.stream(StreamAsk("/v1/x", as_bytes)), data, 50)
    plain_body(data)


def _heard(talk: Generator[Any, bytes, Any], data: bytes, cut: int) -> None:
    """Both connections that it may make get the same bytes, and then the end."""
    pieces = _cut(data, cut)
    try:
        deed = next(talk)
        while True:
            if isinstance(deed, Receive):
                deed = talk.send(next(pieces, b""))
                continue
            if not isinstance(deed, Piece) and type(deed).__name__ == "Connect":
                pieces = _cut(data, cut)
            deed = talk.send(b"")
    except StopIteration:
        return
    except ClientError as error:
        told(error.message)


def _cut(data: bytes, size: int) -> Any:
    return (data[at : at + size] for at in range(0, len(data), size))


@target(
    b'{"at":0,"size":3}\nabc', b'{"at":0,"size":-9}\n', b'"missing_lines":null', b"\n", b"1e999",
)  # fmt: skip
def log_records(data: bytes) -> None:
    found = _streamed(as_records, data)
    again = b"".join(written(one.at, one.data) for one in found)
    if found and all(one.missing_bytes == 0 == one.missing_lines for one in found):
        assert _streamed(as_records, again) == found


@target(
    b'data: {"n": 1, "at": 1.0, ', b"\n\n", b"id: 1\n", b": alive\n\n", b"[" * 900, b"data: null",
)  # fmt: skip
def events(data: bytes) -> None:
    _streamed(as_happenings, data)


def _streamed(reader: Callable[[], Callable[[bytes], Iterable[Any]]], data: bytes) -> list[Any]:
    """Cut in any way it says the same."""
    both = []
    for cut in (len(data) or 1, 5):
        feed, found = reader(), []
        try:
            for piece in _cut(data, cut):
                found += list(feed(piece))
        except ClientError as error:
            told(error.message)
            found.append("broke")
        both.append(found)
    whole, pieces = both
    assert pieces[: len(whole)] == whole or "broke" in pieces
    return [one for one in whole if one != "broke"]


def serve_bytes(listener: socket.socket, data: bytes) -> threading.Thread:
    """Answers whoever connects with these bytes, and hangs up."""

    def work() -> None:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer:
            try:
                peer.sendall(data)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(65536):
                    pass
            except OSError:
                return

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread
