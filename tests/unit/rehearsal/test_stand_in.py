"""The stand-in over HTTP, on a port of this machine."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from paddock.rehearsal.ledger import Ledger, read
from paddock.rehearsal.script import Fail, RateLimit, Run, Script, Stall
from paddock.rehearsal.stand_in import StandIn
from paddock.rehearsal.thinking import Model

TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": {}}}]
BODY = {"messages": [{"role": "user", "content": "a"}], "tools": TOOLS}
SCRIPT = Script((Fail(500, 1), RateLimit(0.0), Stall(0.0, 1), Run("echo one")))


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def port(ledger: Path) -> Iterator[int]:
    notes = Ledger(ledger)
    with StandIn(Model(SCRIPT, notes, directory=ledger.parent), notes, port=0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def ask(
    port: int, path: str, body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("GET" if body is None else "POST", path, body, named)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def post(port: int, **more: Any) -> tuple[int, dict[str, str], bytes]:
    return ask(port, "/v1/chat/completions", json.dumps(BODY | more).encode())


def test_a_script_over_http(port: int, ledger: Path) -> None:
    status, _, data = post(port)
    assert status == 500 and b"an error of the rehearsal" in data
    status, headers, _ = post(port)
    assert status == 429 and headers["retry-after"] == "0"
    status, headers, data = post(port, stream=True)  # it stalls: begins, and ends without an end
    assert status == 200 and headers["content-type"] == "text/event-stream"
    assert data.startswith(b"data: ") and b"[DONE]" not in data
    status, _, data = post(port, stream=True)
    assert data.endswith(b"data: [DONE]\n\n") and b"echo one" in data
    whole = json.loads(post(port)[2])
    assert whole["choices"][0]["finish_reason"] == "tool_calls"
    assert [line["what"] for line in read(ledger)] == ["refused"] * 3 + ["asked"] * 2


def test_bodies_come_zipped_and_in_chunks(port: int) -> None:
    packed = gzip.compress(json.dumps(BODY).encode())
    assert ask(port, "/v1/chat/completions", packed, Content_Encoding="gzip")[0] == 500
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    chunks = iter([b'{"messages": ', b"[]}"])
    connection.request("POST", "/v1/messages", chunks, encode_chunked=True)
    answer = connection.getresponse()
    assert answer.status == 200 and b"Rehearsal" in answer.read()
    connection.close()


def test_what_it_does_not_know_is_said_and_noted(port: int, ledger: Path) -> None:
    assert json.loads(ask(port, "/v1/models")[2])["data"]
    assert ask(port, "/v1/messages/count_tokens?beta=true", b"{}")[0] == 200
    status, _, data = ask(port, "/v1/embeddings?x=1", b"{}")
    assert status == 404 and b"does not know /v1/embeddings" in data
    assert ask(port, "/v1/messages", b"[1]")[0] == 400
    assert ask(port, "/v1/messages", b"{")[0] == 400
    assert [line["path"] for line in read(ledger)] == ["/v1/embeddings"]


def test_half_a_line_of_a_killed_stand_in_harms_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    Ledger(path).note("asked", 1)
    with path.open("ab") as file:
        file.write(b'\n{"what": "do')
    again = Ledger(path)
    assert (again.times("asked", 1), again.times("done", 1)) == (1, 0)
    again.note("done", 1)
    assert [line["what"] for line in read(path)] == ["asked", "done"]
