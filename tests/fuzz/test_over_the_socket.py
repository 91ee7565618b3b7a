"""Bytes that are no request, or nearly one, at the daemon's own socket: nothing is a bug of ours.

The corpus of these is `raw_request`. What it says is declined or hung up on; the next is answered.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.kit.desk import ServedDesk, a_desk, an_agent
from tests.kit.raw_http import ask, connect

from .mutating import anything
from .target import Target, files_of

NAME = "raw_request"
SILENT_S = 0.03  # whoever says nothing for so long waits for more of the request
IS_HUNT = os.environ.get("HYPOTHESIS_PROFILE") == "long"
WORDS = (
    *(b"GET /v1/status HTTP/1.1\r\n", b"Host: localhost\r\n", b"Content-Length: ", b"\r\n\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"Expect: 100-continue\r\n"),
    *(b"POST /v1/kill HTTP/1.1\r\n", b"0\r\n\r\n", b"Upgrade: h2c\r\n", b"%ff", b"%00", b"?all=1"),
    *(b"/v1/runs/works/", b"HTTP/1.0", b"\n", b"ffffffffffffffff\r\n", b" ", b"Last-Event-ID: "),
)
RAW = Target(NAME, lambda _data: None, WORDS)
STATUS = re.compile(rb"^HTTP/1\.[01] (\d{3}) ", re.MULTILINE)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedDesk]:
    with a_desk(tmp_path_factory.mktemp("raw")) as served:
        served.submit(an_agent("works", "print=hello", "sleep=6000"))
        yield served


def said(desk: ServedDesk, data: bytes) -> bytes:
    """All that comes back until nothing does."""
    found = b""
    with connect(desk.places.socket) as line:
        line.settimeout(SILENT_S)
        with suppress(OSError):
            line.sendall(data)
            while piece := line.recv(65536):
                found += piece
        with suppress(OSError):
            line.shutdown(socket.SHUT_WR)
    return found


def feed(desk: ServedDesk, data: bytes) -> None:
    statuses = [int(status) for status in STATUS.findall(said(desk, data))]
    assert all(status < 500 for status in statuses), statuses


@pytest.mark.parametrize("path", files_of(NAME), ids=lambda path: path.name)
def test_what_once_broke_it_is_sent_again(desk: ServedDesk, path: Path) -> None:
    feed(desk, path.read_bytes())
    assert ask(desk.places.socket, "GET", "/v1/status").status == 200


@pytest.mark.timeout(3600 if IS_HUNT else 120)
def test_no_bytes_are_a_bug(desk: ServedDesk) -> None:
    @settings(
        max_examples=10_000 if IS_HUNT else 80,
        deadline=None,
        phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(anything(RAW))
    def send(data: bytes) -> None:
        feed(desk, data)

    send()
    assert ask(desk.places.socket, "GET", "/v1/status").status == 200
