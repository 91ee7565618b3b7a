"""Submissions that the store's thread answers: once, in order, and never twice."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from typing import Any

import pytest

from paddock.api import receipts
from paddock.api.at_once import LARGEST
from paddock.api.direct import Direct
from paddock.ports import Recipe
from paddock.storage.errors import StoreFull
from paddock.storage.memory import MemoryStore
from tests.kit.desk import ServedDesk, a_desk, an_agent, look_around
from tests.kit.raw_http import connect, next_answer, submission
from tests.kit.waiting import until


class Busy(MemoryStore):
    """When it has kept a submission, the loop is held until somebody lets it go."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.may_go_on = threading.Event()
        self.holds = 0

    def remember_many(self, steps: Any) -> None:
        super().remember_many(steps)
        if self.loop is None or not any(step.recipes for step in steps):
            return
        self.holds += 1
        is_held = threading.Event()

        def hold() -> None:
            is_held.set()
            self.may_go_on.wait(60)

        self.loop.call_soon_threadsafe(hold)
        assert is_held.wait(60)


def test_the_thread_that_waited_for_the_disk_answers_and_the_loop_does_the_rest(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Busy()
    with a_desk(tmp_path, store=store) as desk:
        look_around(desk, monkeypatch)
        with connect(desk.places.socket) as line:
            store.loop = desk.loop
            line.sendall(submission(desk.order(an_agent("second", "sleep=60"))))
            status, said = next_answer(line)
            assert store.holds == 1 and not store.may_go_on.is_set()
            store.loop = None
            line.sendall(submission(desk.order(an_agent("third", "sleep=60"))))
            store.may_go_on.set()
            assert (status, said["runs"][0]["name"]) == (200, "second")
            assert next_answer(line)[1]["runs"][0]["name"] == "third"
        under_way = desk.server._desk.under_way  # noqa: SLF001
        until(lambda: not under_way, within_s=60)


def test_whoever_does_not_read_gets_every_answer_once_and_in_order(
    desk: ServedDesk, line: socket.socket
) -> None:
    names = [f"run-{number}" for number in range(30)]
    line.sendall(submission(desk.order(an_agent("zero"))))
    next_answer(line)
    [connection] = [one for one in desk.server._connections if one._take]  # noqa: SLF001
    small = connection.transport.get_extra_info("socket")
    desk.now(lambda: small.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1))
    for name in names:
        line.sendall(submission(desk.order(an_agent(name))))
    with desk.client() as client:
        until(lambda: connection.transport.get_write_buffer_size() > 0, within_s=60)
        until(lambda: {run.name for run in client.runs(all=True)} >= set(names), within_s=60)
    found = b""
    while found.count(b"HTTP/1.1 200") < len(names) or not found.endswith(b"}"):
        found += line.recv(65536)
    said = re.findall(rb'"name":"([^"]+)"', found)
    assert [name.decode() for name in said] == names


def test_an_answer_that_cannot_be_made_is_told_as_such(
    desk: ServedDesk, line: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*_: object) -> None:
        raise RuntimeError("a bug")

    line.sendall(submission(desk.order(an_agent("x"))))
    assert next_answer(line)[0] == 200
    monkeypatch.setattr(receipts, "taken", wrong)
    order = desk.order(an_agent("y"))
    line.sendall(submission(order))
    assert next_answer(line)[0] == 500
    monkeypatch.undo()
    line.sendall(submission(order))
    assert next_answer(line)[1]["runs"][0]["name"] == "y"


class Unreadable(MemoryStore):
    """Keeps what it is given; cannot read it again, once."""

    fails = False

    def recipe(self, run: str) -> Recipe | None:
        if self.fails:
            self.fails = False
            raise StoreFull("x")  # type: ignore[arg-type]
        return super().recipe(run)


def test_nobody_is_told_that_it_was_taken_and_then_that_it_was_not(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second answer would be taken for that of the next request, and so on for ever."""
    store = Unreadable()
    with a_desk(tmp_path, store=store) as desk:
        look_around(desk, monkeypatch)
        with connect(desk.places.socket) as line:
            store.fails = True
            line.sendall(submission(desk.order(an_agent("second", "sleep=60"))))
            status, said = next_answer(line)
            assert (status, said.get("code")) == (503, "trouble")
            until(lambda: desk.now(lambda: desk.supervisor.trouble is None), within_s=60)
            line.sendall(submission(desk.order(an_agent("third", "sleep=60"))))
            status, said = next_answer(line)
            assert (status, said["runs"][0]["name"]) == (200, "third")


def test_a_large_request_right_behind_an_answer_that_the_loop_does_not_know_of_is_not_lost(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop_may_know = threading.Event()
    send = Direct.send

    def send_and_wait(direct: Direct, data: bytes) -> int:
        sent = send(direct, data)
        assert loop_may_know.wait(60)
        return sent

    with a_desk(tmp_path) as desk:
        look_around(desk, monkeypatch)
        with connect(desk.places.socket) as line:
            monkeypatch.setattr(Direct, "send", send_and_wait)
            line.sendall(submission(desk.order(an_agent("second", "sleep=60"))))
            assert next_answer(line)[0] == 200
            open_ones = list(desk.server._connections)  # noqa: SLF001
            [connection] = [one for one in open_ones if one.is_answering]
            many = {f"A{number}": "x" * LARGEST for number in range(4)}
            large = submission(desk.order(an_agent("large"), environment=many))
            sending = threading.Thread(target=line.sendall, args=(large,))
            sending.start()
            until(lambda: len(connection._later) > LARGEST, within_s=60)  # noqa: SLF001
            loop_may_know.set()
            assert next_answer(line)[1]["runs"][0]["name"] == "large"
            sending.join(60)
