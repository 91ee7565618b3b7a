"""Bodies that never end: they cost a bounded amount of memory, for a bounded time."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from paddock.client import Client
from tests.kit.desk import ServedDesk, an_agent
from tests.kit.raw_http import ask, connect, read_answer
from tests.kit.waiting import until

MIB = 1 << 20


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.api.serving.LOOK_S", 0.02)


@contextmanager
def _half(desk: ServedDesk, size: int, path: str = "/v1/runs") -> Iterator[socket.socket]:
    """A request that says it has more than it sends."""
    with connect(desk.places.socket) as line:
        line.sendall(_head(path, 60 * MIB))
        piece, left = b" " * MIB, size
        with suppress(BrokenPipeError, ConnectionResetError):
            while left > 0:
                line.sendall(piece[:left])
                left -= len(piece)
        yield line


def _head(path: str, length: int) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


def _held(desk: ServedDesk) -> int:
    return desk.now(lambda: desk.server._desk.bodies.held)  # noqa: SLF001


def _rss() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


def test_all_bodies_together_have_a_bound_and_small_requests_go_on(
    desk: ServedDesk, client: Client
) -> None:
    desk.server._desk.bodies.most = 4 * MIB  # noqa: SLF001
    with ExitStack() as stack:
        lines = [stack.enter_context(_half(desk, 3 * MIB))]
        until(lambda: _held(desk) > 2 * MIB)
        lines.append(stack.enter_context(_half(desk, 3 * MIB)))
        lines[1].settimeout(5)
        told = lines[1].recv(4096)
        assert b"503" in told.partition(b"\r\n")[0] and b"try again" in told
        assert json.loads(told.partition(b"\r\n\r\n")[2])["code"] == "trouble"
        until(lambda: _held(desk) <= 3 * MIB)
        client.submit(desk.order(an_agent("small")))
        until(lambda: client.upload_stdin([b"x" * MIB]).size == MIB)
    until(lambda: _held(desk) == 0)
    large = an_agent("large", *(["x" * 100_000] * 20))
    client.submit(desk.order(large))
    assert _held(desk) == 0


def test_what_a_body_took_is_given_back_to_the_system(desk: ServedDesk) -> None:
    before = _rss()
    with _half(desk, 48 * MIB):
        until(lambda: _held(desk) > 47 * MIB)
        assert _rss() - before > 40 * MIB
    until(lambda: _held(desk) == 0)
    assert _rss() - before < 12 * MIB


def test_a_body_that_does_not_come_is_not_waited_for(
    desk: ServedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.api.connecting.BODY_S", 0.2)
    with _half(desk, 2 * MIB) as line:
        answer = read_answer(line)
        assert (answer.status, answer.json["code"]) == (408, "bad_request")
    until(lambda: _held(desk) == 0)
    assert not desk.now(lambda: desk.server._state.tasks)  # noqa: SLF001


def test_a_body_that_trickles_has_an_end_too(
    desk: ServedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.api.connecting.WHOLE_BODY_S", 0.3)
    with _half(desk, 10) as line:
        line.settimeout(0.02)
        began, told = time.monotonic(), b""
        while not told and time.monotonic() - began < 5:
            with suppress(TimeoutError):
                line.send(b" ")
                told = line.recv(4096)
        assert b" 408 " in told


def test_what_is_piped_into_a_run_may_take_its_time(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.api.connecting.BODY_S", 0.1)
    monkeypatch.setattr("paddock.api.connecting.WHOLE_BODY_S", 0.1)

    def slowly() -> Iterator[bytes]:
        yield b"a"
        time.sleep(0.5)
        yield b"b"

    assert client.upload_stdin(slowly()).size == 2


def test_a_large_submission_is_understood_however_it_comes(desk: ServedDesk) -> None:
    order = {
        "key": "k" * 16,
        "directory": "/",
        "runs": [{"name": f"r{n}", "command": ["exit=0", "x" * 50_000]} for n in range(40)],
    }
    body = json.dumps(order).encode()
    assert len(ask(desk.places.socket, "POST", "/v1/runs", body).json["runs"]) == 40
    broken = ask(desk.places.socket, "POST", "/v1/runs", body[:-2])
    assert broken.status == 400 and _held(desk) == 0
