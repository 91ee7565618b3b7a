"""What a browser, or whoever pretends to be one, sends to the dashboard; and what it shows."""

from __future__ import annotations

from typing import Any

from paddock.api import security
from paddock.bench import report as reports
from paddock.web import benchmarks
from paddock.web.guard import Guard, Keys, Message

from .target import a_place, is_clear, target, told

PORT = 7177
TOKEN = "t" * 43


@target(b'{"kind": "baseline", "made_at": ', b"1e300", b'"figures": [', b"NaN", b"[" * 900)
def report(data: bytes) -> None:
    """An agent may have written it: the dashboard shows it, or says that it is none."""
    with a_place() as place:
        (place / "x.json").write_bytes(data)
        for _, found in benchmarks.found_in(place):
            assert found is None or is_clear(benchmarks.when(found))
            for each in found.figures if found else ():
                assert len(benchmarks.figure(each)) == 4
        try:
            read = reports.read(place / "x.json")
        except reports.BadReport as error:
            told(str(error))
        else:
            reports.write(read, place / "y.json")


@target(
    b"GET /TOP/?token=", b"/TOP", b"cookie: paddock_web_7177=", b"host: 127.0.0.1:7177\n",
    b"origin: http://", b"host: [::1]\n", b"\xff", b"%", b"websocket ", b'a="b; c"; ',
    b"host: evil.example\n",
)  # fmt: skip
def web_request(data: bytes) -> None:
    """Without the cookie of a used link nothing is behind the guard, and nothing raises. `/TOP`
    stands for the path that nobody can guess."""
    keys = Keys(port=PORT)
    scope = _scope(data.replace(b"/TOP", keys.path.encode()))
    session = keys.use(keys.new_token())
    assert session is not None and session.encode() not in data
    sent = _asked(Guard(_inside, keys, host="127.0.0.1", used=lambda: None), scope)
    assert sent and b"inside" not in sent[-1].get("body", b"")
    assert sent[0]["type"] in ("http.response.start", "websocket.close")
    if sent[0]["type"] == "http.response.start":
        assert 400 <= sent[0]["status"] < 500


@target(
    b"GET /v1/status\n", b"host: localhost\n", b"authorization: Bearer ", b"origin: x\n",
    b"host: 127.0.0.1:1\n", b"\xff", b"authorization: Bearer t\n", b"\0",
)  # fmt: skip
def api_headers(data: bytes) -> None:
    """Over TCP, where the token is asked for."""
    scope = {**_scope(data), "state": {}}
    guard = security.Guard(_inside, token=TOKEN)
    sent = _asked(guard, scope)
    if f"Bearer {TOKEN}".encode() not in data:
        assert 400 <= sent[0]["status"] < 500 and b"inside" not in sent[-1]["body"]


def _scope(data: bytes) -> Message:
    """A line with a kind and a target, then headers, as a server hands them over."""
    first, *rest = data.split(b"\n")
    kind, _, where = first.partition(b" ")
    path, _, query = where.partition(b"?")
    pairs = [line.partition(b": ") for line in rest if line]
    return {
        "type": "websocket" if kind == b"websocket" else "http",
        "method": kind.decode("latin-1"),
        "path": path.decode("utf-8", "replace"),
        "query_string": query,
        "headers": [(name.strip().lower(), value.strip()) for name, _, value in pairs],
    }


def _asked(guard: Any, scope: Message) -> list[Message]:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    work = guard(scope, receive, send)
    try:
        work.send(None)
    except StopIteration:
        return sent
    raise AssertionError("a guard waits for nothing")


async def _inside(_scope: Message, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"inside"})
