"""HTTP by hand, for requests that no honest client would send."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from paddock.client.reaching import reachable
from paddock.wire.views import Submit


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def message(self) -> str:
        return str(self.json["message"])


def submission(order: Submit | bytes, more: bytes = b"") -> bytes:
    """As our own client writes it, with what is said in more headers."""
    body = order if isinstance(order, bytes) else msgspec.json.encode(order)
    head = b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n" % len(body)
    return head + more + b"\r\n" + body


def next_answer(line: socket.socket) -> tuple[int, Any]:
    """On a connection that stays: to the byte, so that one answer too many is seen."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += line.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += line.recv(65536)
    assert len(body) == length, "more came than was said"
    return int(head.split()[1]), json.loads(body)


def connect(where: Path | tuple[str, int]) -> socket.socket:
    if isinstance(where, tuple):
        return socket.create_connection(where, 10)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(10)
    with reachable(where) as name:
        made.connect(name)
    return made


def send(where: Path | tuple[str, int], head: str, body: bytes = b"") -> Answer:
    """`head` as it is written, lines ended by a newline; the connection is closed after it."""
    with connect(where) as line:
        text = head.replace("\n", "\r\n") + "\r\n\r\n"
        with suppress(BrokenPipeError, ConnectionResetError):  # it has said no already
            line.sendall(text.encode("latin-1") + body)
        return read_answer(line)


def ask(
    where: Path | tuple[str, int],
    method: str,
    path: str,
    body: bytes = b"",
    **headers: str,
) -> Answer:
    lines = [f"{method} {path} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}"]
    named = {"host": "localhost"} | headers
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in named.items()]
    return send(where, "\n".join(lines), body)


def read_answer(line: socket.socket) -> Answer:
    data = b""
    try:
        while piece := line.recv(65536):
            data += piece
    except ConnectionResetError:
        pass  # what came before counts
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode("latin-1").split("\r\n")
    pairs = (each.partition(": ") for each in rest)
    return Answer(int(first.split()[1]), {name.lower(): value for name, _, value in pairs}, body)
