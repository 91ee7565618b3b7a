"""Connections: so many and no more, none that keeps us waiting, and none that fills our memory."""

from __future__ import annotations

import errno
import resource
import socket
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from paddock.api import accepting, holding
from paddock.api.holding import Purse
from paddock.client import Client, Trouble
from paddock.core.run import Attempt
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.raw_http import connect, read_answer
from tests.kit.waiting import until

EVENTS = b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("paddock.api.serving.LOOK_S", 0.02)


def _open(desk: ServedDesk) -> int:
    return desk.now(lambda: len(desk.server._state.connections))  # noqa: SLF001


def _are_open(desk: ServedDesk, count: int) -> bool:
    return _open(desk) == count


def _at_most(desk: ServedDesk, most: int) -> None:
    desk.server._local.most = most  # noqa: SLF001


def _is_closed(line: socket.socket) -> bool:
    try:
        return line.recv(1) == b""
    except ConnectionResetError:
        return True


def test_the_oldest_idle_connection_makes_room_for_a_new_one(desk: ServedDesk) -> None:
    _at_most(desk, 3)
    with ExitStack() as stack:
        lines = []
        for number in range(6):
            lines.append(stack.enter_context(connect(desk.places.socket)))
            until(partial(_are_open, desk, min(number + 1, 3)))
            time.sleep(0.01)
        assert all(_is_closed(line) for line in lines[:3])
        lines[3].sendall(b"GET /v1/daemon HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert lines[3].recv(12) == b"HTTP/1.1 200"


def test_when_all_are_at_work_a_new_one_is_turned_away(
    desk: ServedDesk, caplog: pytest.LogCaptureFixture
) -> None:
    _at_most(desk, 2)
    with ExitStack() as stack:
        for _ in range(2):
            line = stack.enter_context(connect(desk.places.socket))
            line.sendall(EVENTS)
            assert line.recv(12) == b"HTTP/1.1 200"
        for _ in range(5):
            with desk.client() as client, pytest.raises(Trouble, match="try again"):
                client.status()
    until(lambda: _open(desk) == 0)
    with desk.client() as client:
        client.status()
    assert len(caplog.records) == 1 and "turned away" in caplog.text


def test_over_tcp_there_is_a_bound_of_its_own(tmp_path: Path) -> None:
    with a_desk(tmp_path, listen="127.0.0.1:0") as desk, desk.client() as client:
        tcp, local = desk.server._tcp, desk.server._local  # noqa: SLF001
        assert 8 <= tcp.most <= 64 and local.most > tcp.most
        port = desk.server._listeners[0]._socket.getsockname()[1]  # noqa: SLF001
        tcp.most = 1
        with connect(("127.0.0.1", port)) as first:
            until(lambda: _open(desk) == 1)
            with connect(("127.0.0.1", port)):
                assert _is_closed(first)
            client.status()


@pytest.mark.parametrize(
    ("soft", "local", "tcp"),
    [
        (64, 12, 8),
        (1024, 224, 64),
        (4096, 992, 64),
        (1 << 20, 1024, 64),
        (resource.RLIM_INFINITY, 1024, 64),
    ],
)
def test_half_of_the_descriptors_is_for_other_work(
    monkeypatch: pytest.MonkeyPatch, soft: int, local: int, tcp: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))
    assert accepting.room() == (local, tcp)
    assert soft == resource.RLIM_INFINITY or 2 * local + tcp <= soft // 2


class _Exhausted:
    """A listening socket, when there are no descriptors left."""

    def __init__(self, real: socket.socket, times: int) -> None:
        self.real = real
        self.times = times

    def accept(self) -> Any:
        if self.times:
            self.times -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return self.real.accept()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


