"""A submission taken where it arrives gets the same answer as one that goes the usual way."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from paddock.api import receipts
from paddock.api.at_once import LARGEST
from paddock.ports import Recipe
from paddock.storage.errors import StoreFull
from paddock.storage.memory import MemoryStore
from paddock.supervisor.early import EarlyAnswers
from paddock.wire.run_request import RunRequest
from paddock.wire.views import Submit
from tests.kit.desk import ServedDesk, a_desk, an_agent, look_around
from tests.kit.raw_http import connect
from tests.kit.waiting import until

USUAL = b"Connection: keep-alive\r\n"  # one header more than our client sends


@pytest.fixture
def line(desk: ServedDesk) -> Iterator[socket.socket]:
    """Of a desk that has looked at the directory: from now on nothing has to be waited for."""
    desk.submit(an_agent("first"))
    with connect(desk.places.socket) as made:
        yield made


def written(order: Submit | bytes, more: bytes = b"") -> bytes:
    body = order if isinstance(order, bytes) else msgspec.json.encode(order)
    head = b"POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n" % len(body)
    return head + more + b"\r\n" + body


def answer(line: socket.socket) -> tuple[int, Any]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += line.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += line.recv(65536)
    assert len(body) == length, "more came than was said"
    return int(head.split()[1]), json.loads(body)


def ways_taken(desk: ServedDesk) -> list[bool]:
    """Notes for each submission whether it was taken at once."""
    taken: list[bool] = []
    [connection] = [one for one in desk.server._connections if one._take]  # noqa: SLF001
    take = connection._take  # noqa: SLF001
    assert take is not None

    def noted(*words: Any) -> bool:
        taken.append(take(*words))
        return taken[-1]

    connection._take = noted  # noqa: SLF001
    return taken


ORDERS: dict[str, Any] = {
    "good": {"runs": (an_agent("good", "sleep=60"),)},
    "two": {"runs": (an_agent("a"), an_agent("b"))},
    "nothing": {"runs": ()},
    "too large": {"runs": (an_agent("big", memory_bytes=1 << 50),)},
    "no command": {"runs": (RunRequest(name="x", command=()),)},
    "bad key": {"runs": (an_agent("x"),), "key": "short"},
    "no directory": {"runs": (an_agent("x"),), "directory": "/nowhere/at/all"},
    "bad driver": {"runs": (an_agent("x", driver="container"),)},
    "bad environment": {"runs": (an_agent("x"),), "environment": {"A=B": "secret"}},
    "a need": {"runs": (an_agent("x"), an_agent("y", needs=("x",)))},
}


@pytest.mark.parametrize("name", ORDERS)
def test_both_ways_say_the_same(desk: ServedDesk, line: socket.socket, name: str) -> None:
    found = []
    for more in (b"", USUAL):
        line.sendall(written(desk.order(**ORDERS[name]), more))
        status, said = answer(line)
        for run in said.get("runs", ()):
            del run["id"]
        found.append((status, said))
    assert found[0] == found[1]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[]", b'{"key": 3}'])
def test_what_is_no_submission_is_declined_alike(line: socket.socket, body: bytes) -> None:
    found = []
    for more in (b"", USUAL):
        line.sendall(written(body, more))
        found.append(answer(line))
    assert found[0] == found[1] and found[0][0] == 400


def test_our_own_client_goes_the_short_way_and_others_do_not(
    desk: ServedDesk, line: socket.socket
) -> None:
    line.sendall(written(desk.order(an_agent("zero")), USUAL))
    answer(line)
    taken = ways_taken(desk)
    for order, more in ((desk.order(an_agent("one")), b""), (desk.order(an_agent("two")), USUAL)):
        line.sendall(written(order, more))
        assert answer(line)[0] == 200
    assert taken == [True, False]


def test_a_request_in_pieces_or_too_large_goes_the_usual_way(
    desk: ServedDesk, line: socket.socket
) -> None:
    whole = written(desk.order(an_agent("pieces")))
    for piece in (whole[:20], whole[20:100], whole[100:]):
        line.sendall(piece)
    assert answer(line)[0] == 200
    line.sendall(written(desk.order(an_agent("large"), environment={"A": "x" * LARGEST})))
    assert answer(line)[0] == 200


def test_requests_that_do_not_wait_for_their_answers_are_answered_in_order(
    desk: ServedDesk, line: socket.socket
) -> None:
    names = [f"run-{number}" for number in range(5)]
    status = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for name in names:
        line.sendall(written(desk.order(an_agent(name))))
    line.sendall(status)
    found = b""
    while found.count(b"HTTP/1.1 200") < 6 or not found.endswith(b"}"):
        found += line.recv(65536)
    at = [found.index(f'"{name}"'.encode()) for name in names]
    assert at == sorted(at)
    assert found.rindex(b'"host"') > at[-1]


def test_the_same_key_twice_at_once_is_one_run(desk: ServedDesk, line: socket.socket) -> None:
    order = desk.order(an_agent("once", "sleep=60"))
    with connect(desk.places.socket) as other:
        line.sendall(written(order))
        other.sendall(written(order))
        (_, first), (_, second) = answer(line), answer(other)
    assert first["runs"][0]["id"] == second["runs"][0]["id"]
    with desk.client() as client:
        assert [run.name for run in client.runs() if run.name == "once"] == ["once"]


class Slow(MemoryStore):
    """Its disk waits until it may go on; then it may be full."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.waits = threading.Event()
        self.is_full = False

    def remember_many(self, steps: Any, *, meanwhile: Callable[[], None] | None = None) -> None:
        if any(step.recipes for step in steps):
            self.waits.set()
            assert self.may_go_on.wait(20)
            if self.is_full:
                raise StoreFull("x")  # type: ignore[arg-type]
        super().remember_many(steps, meanwhile=meanwhile)


