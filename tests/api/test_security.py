"""Who may ask: the socket's owner and root; over TCP whoever has the token; never a web page."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from paddock.api.security import token_of
from paddock.client import BadRequest, Client, NoDaemon
from paddock.config.places import Places
from tests.kit.desk import ServedDesk, a_desk
from tests.kit.raw_http import ask, connect, read_answer, send

KNOCK = """
import os, socket, sys
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
line = socket.socket(socket.AF_UNIX)
line.settimeout(5)
try:
    line.connect(sys.argv[1])
    line.sendall(b"GET /v1/status HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
    print(line.recv(100))
except OSError as error:
    print(type(error).__name__)
"""


def _as_nobody(path: Path) -> str:
    """Root becomes somebody else after it was started: the interpreter may be root's alone."""
    command = [sys.executable, "-I", "-S", "-c", KNOCK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    return done.stdout.strip() or done.stderr


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


@needs_root
def test_another_user_cannot_reach_the_socket(desk: ServedDesk) -> None:
    assert _as_nobody(desk.places.socket) == "PermissionError"


@needs_root
def test_another_user_is_not_answered_even_when_the_directory_is_open(tmp_path: Path) -> None:
    with a_desk(tmp_path) as desk:
        for place in (desk.places.state, *desk.places.state.parents):
            if place == Path("/tmp"):
                break
            place.chmod(0o755)
        desk.places.socket.chmod(0o666)
        assert _as_nobody(desk.places.socket) in ("b''", "ConnectionResetError", "BrokenPipeError")
        with desk.client() as client:
            assert client.status().driver == "fake"


PEERS = """
import os, socket, sys
from paddock.api.security import may_ask
ours, theirs = socket.socketpair(socket.AF_UNIX)  # of root
print(may_ask(ours))
os.setresuid(65534, 65534, 0)
print(may_ask(ours))
mine, _ = socket.socketpair(socket.AF_UNIX)  # of nobody
os.setresuid(0, 0, 0)
os.setresuid(65533, 65533, 65533)
print(may_ask(mine))
"""


@needs_root
def test_root_is_answered_by_everybodys_daemon_and_others_are_not() -> None:
    command = [sys.executable, "-c", PEERS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "True", "False"]


def test_the_socket_is_for_its_owner_only(desk: ServedDesk) -> None:
    mode = desk.places.socket.stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600


@pytest.mark.parametrize("host", ["", "a b", "evil.example/..", "<script>", "x" * 300, "a,b"])
def test_a_host_that_is_not_plain_is_declined(desk: ServedDesk, host: str) -> None:
    assert ask(desk.places.socket, "GET", "/v1/status", host=host).status == 400


def test_two_hosts_and_none_are_declined(desk: ServedDesk) -> None:
    where = desk.places.socket
    close = "Connection: close"
    assert send(where, f"GET /v1/status HTTP/1.1\n{close}").status == 400
    two = f"GET /v1/status HTTP/1.1\nHost: a\nHost: b\n{close}"
    assert send(where, two).status == 400


def test_requests_of_web_pages_are_not_answered(desk: ServedDesk) -> None:
    answer = ask(desk.places.socket, "POST", "/v1/kill", b'{"all": true}', origin="http://evil")
    assert answer.status == 403
    assert not any(name.startswith("access-control") for name in answer.headers)


def test_a_head_without_an_end_is_cut_off(desk: ServedDesk) -> None:
    with connect(desk.places.socket) as line:
        line.sendall(b"GET /v1/status HTTP/1.1\r\nX: ")
        try:
            for _ in range(1000):
                line.sendall(b"x" * 4096)
        except (BrokenPipeError, ConnectionResetError):
            pass
        else:
            pytest.fail("it took four megabytes of a header")
        assert read_answer(line).status == 400


def test_nonsense_is_answered_and_hung_up_on(desk: ServedDesk) -> None:
    with connect(desk.places.socket) as line:
        line.sendall(b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n")
        assert read_answer(line).status == 400
    with desk.client() as client:
        client.status()


@pytest.fixture
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
        return number


@pytest.fixture
def listening(tmp_path: Path, port: int) -> Iterator[ServedDesk]:
    with a_desk(tmp_path, listen=f"127.0.0.1:{port}") as desk:
        yield desk


def test_over_tcp_the_token_is_asked_for(listening: ServedDesk, port: int) -> None:
    where = ("127.0.0.1", port)
    token = listening.places.token.read_text(encoding="ascii").strip()
    assert listening.places.token.stat().st_mode & 0o777 == 0o600
    assert ask(where, "GET", "/v1/status").status == 401
    assert ask(where, "GET", "/v1/status", authorization=f"Bearer {token}x").status == 401
    assert ask(where, "GET", "/v1/status", authorization="Bearer \xff\xfe").status == 401
    assert ask(where, "GET", "/v1/status", authorization=f"Bearer {token}").status == 200
    assert token.encode() not in ask(where, "GET", "/v1/status").body


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil", "10.0.0.1"]
)
def test_over_tcp_a_name_of_somebody_else_is_declined(
    listening: ServedDesk, port: int, host: str
) -> None:
    token = listening.places.token.read_text(encoding="ascii").strip()
    answer = ask(
        ("127.0.0.1", port), "GET", "/v1/status", authorization=f"Bearer {token}", host=host
    )
    assert answer.status == 421


def test_clients_over_tcp_find_the_token_by_themselves(listening: ServedDesk, port: int) -> None:
    with Client(listening.places, address=f"127.0.0.1:{port}") as client:
        assert client.daemon().listen == f"127.0.0.1:{port}"
    with Client(listening.places, address=f"localhost:{port}", token="wrong" * 8) as client:
        with pytest.raises(BadRequest, match="a token is needed") as refused:
            client.status()
        assert refused.value.code == "forbidden"
    with pytest.raises(NoDaemon, match="a token is needed"):
        Client(Places(Path("/no/such/place")), address=f"127.0.0.1:{port}")


def test_a_token_is_made_once_and_must_be_long(tmp_path: Path) -> None:
    places = Places(tmp_path)
    assert token_of(places) == token_of(places)
    places.token.write_text("short\n", encoding="ascii")
    with pytest.raises(ValueError, match="too short"):
        token_of(places)


def test_whoever_asks_first_whether_to_send_a_body_is_told_to_go_on(desk: ServedDesk) -> None:
    body = b'{"runs": ["nobody"]}'
    with connect(desk.places.socket) as line:
        head = "POST /v1/kill HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        more = f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        line.sendall((head + more).encode())
        assert line.recv(4096).startswith(b"HTTP/1.1 100 Continue")
        line.sendall(body)
        assert read_answer(line).status == 404
