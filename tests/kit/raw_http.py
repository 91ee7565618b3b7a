"""HTTP by hand, for requests that no honest client would send."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from paddock.client.reaching import reachable


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
