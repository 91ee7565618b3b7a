"""A number of its own for another thread: it never waits, and goes with the last who has it."""

from __future__ import annotations

import socket

from paddock.api.direct import Direct


def test_it_sends_also_when_the_socket_is_closed_and_goes_with_its_last_holder() -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    theirs.settimeout(10)
    direct = Direct(ours)
    ours.close()
    with theirs:
        assert direct.send(b"hello") == 5
        assert theirs.recv(10) == b"hello"
        held = [direct]
        del direct
        assert held[0].send(b"still") == 5
        assert theirs.recv(10) == b"still"
        held.clear()
        assert theirs.recv(10) == b""


def test_whoever_does_not_read_or_has_left_keeps_nobody_waiting() -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    with ours:
        direct = Direct(ours)
        while direct.send(bytes(4096)):
            pass
        theirs.close()
        assert direct.send(b"hello") == 0
