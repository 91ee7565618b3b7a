"""A daemon that takes its time is waited for, and whoever waits is told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from paddock.client import Client, asks
from paddock.client.asks import Ask
from paddock.config.places import Places

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]"


@contextmanager
def a_daemon(places: Places, *lives: Callable[[socket.socket], None]) -> Iterator[None]:
    """Each life is one listening socket and one who connects; between two nobody listens."""
    places.state.mkdir()
    ready = threading.Event()

    def live() -> None:
        for life in lives:
            new = places.state / "new"
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
                server.bind(str(new))
                server.listen()
                new.rename(places.socket)  # as a daemon does it: the name is never gone
                ready.set()
                line, _ = server.accept()
            with line:
                line.recv(4096)
                life(line)

    thread = threading.Thread(target=live, daemon=True)
    thread.start()
    ready.wait(5)
    yield
    thread.join(5)
    assert not thread.is_alive()


def test_silence_is_told_once_and_the_answer_is_still_taken(tmp_path: Path) -> None:
    places, told = Places(tmp_path / "state"), threading.Event()
    ask = Ask("GET", "/v1/runs", list[str], quiet_s=0.05)
    times: list[int] = []

    def on_silence() -> None:
        times.append(1)
        told.set()

    def slowly(line: socket.socket) -> None:
        told.wait(5)
        line.sendall(ANSWER)

    with a_daemon(places, slowly), Client(places, on_silence=on_silence) as client:
        assert client.perform(ask) == []
    assert times == [1]


def test_an_answer_in_time_is_no_silence(tmp_path: Path) -> None:
    places, times = Places(tmp_path / "state"), []
    with (
        a_daemon(places, lambda line: line.sendall(ANSWER)),
        Client(places, on_silence=lambda: times.append(1)) as client,
    ):
        assert client.perform(Ask("GET", "/v1/runs", list[str], quiet_s=30.0)) == []
    assert times == []


def test_one_that_is_restarted_meanwhile_is_asked_again(tmp_path: Path) -> None:
    """It hangs up, as one that its keeper killed, and the next one listens a moment later."""
    places = Places(tmp_path / "state")
    lives = (lambda line: line.close(), lambda line: line.sendall(ANSWER))
    with a_daemon(places, *lives), Client(places) as client:
        assert client.perform(Ask("GET", "/v1/runs", list[str])) == []


def test_who_asks_to_wait_is_not_told_of_the_silence_that_was_asked_for(tmp_path: Path) -> None:
    places, times = Places(tmp_path / "state"), []

    def after_a_while(line: socket.socket) -> None:
        threading.Event().wait(asks.QUIET_S + 0.2)
        line.sendall(ANSWER)

    with (
        a_daemon(places, after_a_while),
        Client(places, on_silence=lambda: times.append(1)) as client,
    ):
        assert client.wait(["a"], timeout_s=5.0) == []
    assert times == []
