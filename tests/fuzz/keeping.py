"""What reaches the keeper and what it leaves: messages, answers, journals, names, marks."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Container
from typing import Any

from paddock.drivers.attempts import attempt_of
from paddock.drivers.local.estate import Estate
from paddock.drivers.local.keeper.children import Attempt as KeptAttempt
from paddock.drivers.local.keeper.children import Children
from paddock.drivers.local.keeper.connection import Connection
from paddock.drivers.local.keeper.journal import Journal, read_journal
from paddock.drivers.local.keeper.members import (
    Census,
    Process,
    heeded_in,
    look_at,
    mark_in,
    parse_stat,
)
from paddock.drivers.local.keeper.protocol import (
    SOCKET_NAME,
    BadMessage,
    Lines,
    Order,
    Refused,
    decode,
    identities,
)
from paddock.drivers.local.keeper.requests import Requests
from paddock.drivers.local.keeper_client import KeeperClient, KeeperGone, KeeperRefused
from paddock.drivers.local.life import stop_in
from paddock.drivers.local.naming import attempt_in
from paddock.rescue.records import facts_in

from .target import a_place, target, told
from .wire import serve_bytes

HELLO = b'{"id":0,"do":"hello","version":1,"epoch":1}'
SPAWN = (
    b'{"id":1,"do":"spawn","attempt":"i.run.1","argv":["true"],"env":{},"cwd":"/","fifo":"/f",'
    b'"segment":"/s","cap_bytes":1}'
)


class NoChildren(Children):
    """Knows attempts, starts no process and finds none: what is killed here is nobody."""

    def spawn(self, order: Order) -> KeptAttempt:
        attempt = KeptAttempt(len(self.attempts) + 1, order, "/nowhere")
        attempt.state = "exited"
        return self.attempts.setdefault(attempt.name, attempt)

    def census(self) -> Census:
        return Census({}, self.leads())

    def strays_of(self, names: Container[str]) -> list[Process]:  # noqa: ARG002
        return []


class NoServer:
    """What requests ask of the server."""

    def daemons(self) -> list[Connection]:
        return []

    def hear_out(self, connection: Connection) -> None: ...

    def yield_output(self) -> None: ...

    def let_go(self, attempt: object) -> None: ...


@target(
    HELLO + b"\n", SPAWN + b"\n", b'{"do":"kill_all","id":2,"attempt":"i.run.1","also":[[',
    b"[" * 900, b'{"do":"signal","attempt":"i.run.1","signal":10}\n', b"\\ud800", b"9" * 30,
    b'"restart":{"argv":["x"]', b'{"do":"segment","attempt":"i.run.1","segment":"/',
    b'{"do":"list","after":', b"\n", b"1e999",
)  # fmt: skip
def keeper_messages(data: bytes) -> None:
    """Each line is done, refused or no message; and what it left to do later can be done too."""
    with a_place() as place:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            journal = Journal(str(place / "1-1.journal"), {})
            server: Any = NoServer()
            requests = Requests(NoChildren(str(place), journal), server)
            connection = Connection(ours)
            try:
                heard = Lines().feed(data)
            except BadMessage as error:
                told(str(error))
                heard = []
            for line in [HELLO, SPAWN, *heard[:50]]:
                _say(requests, connection, line)
            requests.go_on(time.monotonic() + 60)
            journal.close()


def _say(requests: Requests, connection: Connection, line: bytes) -> None:
    """As the server does it."""
    asked: dict[str, Any] = {}
    try:
        asked = decode(line)
        if any(look_at(pid) for pid, _ in identities(asked, "also")):
            return  # an input may guess a process, and it is this machine's
        reply = requests.handle(connection, asked, superseded=False)
    except BadMessage as error:
        reply = {"ok": False, "message": str(error)}
    except Refused as refusal:
        reply = {"ok": False, "message": str(refusal), **refusal.facts}
    if reply is not None:
        connection.send({"id": asked.get("id"), **reply})


@target(
    b'{"id":1,"ok":true}\n', b'{"event":"changed"}\n', b'{"id":1,"ok":false,"error":"x"}\n',
    b"[" * 900, b"\n",
)  # fmt: skip
def keeper_answer(data: bytes) -> None:
    """As the daemon reads it: an answer, a refusal, or the keeper is gone."""
    with a_place() as place, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place / SOCKET_NAME))
        listener.listen()
        thread = serve_bytes(listener, data)
        client = KeeperClient(place)
        try:
            assert isinstance(client.hello(1), dict)
        except (KeeperGone, KeeperRefused, BadMessage):
            pass
        finally:
            client.close()
            thread.join(10)


@target(
    b'{"keeper":{"boot":"x"}}\n', b'{"attempt":"i.run.1","state":"exited","exit_code":0}\n', b"\n",
    b"null", b'"stop":{"outcome":"cancelled","because":"x"}', b'"pid":', b"[]", b"1e999",
    b"[" * 900, b'"state":["exited"]',
)  # fmt: skip
def journal(data: bytes) -> None:
    """What a dead keeper wrote, or something else did: the next daemon begins all the same."""
    with a_place() as place:
        (place / "1-1.journal").write_bytes(data)
        assert all(isinstance(one, dict) for one in read_journal(str(place / "1-1.journal")))
        estate = Estate(place)
        for mark, record in estate.inherit({}).items():
            attempt_in(mark)
            stop_in(record.get("stop"))
            assert record["state"] in ("starting", "running", "exited", "spawn_failed")
            for name in ("pid", "start", "limit_bytes", "exit_code", "signal", "max_rss_bytes"):
                assert record.get(name) is None or type(record[name]) is int
            estate.forgot(mark)
        estate.tidy()
        assert not estate.is_any and not (place / "1-1.journal").exists()


@target(b"PADDOCK_ATTEMPT=i.run.1\0", b"9" * 5000, b"..", b"\0", b"\xff", b".1")
def marks(data: bytes) -> None:
    """Any process may wear any mark; it names an attempt, or it names none."""
    mark = mark_in(data) or os.fsdecode(data)
    found = attempt_in(mark)
    assert found is None or (found.run and found.number >= 0 and "/" not in found.run)
    attempt_of(mark)
    facts_in({}, mark)


@target(b")", b"\r", b"SigIgn:\tffff", b"\n", b" R 1 ", b"\x0b", b"\x85", b":\t")
def process_name(data: bytes) -> None:
    """A program chooses its own name, of which the kernel keeps 15 bytes."""
    name = data.replace(b"\0", b"")[:15]
    fields = b" S 7 8 9 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"
    found = parse_stat(b"42 (" + name + b")" + fields)
    assert (found.pid, found.state, found.parent) == (42, "S", 7)
    assert (found.group, found.session, found.start) == (8, 9, 4711)
    shown = name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")  # as the kernel writes it there
    masks = b"\nUmask:\t0022\nSigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n"
    assert heeded_in(b"Name:\t" + shown + masks) == 0x1001
