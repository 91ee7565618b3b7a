"""Taking connections: only as many as there is room for, and never the daemon's last descriptors.

asyncio's own way has no bound, and answers a lack of descriptors with a hundred tracebacks.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from .connecting import PeerProtocol, plain_answer
from .problems import trouble

# There may be a thousand agents, each with somebody who follows it.
MOST_LOCAL: Final = 1024
MOST_TCP: Final = 64
FEWEST: Final = 8
AT_ONCE: Final = 32  # taken before others have their turn
REST_S: Final = 0.5  # after a lack of descriptors
SELDOM_S: Final = 60.0  # between two lines about the same

log = logging.getLogger("paddock.api")


def room() -> tuple[int, int]:
    """How many connections, local and over TCP: half of the descriptors is for other work, and a
    local one may have two of them (`Direct`)."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    half = 1 << 30 if soft == resource.RLIM_INFINITY else soft // 2
    tcp = min(MOST_TCP, max(FEWEST, half // 8))
    return min(MOST_LOCAL, max(FEWEST, (half - tcp) // 2)), tcp


class Crowd:
    """All connections of one kind."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._members: set[PeerProtocol] = set()

    def __len__(self) -> int:
        return len(self._members)

    def add(self, one: PeerProtocol) -> None:
        self._members.add(one)

    def discard(self, one: PeerProtocol) -> None:
        self._members.discard(one)

    def has_room(self, now: float) -> bool:
        return len(self._members) < self.most or self.let_one_go(now)

    def let_one_go(self, now: float) -> bool:
        """The one that has asked nothing for longest; else one that does not read."""
        idle = [one for one in self._members if one.is_idle]
        found = idle or [one for one in self._members if one.has_stalled(now)]
        if not found:
            return False
        oldest = min(found, key=lambda one: one.active_at)
        self._members.discard(oldest)
        oldest.drop()
        return True


class Listener:
    """Takes connections of one socket until it is closed. Lives in the running loop."""

    def __init__(
        self, listening: socket.socket, crowd: Crowd, protocol: Callable[[], PeerProtocol]
    ) -> None:
        self._socket = listening
        self._crowd = crowd
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._welcoming: set[asyncio.Task[None]] = set()
        self._resting: asyncio.TimerHandle | None = None
        self._said: dict[str, float] = {}
        self._go_on()

    async def close(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        self._loop.remove_reader(self._socket)
        self._socket.close()
        while self._welcoming:
            await asyncio.wait(self._welcoming)

    # -- inside ---------------------------------------------------------------------------

    def _go_on(self) -> None:
        self._resting = None
        self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                made, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._rest(error)
                return
            made.setblocking(False)  # noqa: FBT003 - it takes no name
            if self._crowd.has_room(self._loop.time()):
                self._welcome(made)
            else:
                self._refuse(made)

    def _rest(self, error: OSError) -> None:
        """The socket stays ready to be read: without a pause this would be asked for ever."""
        self._say(f"no connections are taken for now: {error.strerror or error}")
        self._crowd.let_one_go(self._loop.time())
        self._loop.remove_reader(self._socket)
        self._resting = self._loop.call_later(REST_S, self._go_on)

    def _refuse(self, made: socket.socket) -> None:
        self._say(f"{len(self._crowd)} connections are at work; more are turned away")
        with made, suppress(OSError):
            made.send(plain_answer(trouble("busy with too many connections, try again")))

    def _welcome(self, made: socket.socket) -> None:
        protocol = self._protocol()
        self._crowd.add(protocol)
        task = self._loop.create_task(self._connect(protocol, made))
        self._welcoming.add(task)
        task.add_done_callback(self._welcoming.discard)

    async def _connect(self, protocol: PeerProtocol, made: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(lambda: protocol, made)
        except OSError as error:
            self._crowd.discard(protocol)
            made.close()
            self._say(f"a connection was lost: {error.strerror or error}")

    def _say(self, what: str) -> None:
        now = self._loop.time()
        if now - self._said.get(what, -SELDOM_S) >= SELDOM_S:
            self._said[what] = now
            log.warning("%s", what)
