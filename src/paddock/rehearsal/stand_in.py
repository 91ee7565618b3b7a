"""The stand-in: an HTTP server on loopback that answers as model providers do."""

from __future__ import annotations

import gzip
import json
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any, Final

from .heard import Answer, Heard, Refusal
from .ledger import Ledger
from .shapes import anthropic, chat, gemini, responses
from .thinking import Model, Pause

LARGEST_BODY: Final = 64 << 20
_BY_ENDING: Final[dict[str, ModuleType]] = {
    "/messages": anthropic,
    "/responses": responses,
    "/chat/completions": chat,
    ":generateContent": gemini,
    ":streamGenerateContent": gemini,
}
# Questions that every provider is asked and that say nothing about the script.
_ASIDES: Final[dict[str, dict[str, Any]]] = {
    "/messages/count_tokens": {"input_tokens": 7},
    ":countTokens": {"totalTokens": 7},
    "/models": {"object": "list", "data": [{"id": "rehearsal", "object": "model"}]},
}


class StandIn(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, model: Model, ledger: Ledger, *, port: int) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.model = model
        self.ledger = ledger


class Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the library
        """The ledger is the log."""

    def do_GET(self) -> None:
        self._aside()

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        shape = next((each for end, each in _BY_ENDING.items() if path.endswith(end)), None)
        try:
            body = self._body()
        except ValueError as error:
            self._json(400, {"error": {"message": str(error)}})
            return
        if shape is None:
            self._aside()
            return
        with suppress(BrokenPipeError, ConnectionResetError):
            self._converse(shape, body, stream="streamGenerateContent" in path)

    def _converse(self, shape: ModuleType, body: dict[str, Any], *, stream: bool) -> None:
        heard: Heard = shape.read(body)
        reply = self.server.model.reply(heard)
        streams = stream or heard.stream
        match reply:
            case Answer() if streams:
                self._events(shape.stream(reply, heard))
            case Answer():
                self._json(200, shape.whole(reply, heard))
            case Refusal(until=float()) if streams and hasattr(shape, "limited"):
                self._events(shape.limited(reply, heard))
            case Refusal():
                self._json(reply.status, shape.problem(reply), _headers(reply))
            case Pause(seconds):
                self._events(_silent(shape.opening(heard), seconds))

    def _aside(self) -> None:
        path = self.path.partition("?")[0]
        for end, value in _ASIDES.items():
            if path.endswith(end):
                self._json(200, value)
                return
        self.server.ledger.note("unknown", path=path[:200])
        self._json(404, {"error": {"message": f"the rehearsal does not know {path[:200]}"}})

    def _body(self) -> dict[str, Any]:
        data = gzip.decompress(self._raw()) if self._is_zipped() else self._raw()
        found = json.loads(data or b"{}")
        if not isinstance(found, dict):
            raise ValueError("found no JSON object; allowed: the request of a model provider")
        return found

    def _is_zipped(self) -> bool:
        return self.headers.get("Content-Encoding", "") == "gzip"

    def _raw(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            return b"".join(self._chunks())
        length = int(self.headers.get("Content-Length") or 0)
        if length > LARGEST_BODY:
            raise ValueError("found a request that is too large")
        return self.rfile.read(length)

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _json(
        self, status: int, value: dict[str, Any], headers: dict[str, str] | None = None
    ) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _events(self, events: Iterator[bytes]) -> None:
        """Ended by closing: every client reads that, and none has to be told the length."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            self.wfile.write(event)
            self.wfile.flush()


def _headers(refusal: Refusal) -> dict[str, str]:
    if refusal.retry_after_s is None:
        return {}
    seconds = math.ceil(refusal.retry_after_s)
    # The second: do not try again by yourself, the caller (paddock) will.
    return {"Retry-After": str(seconds), "X-Should-Retry": "false", "Retry-After-Ms": "1"}


def _silent(opening: bytes, seconds: float) -> Iterator[bytes]:
    yield opening
    time.sleep(seconds)
