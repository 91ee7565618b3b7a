"""A submission taken where it arrives gets the same answer as one that goes the usual way."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from paddock.api.at_once import LARGEST
from paddock.storage.errors import StoreFull
from paddock.storage.memory import MemoryStore
from paddock.wire.run_request import RunRequest
from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.raw_http import connect, next_answer, submission
from tests.kit.waiting import until

USUAL = b"Connection: keep-alive\r\n"  # one header more than our client sends


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
    # Small: those of the first submission may still be at work.
    "two": {"runs": tuple(an_agent(name, memory_bytes=1 << 28) for name in "ab")},
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
        line.sendall(submission(desk.order(**ORDERS[name]), more))
        status, said = next_answer(line)
        for run in said.get("runs", ()):
            del run["id"]
        found.append((status, said))
    assert found[0] == found[1]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[]", b'{"key": 3}'])
def test_what_is_no_submission_is_declined_alike(line: socket.socket, body: bytes) -> None:
    found = []
    for more in (b"", USUAL):
        line.sendall(submission(body, more))
        found.append(next_answer(line))
    assert found[0] == found[1] and found[0][0] == 400


def test_our_own_client_goes_the_short_way_and_others_do_not(
    desk: ServedDesk, line: socket.socket
) -> None:
    line.sendall(submission(desk.order(an_agent("zero")), USUAL))
    next_answer(line)
    taken = ways_taken(desk)
    for order, more in ((desk.order(an_agent("one")), b""), (desk.order(an_agent("two")), USUAL)):
        line.sendall(submission(order, more))
        assert next_answer(line)[0] == 200
    assert taken == [True, False]


def test_a_request_in_pieces_or_too_large_goes_the_usual_way(
    desk: ServedDesk, line: socket.socket
) -> None:
    whole = submission(desk.order(an_agent("pieces")))
    for piece in (whole[:20], whole[20:100], whole[100:]):
        line.sendall(piece)
    assert next_answer(line)[0] == 200
    line.sendall(submission(desk.order(an_agent("large"), environment={"A": "x" * LARGEST})))
    assert next_answer(line)[0] == 200


def test_requests_that_do_not_wait_for_their_answers_are_answered_in_order(
    desk: ServedDesk, line: socket.socket
) -> None:
    names = [f"run-{number}" for number in range(5)]
    status = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for name in names:
        line.sendall(submission(desk.order(an_agent(name))))
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
        line.sendall(submission(order))
        other.sendall(submission(order))
        (_, first), (_, second) = next_answer(line), next_answer(other)
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

    def remember_many(self, steps: Any) -> None:
        if any(step.recipes for step in steps):
            self.waits.set()
            assert self.may_go_on.wait(20)
            if self.is_full:
                raise StoreFull("x")  # type: ignore[arg-type]
        super().remember_many(steps)


def test_nothing_is_answered_before_the_disk_has_it(tmp_path: Any) -> None:
    store = Slow()
    with a_desk(tmp_path, store=store) as desk:
        desk.submit(an_agent("first"))
        with connect(desk.places.socket) as line:
            store.may_go_on.clear()
            store.waits.clear()
            line.sendall(submission(desk.order(an_agent("second"))))
            assert store.waits.wait(10)
            line.settimeout(0.2)
            with pytest.raises(TimeoutError):
                line.recv(1)
            line.settimeout(10)
            store.may_go_on.set()
            assert next_answer(line)[0] == 200


def test_a_disk_that_is_full_is_told_and_nothing_is_taken(tmp_path: Any) -> None:
    store = Slow()
    with a_desk(tmp_path, store=store) as desk:
        desk.submit(an_agent("first"))
        with connect(desk.places.socket) as line:
            store.is_full = True
            line.sendall(submission(desk.order(an_agent("second"))))
            status, said = next_answer(line)
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
            line.sendall(submission(desk.order(an_agent("second", "sleep=60"))))
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
                line.sendall(submission(desk.order(an_agent("second"))))
                told.extend((next_answer(line)[0], line.recv(1)))

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
        line.sendall(submission(order))
        assert next_answer(line)[0] == 400
    assert desk.now(lambda: desk.server._desk.under_way) == {}  # noqa: SLF001
    good = desk.order(an_agent("x"), key=order.key)
    line.sendall(submission(good))
    assert next_answer(line)[0] == 200