def test_nothing_is_answered_before_the_disk_has_it(tmp_path: Any) -> None:
    store = Slow()
    with a_desk(tmp_path, store=store) as desk:
        desk.submit(an_agent("first"))
        with connect(desk.places.socket) as line:
            store.may_go_on.clear()
            store.waits.clear()
            line.sendall(written(desk.order(an_agent("second"))))
            assert store.waits.wait(10)
            line.settimeout(0.2)
            with pytest.raises(TimeoutError):
                line.recv(1)
            line.settimeout(10)
            store.may_go_on.set()
            assert answer(line)[0] == 200


def test_a_disk_that_is_full_is_told_and_nothing_is_taken(tmp_path: Any) -> None:
    store = Slow()
    with a_desk(tmp_path, store=store) as desk:
        desk.submit(an_agent("first"))
        with connect(desk.places.socket) as line:
            store.is_full = True
            line.sendall(written(desk.order(an_agent("second"))))
            status, said = answer(line)
            store.is_full = False
        assert (status, said["code"]) == (503, "trouble")
        until(lambda: desk.now(lambda: desk.supervisor.trouble is None))
        with desk.client() as client:
            assert "second" not in [run.name for run in client.runs()]


def test_whoever_leaves_before_the_answer_harms_nobody(tmp_path: Any) -> None:
    store = Slow()
    with a_desk(tmp_path, store=store) as desk:
        desk.submit(an_agent("first"))
        store.may_go_on.clear()
        store.waits.clear()
        with connect(desk.places.socket) as line:
            line.sendall(written(desk.order(an_agent("second", "sleep=60"))))
            assert store.waits.wait(10)
        until(lambda: desk.now(lambda: not desk.server._connections))  # noqa: SLF001
        store.may_go_on.set()
        with desk.client() as client:
            until(lambda: "second" in [run.name for run in client.runs()])


def test_a_daemon_that_stops_gives_the_answer_first(tmp_path: Any) -> None:
    store = Slow()
    with a_desk(tmp_path, store=store) as desk:
        desk.submit(an_agent("first"))
        store.may_go_on.clear()
        store.waits.clear()
        told: list[Any] = []

        def ask() -> None:
            with connect(desk.places.socket) as line:
                line.sendall(written(desk.order(an_agent("second"))))
                told.extend((answer(line)[0], line.recv(1)))

        asking = threading.Thread(target=ask)
        asking.start()
        assert store.waits.wait(10)
        going_on = threading.Timer(0.3, store.may_go_on.set)
        going_on.start()
    asking.join(10)
    going_on.join(10)
    assert told == [200, b""]


def test_a_key_that_was_declined_may_come_again(desk: ServedDesk, line: socket.socket) -> None:
    order = desk.order(an_agent("x", driver="container"))
    for _ in range(3):
        line.sendall(written(order))
        assert answer(line)[0] == 400
    assert desk.now(lambda: desk.server._desk.under_way) == {}  # noqa: SLF001
    good = desk.order(an_agent("x"), key=order.key)
    line.sendall(written(good))
    assert answer(line)[0] == 200


