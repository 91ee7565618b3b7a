"""One connection: who may have it, how long it may keep us waiting, and what waits to be read.

Nothing here has a timer of its own. The server looks at all connections twice a second, so that a
request costs no more than a note of when it came.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from .bodies import MIB
from .direct import Direct
from .problems import Declined, written
from .security import LOCAL, may_ask

# asyncio asks for 256 KiB at a time, which the allocator fetches from the kernel and gives back for
# every single request (30 us).
READ_BYTES: Final = 64 * 1024
LONGEST_HEAD: Final = 64 * 1024  # of request line and headers; the parser has no bound of its own
IDLE_S: Final = 60  # a connection that asks nothing is closed then
HEAD_S: Final = 10.0  # from its first byte, or from the connection, to the end of a head
BODY_S: Final = 30.0  # without a byte of it
WHOLE_BODY_S: Final = 300.0
# An upload is what somebody pipes into us, at their own pace; it goes to the disk as it comes.
PATIENT_FOR: Final = frozenset({"/v1/stdin"})
STALLED_S: Final = 30.0  # without reading anything of what was sent
# A reader that has stalled (a pager) may go on later, unless what waits for it, or for all of
# them, is more than this; then the largest go until it is less.
LITTLE: Final = 256 * 1024
MUCH: Final = 16 * MIB
TOO_MUCH: Final = 128 * MIB  # no time is given any more
_CHUNKED: Final = b"\r\ntransfer-encoding: chunked\r\n"
_GO_ON: Final = b"HTTP/1.1 100"  # an answer of its own: the body that it asks for follows it


# Takes a whole request and answers it, or leaves it to us.
Take = Callable[[bytes, "PeerProtocol"], bool]


class _Joined:
    """A transport that sends the head of an answer together with what follows it.

    uvicorn writes them one after the other. Every system call gives up the interpreter's lock and
    has to win it back from the store's thread, which takes longer than the call itself.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head = b""
        self._streams = False

    def write(self, data: bytes) -> None:
        begins = data.startswith(b"HTTP/1.1 ") and not data.startswith(_GO_ON)
        if begins and not self._head:
            self._head = data
            self._hold_little(streams=_CHUNKED in data)
            return
        head, self._head = self._head, b""
        self._transport.write(head + data)

    def _hold_little(self, *, streams: bool) -> None:
        """Of a stream nothing more is made for one that has not taken the last piece: with the
        usual 64 KiB each, a thousand readers that stand still would hold 64 MiB."""
        if streams != self._streams:
            self._streams = streams
            self._transport.set_write_buffer_limits(high=0 if streams else None)

    def write_whole(self, answer: bytes) -> None:
        self._transport.write(answer)

    def close(self) -> None:
        if self._head:
            self.write(b"")
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class PeerProtocol(HttpToolsProtocol):
    """A connection over the Unix socket is served for our own user and for root only."""

    pending = 0  # bytes that wait to be read, when it was last looked at
    active_at = 0.0  # something came, or an answer was done
    is_answering = False  # at once, see `at_once`
    _in_head = True
    _head_bytes = 0
    _head_since: float | None = 0.0  # None: no head has begun since the last one was complete
    _body_since = 0.0
    _moved_at = 0.0  # the pending were less, or more

    _direct: Direct | None = None
    _is_leaving = False
    _later = b""  # what came meanwhile

    def __init__(
        self,
        config: Config,
        state: ServerState,
        gone: Callable[[PeerProtocol], None],
        take: Take | None = None,
    ) -> None:
        super().__init__(config=config, server_state=state, app_state={})
        self._gone = gone
        self._take = take

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        peer: socket.socket | None = transport.get_extra_info("socket")
        if peer is None or not may_ask(peer):
            self.transport = cast(asyncio.Transport, transport)
            self.transport.abort()
            return
        self.active_at = self._head_since = self._moved_at = self.loop.time()
        is_local = peer.family == socket.AF_UNIX
        self.app_state = {**self.app_state, LOCAL: is_local}
        if not is_local:
            self._take = None  # these have to show a token
        if hasattr(transport, "max_size"):
            transport.max_size = READ_BYTES
        joined = _Joined(cast(asyncio.Transport, transport))
        super().connection_made(cast(asyncio.Transport, joined))

    def connection_lost(self, exc: Exception | None) -> None:
        self._gone(self)
        self._direct = None
        super().connection_lost(exc)

    def leave(self) -> None:
        """The server stops: an answer that is being made is still sent, a stream is broken off,
        so that its reader knows that it was not the end."""
        cycle: Any = self.cycle  # None before the first request, whatever its type says
        if self.is_answering:
            self._is_leaving = True
        elif cycle is not None and cycle.response_started and not cycle.response_complete:
            self.transport.abort()
        else:
            self.shutdown()

    def break_off_stream(self) -> None:
        """One whose head was sent only after the server said that it stops."""
        cycle: Any = self.cycle
        is_under_way = cycle is not None and cycle.response_started and not cycle.response_complete
        if is_under_way and cycle.chunked_encoding:
            self.transport.abort()

    # -- what comes -----------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        self.active_at = self.loop.time()
        if self.is_answering:
            self._keep_for_later(data)
            return
        if self._take is not None and self.asks_nothing and self._take_at_once(data):
            return
        was_in_head = self._in_head
        super().data_received(data)
        if not (was_in_head and self._in_head):
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > LONGEST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def _take_at_once(self, data: bytes) -> bool:
        """Only what begins here: nothing of an earlier request waits for its rest."""
        assert self._take is not None
        if self._head_bytes:
            return False
        self.is_answering = True
        if not self._take(data, self):
            self.is_answering = False
            return False
        self._head_since = None
        self._unset_keepalive_if_required()
        return True

    def direct(self) -> Direct | None:
        """A way past the transport; None while that has something to send, which goes first."""
        if self.transport.is_closing() or self.transport.get_write_buffer_size():
            return None
        if self._direct is None:
            try:
                self._direct = Direct(self.transport.get_extra_info("socket"))
            except OSError:  # too many are open: it can be done without
                return None
        return self._direct

    def answer(self, data: bytes) -> None:
        """Of what was taken at once: all of it, or what did not go directly."""
        self.is_answering = False
        self.active_at = self.loop.time()
        if self.transport.is_closing():
            return
        if data:
            cast(_Joined, self.transport).write_whole(data)
        if self._is_leaving:
            self.transport.close()
            return
        self.flow.resume_reading()
        if self._later:
            later, self._later = self._later, b""
            self.data_received(later)

    def _keep_for_later(self, data: bytes) -> None:
        """Our own client may have its answer before the loop knows, and asks the next."""
        self._later += data
        if len(self._later) > LONGEST_HEAD:
            self.flow.pause_reading()  # the rest stays where it is

    def on_message_begin(self) -> None:
        self._in_head = True
        if self._head_since is None:
            self._head_since = self.active_at
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_since = None
        self._body_since = self.active_at
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        self.active_at = self.loop.time()
        super().on_response_complete()

    # -- how long it takes ----------------------------------------------------------------

    @property
    def asks_nothing(self) -> bool:
        cycle: Any = self.cycle
        return not self.is_answering and (cycle is None or cycle.response_complete)

    @property
    def is_idle(self) -> bool:
        """It could be closed, and its client would hardly notice."""
        transport: Any = self.transport  # None until it is made
        return (
            transport is not None
            and self.asks_nothing
            and not transport.is_closing()
            and not transport.get_write_buffer_size()
        )

    def has_stalled(self, now: float, after_s: float | None = None) -> bool:
        """While so much is pending that writing has paused, less of it means: it was read."""
        after_s = STALLED_S if after_s is None else after_s
        return self.pending > 0 and now - self._moved_at >= after_s

    def drop(self) -> None:
        self.pending = 0
        self.transport.abort()

    def look(self, now: float) -> None:
        """Whoever keeps us waiting for too long is let go of."""
        pending = self.transport.get_write_buffer_size()
        if pending != self.pending:
            self.pending, self._moved_at = pending, now
        if self.has_stalled(now) and (pending > LITTLE or self.transport.is_closing()):
            self.drop()
        if self.transport.is_closing() or self.flow.read_paused:
            return  # it is we who do not read
        if not self.asks_nothing:
            if self._waits_for_body(now):
                self._say_late()
        elif self._head_since is not None:
            if now - self._head_since > HEAD_S:
                self.transport.close()
        elif now - self.active_at > IDLE_S:
            self.transport.close()

    def _waits_for_body(self, now: float) -> bool:
        if self.is_answering or not self.cycle.more_body or self.scope.get("path") in PATIENT_FOR:
            return False
        return now - self.active_at > BODY_S or now - self._body_since > WHOLE_BODY_S

    def _say_late(self) -> None:
        if not self.cycle.response_started:
            told = f"the rest of the request did not come within {BODY_S:g} s"
            self.transport.write(plain_answer(Declined(408, "bad_request", told)))
        self.transport.close()


def keep_order(connections: Iterable[PeerProtocol], now: float) -> None:
    """Looks at each of them, and to it that what nobody reads does not become too much."""
    held = 0
    for one in connections:
        one.look(now)
        held += one.pending
    for most, after_s in ((MUCH, STALLED_S), (TOO_MUCH, 0.1)):
        if held <= most:
            return
        stalled = [one for one in connections if one.has_stalled(now, after_s)]
        for one in sorted(stalled, key=lambda one: one.pending, reverse=True):
            held -= one.pending
            one.drop()
            if held <= most:
                return


def plain_answer(declined: Declined) -> bytes:
    """For those whose request is not even read."""
    status = f"{declined.status} {declined.code}"
    return written(status, declined.body(), "connection: close\r\n")
