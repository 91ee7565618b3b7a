"""Nothing that comes through the socket ends the keeper, and nobody else gets in."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys

import pytest

from paddock.drivers.local.keeper.protocol import MAX_MESSAGE_BYTES, SOCKET_NAME
from tests.kit.keeping import Keeping

HELLO = b'{"id":0,"do":"hello","version":1,"epoch":5}\n'
SPAWN = '{"id":1,"do":"spawn","attempt":"a","argv":["true"],"env":{},"cwd":"/","fifo":"/x",'


def said(kept: Keeping, data: bytes) -> bytes:
    """The keeper's whole answer to raw bytes and the end of them."""
    handle = os.open(kept.directory, os.O_PATH)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
        sock.connect(f"/proc/self/fd/{handle}/{SOCKET_NAME}")
        os.close(handle)
        answer = b""
        try:
            sock.sendall(data)
            sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # closed on us in the middle
        try:
            while chunk := sock.recv(65536):
                answer += chunk
        except ConnectionError:
            pass
        return answer


ANSWERS: list[tuple[bytes, bytes]] = [
    (b"", b""),
    (b"\n\n\n", b""),
    (b"hello\n", b"bad_message"),
    (b"\x00\xff\xfe\x80\n", b"bad_message"),
    (b"[1,2]\n", b"bad_message"),
    (b'"x"\n', b"bad_message"),
    (b"[" * 100_000 + b"\n", b"bad_message"),
    (b'{"id":' + b"9" * 100_000 + b"}\n", b"bad_message"),
    (b'{"id":1,"do":"hello"', b""),
    (b"x" * (MAX_MESSAGE_BYTES + 70_000), b"more than"),
    (b'{"id":1}\n', b"hello_first"),
    (b'{"id":1,"do":"list"}\n', b"hello_first"),
    (b'{"id":1,"do":["list"]}\n', b"hello_first"),
    (b'{"id":1,"do":"hello"}\n', b"bad_request"),
    (b'{"id":1,"do":"hello","version":true}\n', b"bad_request"),
    (b'{"id":1,"do":"hello","version":1,"epoch":-3}\n', b"bad_request"),
    (b'{"id":1,"do":"hello","version":1,"epoch":0}\n', b"old_epoch"),
    (HELLO + b'{"id":1,"do":"spawn"}\n', b"bad_request"),
    (HELLO + b'{"id":1,"do":"spam"}\n', b"unknown_request"),
    (HELLO + b'{"id":1,"do":"__init__"}\n', b"unknown_request"),
    (HELLO + b'{"id":{},"do":7}\n', b"unknown_request"),
    (HELLO + b'{"id":1,"do":"forget","attempt":3}\n', b"bad_request"),
    (HELLO + b'{"id":1,"do":"forget","attempt":"\\u0000"}\n', b"bad_request"),
    (HELLO + (SPAWN + '"segment":"x","cap_bytes":1}\n').encode(), b"absolute path"),
    (HELLO + (SPAWN + '"segment":"/x","cap_bytes":-1}\n').encode(), b"whole number"),
    (HELLO + (SPAWN + '"segment":"/\\u0000","cap_bytes":1}\n').encode(), b"bad_request"),
    (HELLO + (SPAWN + '"segment":"/\\ud800","cap_bytes":1}\n').encode(), b"bad_request"),
    (HELLO[:-2] + b',"restart":3}\n', b"bad_request"),
    (HELLO[:-2] + b',"restart":{"argv":[]}}\n', b"bad_request"),
    (HELLO[:-2] + b',"restart":{"argv":["x"],"after_s":1e999}}\n', b"bad_request"),
]


def test_a_bad_message_is_answered_or_the_connection_closed(kept: Keeping) -> None:
    """One keeper for all: each must also leave it fit for the next."""
    for data, answer in ANSWERS:
        assert answer in said(kept, data), data[:100]
    kept.epoch = 10
    kept.connect()
    assert kept.client.call("list")["attempts"] == []


def test_noise_of_all_kinds_does_not_end_the_keeper(kept: Keeping) -> None:
    chance = random.Random(7)
    for _ in range(200):
        data = bytearray(HELLO * 2 + SPAWN.encode() + b'"segment":"/x","cap_bytes":1}\n')
        for _ in range(chance.randrange(1, 12)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        # Its attempts are to fail: whatever is left of the order, /x is no FIFO of ours.
        said(kept, bytes(data[: chance.randrange(len(data) + 1)]).replace(b"spawn", b"spown"))
    visitor = kept.visit()
    kept.epoch = visitor.hello(None)["epoch"]
    kept.connect()
    assert kept.client.call("list")["attempts"] == []


TRY = f"""
import os, socket
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
sock = socket.socket(socket.AF_UNIX)
try:
    sock.connect("{SOCKET_NAME}")
    sock.sendall({HELLO!r})
    print(sock.recv(100))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_another_user_is_refused_by_the_directory_and_by_the_keeper(kept: Keeping) -> None:
    def as_another() -> str:
        command = [sys.executable, "-I", "-c", TRY]
        return subprocess.run(
            command, cwd=kept.directory, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert as_another() == "PermissionError"
    # Somebody opened all doors: the keeper still looks who it is.
    kept.directory.chmod(0o777)
    (kept.directory / SOCKET_NAME).chmod(0o777)
    assert as_another() in ("b''", "ConnectionResetError", "BrokenPipeError")
    kept.directory.chmod(0o700)