class Busy(MemoryStore):
    """When it has kept a submission, the loop is held until somebody lets it go."""

    def __init__(self) -> None:
        super().__init__()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.may_go_on = threading.Event()
        self.holds = 0

    def remember_many(self, steps: Any, *, meanwhile: Callable[[], None] | None = None) -> None:
        super().remember_many(steps, meanwhile=meanwhile)
        if self.loop is None or meanwhile is None:
            return
        self.holds += 1
        is_held = threading.Event()

        def hold() -> None:  # its turn comes after what was to be done meanwhile
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
            line.sendall(written(desk.order(an_agent("second", "sleep=60"))))
            status, said = answer(line)
            assert store.holds == 1 and not store.may_go_on.is_set()
            store.loop = None
            line.sendall(written(desk.order(an_agent("third", "sleep=60"))))
            store.may_go_on.set()
            assert (status, said["runs"][0]["name"]) == (200, "second")
            assert answer(line)[1]["runs"][0]["name"] == "third"
        under_way = desk.server._desk.under_way  # noqa: SLF001
        until(lambda: not under_way, within_s=60)


def test_whoever_does_not_read_gets_every_answer_once_and_in_order(
    desk: ServedDesk, line: socket.socket
) -> None:
    names = [f"run-{number}" for number in range(30)]
    line.sendall(written(desk.order(an_agent("zero"))))
    answer(line)
    [connection] = [one for one in desk.server._connections if one._take]  # noqa: SLF001
    small = connection.transport.get_extra_info("socket")
    desk.now(lambda: small.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1))
    for name in names:
        line.sendall(written(desk.order(an_agent(name))))
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

    line.sendall(written(desk.order(an_agent("x"))))
    assert answer(line)[0] == 200
    monkeypatch.setattr(receipts, "taken", wrong)
    order = desk.order(an_agent("y"))
    line.sendall(written(order))
    assert answer(line)[0] == 500
    monkeypatch.undo()
    line.sendall(written(order))
    assert answer(line)[1]["runs"][0]["name"] == "y"


class Unreadable(MemoryStore):
    """Keeps what it is given when the words for it are found; cannot read it again, once."""

    loop: asyncio.AbstractEventLoop | None = None
    fails = False

    def remember_many(self, steps: Any, *, meanwhile: Callable[[], None] | None = None) -> None:
        super().remember_many(steps, meanwhile=meanwhile)
        if self.loop is not None and meanwhile is not None:
            is_ready = threading.Event()
            self.loop.call_soon_threadsafe(is_ready.set)  # after what was to be done meanwhile
            assert is_ready.wait(60)

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
            store.loop, store.fails = desk.loop, True
            line.sendall(written(desk.order(an_agent("second", "sleep=60"))))
            status, said = answer(line)
            assert (status, said.get("code")) == (503, "trouble")
            until(lambda: desk.now(lambda: desk.supervisor.trouble is None), within_s=60)
            line.sendall(written(desk.order(an_agent("third", "sleep=60"))))
            status, said = answer(line)
            assert (status, said["runs"][0]["name"]) == (200, "third")


def test_a_large_request_right_behind_an_answer_that_the_loop_does_not_know_of_is_not_lost(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, loop_may_know = Unreadable(), threading.Event()
    give = EarlyAnswers.kept

    def give_and_wait(answers: EarlyAnswers) -> None:
        give(answers)
        assert loop_may_know.wait(60)

    with a_desk(tmp_path, store=store) as desk:
        look_around(desk, monkeypatch)
        with connect(desk.places.socket) as line:
            store.loop = desk.loop
            monkeypatch.setattr(EarlyAnswers, "kept", give_and_wait)
            line.sendall(written(desk.order(an_agent("second", "sleep=60"))))
            assert answer(line)[0] == 200
            open_ones = list(desk.server._connections)  # noqa: SLF001
            [connection] = [one for one in open_ones if one.is_answering]
            many = {f"A{number}": "x" * LARGEST for number in range(4)}
            large = written(desk.order(an_agent("large"), environment=many))
            sending = threading.Thread(target=line.sendall, args=(large,))
            sending.start()
            until(lambda: len(connection._later) > LARGEST, within_s=60)  # noqa: SLF001
            loop_may_know.set()
            assert answer(line)[1]["runs"][0]["name"] == "large"
            sending.join(60)
