"""Whether a daemon answers: with real sockets, and never longer than it is given."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paddock.rescue.reaching import ABSENT, ANSWERS, SILENT, daemon_is


@contextmanager
def listening(path: Path, answer: bytes | None) -> Iterator[None]:
    """Answers one who asks; None: takes what comes, and says nothing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            line, _ = server.accept()
            with line:
                line.recv(4096)
                line.sendall(answer or b"")

        thread = threading.Thread(target=serve, daemon=True)
        if answer is not None:
            thread.start()
        yield
        if answer is not None:
            thread.join(5)


def test_one_that_answers_is_found_at_once(tmp_path: Path) -> None:
    with listening(tmp_path / "s", b"HTTP/1.1 200 OK\r\n\r\n"):
        assert daemon_is(str(tmp_path / "s")) == ANSWERS


def test_without_a_socket_there_is_none(tmp_path: Path) -> None:
    began_at = time.monotonic()
    assert daemon_is(str(tmp_path / "s")) == ABSENT
    assert time.monotonic() - began_at < 1.0


def test_one_that_hangs_is_waited_for_as_long_as_was_said(tmp_path: Path) -> None:
    began_at = time.monotonic()
    with listening(tmp_path / "s", None):
        assert daemon_is(str(tmp_path / "s"), within_s=0.2) == SILENT
    assert 0.2 <= time.monotonic() - began_at < 1.5


def test_a_socket_that_nobody_listens_to_is_of_a_dead_one(tmp_path: Path) -> None:
    with listening(tmp_path / "s", None):
        pass
    assert daemon_is(str(tmp_path / "s"), within_s=0.1) == ABSENT


def test_one_that_hangs_up_without_a_word_does_not_answer(tmp_path: Path) -> None:
    with listening(tmp_path / "s", b""):
        assert daemon_is(str(tmp_path / "s"), within_s=0.1) in (ABSENT, SILENT)


def test_a_path_longer_than_a_socket_may_have_is_reached(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    assert daemon_is(str(deep / "s")) == ABSENT
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        (tmp_path / "short").symlink_to(deep)
        server.bind(str(tmp_path / "short/s"))
        server.listen()
        assert daemon_is(str(deep / "s"), within_s=0.1) == SILENT
