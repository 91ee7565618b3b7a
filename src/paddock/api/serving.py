"""The server: the application behind its guard, on the Unix socket and, when asked for, on TCP.

Of uvicorn it takes the protocol, not the server: that one wakes up ten times a second, takes the
process's signals, and cannot listen anew when somebody removes its socket.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from typing import Any, Final, cast

from uvicorn import Config
from uvicorn.server import ServerState

from paddock.supervisor.loop import Supervisor

from .accepting import Crowd, Listener, room
from .app import Switch, create_app
from .at_once import AtOnce
from .binding import CannotListen, bind_tcp, bind_unix, identity, split_address
from .connecting import IDLE_S, PeerProtocol, keep_order
from .desk import Desk, Facts, Output
from .security import App, Guard, token_of

LOOK_S: Final = 0.5  # at the socket's file, and at the connections
GRACE_S: Final = 2.0  # for answers under way when the daemon stops
SOON_S: Final = 0.01

__all__ = ["ApiServer", "CannotListen"]

log = logging.getLogger("paddock.api")


class ApiServer:
    """`start` listens, and from then on sees to it that the socket can be found; `stop` ends it."""

    def __init__(
        self,
        supervisor: Supervisor,
        facts: Facts,
        output: Output,
        *,
        may_listen: Callable[[], bool] | None = None,
        lost: Callable[[], None] | None = None,
    ) -> None:
        """`may_listen` says whether the store is still ours; once it is not, `lost` is called."""
        self._facts = facts
        self._may_listen = may_listen
        self._lost = lost
        self._is_lost = False
        self._app = create_app(supervisor, facts, output)
        self._desk: Desk = self._app.state.desk
        self._at_once = AtOnce(self._desk)
        self._state = ServerState()
        self._config: Config | None = None
        self._listeners: list[Listener] = []
        self._unix: Listener | None = None
        local, tcp = room()
        self._local, self._tcp = Crowd(local), Crowd(tcp)
        self._watching: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """The caller holds the store's lock: a socket that is there is nobody's."""
        listen = self._facts.listen
        token = None if listen is None else self._token()
        host = None if listen is None else split_address(listen)[0]
        self._config = _config(Guard(Switch(self._app), token=token, listen_host=host))
        try:
            if listen is not None:
                self._listeners.append(self._serve(bind_tcp(listen), self._tcp))
            await self._listen()
        except BaseException:
            await self.stop()
            raise
        self._desk.read_ids()
        self._watching = asyncio.get_running_loop().create_task(self.watch())

    async def watch(self) -> None:
        """Whoever tidies up may take the socket along; a new one is there within a second."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(LOOK_S)
            self._desk.read_ids()
            keep_order(self._connections, loop.time())
            if not self._is_lost and identity(self._facts.places.socket) != self._own:
                await self._listen_again()

    async def _listen_again(self) -> None:
        path = self._facts.places.socket
        if self._may_listen is not None and not self._may_listen():
            self._is_lost = True
            log.warning("%s is not ours any more: the store went with it", path)
            if self._lost is not None:
                self._lost()
            return
        try:
            await self._listen()
        except CannotListen as error:
            log.debug("%s", error)
        else:
            log.warning("the socket %s was removed or replaced; there is a new one", path)

    async def stop(self) -> None:
        """No new connections; answers under way have a moment, streams are broken off."""
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching
        self._remove_socket()
        for listener in self._listeners:
            await listener.close()
        self._desk.closing.set()
        for connection in self._connections:
            connection.leave()
        await self._drain()
        self._desk.close()

    # -- inside -------------------------------------------------------------------------------

    @property
    def _connections(self) -> list[PeerProtocol]:
        return cast(list[PeerProtocol], list(self._state.connections))

    def _token(self) -> str:
        try:
            return token_of(self._facts.places)
        except (OSError, ValueError) as error:
            raise CannotListen(f"cannot listen on {self._facts.listen}: {error}") from None

    async def _listen(self) -> None:
        path = self._facts.places.socket
        made = bind_unix(path)
        self._own = identity(path)
        before, self._unix = self._unix, self._serve(made, self._local)
        self._listeners.append(self._unix)
        if before is not None:
            self._listeners.remove(before)
            await before.close()  # nobody can find it any more; its connections go on

    def _serve(self, made: socket.socket, crowd: Crowd) -> Listener:
        config = self._config
        assert config is not None

        def protocol() -> PeerProtocol:
            return PeerProtocol(config, self._state, crowd.discard, self._at_once.take)

        return Listener(made, crowd, protocol)

    def _remove_socket(self) -> None:
        """Only our own: a daemon that came after us may have put its own there."""
        path = self._facts.places.socket
        if self._unix is not None and identity(path) == self._own:
            path.unlink(missing_ok=True)

    async def _drain(self) -> None:
        clock = asyncio.get_running_loop().time
        tasks, give_up_at = set(self._state.tasks), clock() + GRACE_S
        while tasks and clock() < give_up_at:
            _, tasks = await asyncio.wait(tasks, timeout=SOON_S)
            for connection in self._connections:
                connection.break_off_stream()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        give_up_at = clock() + GRACE_S
        while any(one.is_answering for one in self._connections) and clock() < give_up_at:
            await asyncio.sleep(SOON_S)
        for connection in self._connections:
            connection.transport.abort()
        await asyncio.sleep(0)  # for the transports to close their sockets


def _config(app: App) -> Config:
    config = Config(
        cast(Any, app),
        http=PeerProtocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        loop="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=IDLE_S,
    )
    config.load()
    return config