def test_a_lack_of_descriptors_is_one_line_and_passes(
    desk: ServedDesk,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(accepting, "REST_S", 0.02)
    listener: Any = desk.server._unix  # noqa: SLF001
    with connect(desk.places.socket) as idle:
        until(lambda: _open(desk) == 1)
        listener._socket = _Exhausted(listener._socket, times=5)  # noqa: SLF001
        # The reader that is there was made for the real socket's descriptor, which is the same.
        with desk.client() as client:
            client.status()
        assert _is_closed(idle)  # its descriptor is needed more elsewhere
    assert listener._socket.times == 0  # noqa: SLF001
    assert [record.getMessage() for record in caplog.records] == [
        "no connections are taken for now: Too many open files"
    ]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("sent", [b"", b"GET /v1/st", b"GET /v1/status HTTP/1.1\r\nHost: loc"])
def test_a_head_that_does_not_come_is_not_waited_for(
    desk: ServedDesk, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr("paddock.api.connecting.HEAD_S", 0.2)
    with connect(desk.places.socket) as line:
        line.sendall(sent)
        assert _is_closed(line)


def test_between_requests_there_is_more_time_than_within_a_head(
    desk: ServedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.api.connecting.HEAD_S", 0.2)
    with desk.client() as client:
        client.status()
        time.sleep(0.5)
        assert _open(desk) == 1
        client.status()
    with connect(desk.places.socket) as line:
        line.sendall(b"GET /v1/daemon HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 200")
        line.sendall(b"GET /v1/dae")
        assert _is_closed(line)


def test_line_ends_that_never_become_a_request_do_not_keep_a_connection(
    desk: ServedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.api.connecting.IDLE_S", 0.2)
    with connect(desk.places.socket) as line:
        line.sendall(b"GET /v1/daemon HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 200")
        line.sendall(b"\r\n")
        assert _is_closed(line)


def _unread_log(desk: ServedDesk, stack: ExitStack) -> socket.socket:
    line = stack.enter_context(connect(desk.places.socket))
    line.sendall(b"GET /v1/runs/loud/log HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert line.recv(10)
    return line


def _loud(desk: ServedDesk, client: Client, size: int) -> None:
    [run] = client.submit(desk.order(an_agent("loud"))).runs
    client.wait([run.id])
    desk.output.append(Attempt(run.id, 1), b"x" * size)


def test_a_reader_that_rests_is_waited_for_while_little_is_pending(
    desk: ServedDesk, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `paddock logs build | less` is."""
    monkeypatch.setattr("paddock.api.connecting.STALLED_S", 0.1)
    _loud(desk, client, 3_000_000)
    pieces = client.log("loud")
    first = next(pieces)
    time.sleep(0.6)
    assert len(first) + sum(map(len, pieces)) == 3_000_000


def test_readers_that_do_not_read_go_when_too_much_is_pending(
    desk: ServedDesk, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.api.connecting.STALLED_S", 0.2)
    monkeypatch.setattr("paddock.api.connecting.MUCH", 100_000)
    _loud(desk, client, 3_000_000)
    with ExitStack() as stack:
        for _ in range(12):
            _unread_log(desk, stack)
        until(lambda: _open(desk) < 12)
        until(lambda: _pending(desk) <= 100_000)
        assert _open(desk) > 1


@pytest.mark.parametrize("follow", ["", "?follow=true"])
def test_all_readers_together_hold_no_more_than_is_meant_for_them(
    desk: ServedDesk, client: Client, monkeypatch: pytest.MonkeyPatch, follow: str
) -> None:
    """Nobody reads: what waits for each is its share. (And the next piece, in our hands.)"""
    readers, held = 200, 10 << 20
    monkeypatch.setattr(desk.server._desk, "purse", Purse(held))  # noqa: SLF001
    _loud(desk, client, 3_000_000)
    with ExitStack() as stack:
        for _ in range(readers):
            line = stack.enter_context(connect(desk.places.socket))
            line.sendall(f"GET /v1/runs/loud/log{follow} HTTP/1.1\r\nHost: l\r\n\r\n".encode())
            assert line.recv(10)
        until(lambda: _that_wait(desk) == readers)
        time.sleep(0.3)
        assert 0 < _pending(desk) <= (held - _set_aside()) // 2 + readers * holding.RECORD_BYTES
        with desk.client() as another:
            assert sum(map(len, another.log("loud"))) == 3_000_000, "whoever reads gets everything"
    purse = desk.server._desk.purse  # noqa: SLF001
    until(lambda: desk.now(purse.largest_piece) == Purse(held).largest_piece())


def _set_aside() -> int:
    return holding.PIECES * holding.RECORD_BYTES * holding.MOST_READERS


def test_as_many_readers_as_there_can_be_hold_no_more_than_is_meant_for_all() -> None:
    assert holding.MOST_READERS == accepting.MOST_LOCAL + accepting.MOST_TCP
    purse, held = Purse(), 0
    with ExitStack() as stack:
        sizes = []
        for _ in range(holding.MOST_READERS):
            share = stack.enter_context(purse.share())
            share.next_piece()
            sizes.append(share.next_piece())
            held += holding.PIECES * sizes[-1]
        assert holding.PIECE_BYTES == sizes[0] > sizes[-1] == holding.RECORD_BYTES
        assert sizes == sorted(sizes, reverse=True)
        assert held <= holding.HELD_BYTES
        share.set_piece(0)
        assert share.next_piece() == holding.RECORD_BYTES
    with purse.share() as share:
        assert share.next_piece() == holding.PIECE_BYTES, "what they held is free again"


def _that_wait(desk: ServedDesk) -> int:
    def look() -> int:
        connections: Any = desk.server._state.connections  # noqa: SLF001
        return sum(each.transport.get_write_buffer_size() > 0 for each in connections)

    return desk.now(look)


def test_a_reader_that_does_not_read_makes_room_for_others(
    desk: ServedDesk, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.api.connecting.STALLED_S", 0.1)
    _loud(desk, client, 3_000_000)
    client.close()
    with ExitStack() as stack:
        for _ in range(3):
            _unread_log(desk, stack)
        until(lambda: _open(desk) == 3)
        _at_most(desk, 3)
        time.sleep(0.4)
        client.status()
        assert _open(desk) == 3


def test_a_long_answer_that_nobody_reads_is_let_go_of(
    desk: ServedDesk, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("paddock.api.connecting.STALLED_S", 0.2)
    client.submit(desk.order(*(an_agent(f"r{n}", "sleep=600") for n in range(900))))
    client.close()
    with connect(desk.places.socket) as line:
        line.sendall(b"GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        until(lambda: _pending(desk) > 0)
        until(lambda: _open(desk) == 0)
        answer = read_answer(line)
        assert len(answer.body) < int(answer.headers["content-length"])


def _pending(desk: ServedDesk) -> int:
    def look() -> int:
        connections: Any = desk.server._state.connections  # noqa: SLF001
        return sum(each.transport.get_write_buffer_size() for each in connections)

    return desk.now(look)
