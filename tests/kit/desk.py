"""The API as it is served: a real supervisor on the fake driver, behind a real socket.

Runs on an event loop in a thread of its own, so that tests may use the synchronous client.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

import pytest

from paddock.api import known
from paddock.api.desk import Facts
from paddock.api.serving import ApiServer
from paddock.client import Client
from paddock.config.places import Places
from paddock.core.events import Host, Sampled
from paddock.core.policy import Policy
from paddock.core.run import Attempt
from paddock.daemon.observing import Observing
from paddock.drivers.fake.driver import FakeDriver
from paddock.logs.output import OutputStore
from paddock.ports import Recipe, Store
from paddock.storage.memory import MemoryStore
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.recovery import inherit
from paddock.wire.run_request import RunRequest
from paddock.wire.views import Submission, Submit
from paddock.workspaces.room import Room
from tests.kit import leaks
from tests.kit.factories import a_host, a_policy
from tests.kit.waiting import until

T = TypeVar("T")


class ServedDesk:
    """`client()` talks to it; `within(work)` runs a coroutine where the supervisor lives."""

    def __init__(
        self,
        directory: Path,
        *,
        policy: Policy | None = None,
        store: Store | None = None,
        room: Room | None = None,
    ) -> None:
        self.places = Places(directory / "state")
        self.places.state.mkdir(mode=0o700, exist_ok=True)
        self.home = directory
        self.policy = policy or a_policy()
        self.store = store or MemoryStore()
        self.output = OutputStore(self.places.output)
        # Workspaces are idle enough to go as soon as they are released.
        self.room: Room | None = room or Room(self.places.state / "workspaces", idle_days=0)
        self.listen: str | None = None
        self.stops: list[bool] = []
        self.recent_bytes: dict[Attempt, tuple[int, ...]] = {}
        self.beats: list[tuple[str, Recipe]] = []
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._live, name="served desk")
        self._up: Future[None] = Future()
        self._over: asyncio.Event | None = None

    # -- its life -------------------------------------------------------------------------

    def start(self) -> None:
        self._thread.start()
        self._up.result(60)

    def stop(self) -> None:
        if self._over is not None:
            self.loop.call_soon_threadsafe(self._over.set)
        self._thread.join(60)
        assert not self._thread.is_alive()
        self.loop.close()

    def _live(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_until_complete(self._serve())
        except BaseException as error:  # noqa: BLE001 - told to the test
            if not self._up.done():
                self._up.set_exception(error)
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())

    async def _serve(self) -> None:
        inherited = inherit(self.store, self.policy)
        self.driver = FakeDriver(write=self.output.append)
        self.supervisor = Supervisor(
            inherited.fleet, self.store, inherited.clock, {"fake": self.driver}, "fake"
        )
        writing = asyncio.ensure_future(self.supervisor.write())
        self.supervisor.post(Sampled(0.0, self.host()))
        observing = Observing(self.supervisor, self.output, self.places)
        facts = Facts(
            places=self.places,
            epoch=inherited.epoch,
            listen=self.listen,
            stop=lambda *, kill: self.stops.append(kill),
            beat_while=lambda name, recipe: self.beats.append((name, recipe)),
            notices=self.output.notices,
            recent_bytes=lambda attempt: self.recent_bytes.get(attempt, ()),
            workspaces=self.room,
            metrics=observing.page,
        )
        self.server = ApiServer(self.supervisor, facts, self.output)
        self._over = asyncio.Event()
        try:
            await self.server.start()
            self._up.set_result(None)
            await self._over.wait()
        finally:
            await self.server.stop()
            writing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await writing
            await self.supervisor.close()
            observing.close()
            self.output.close()

    def host(self) -> Host:
        return a_host()

    # -- how tests use it -----------------------------------------------------------------

    def within(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return asyncio.run_coroutine_threadsafe(work(), self.loop).result(30)

    def now(self, work: Callable[[], T]) -> T:
        """Something done in the loop's own thread."""

        async def do() -> T:
            return work()

        return self.within(do)

    @contextlib.contextmanager
    def client(self) -> Iterator[Client]:
        with Client(self.places) as client:
            yield client

    def order(self, *runs: RunRequest, **more: Any) -> Submit:
        usual = {"key": uuid.uuid4().hex, "directory": str(self.home), "environment": {"A": "b"}}
        return Submit(**{**usual, "runs": runs, **more})

    def submit(self, *runs: RunRequest, **more: Any) -> Submission:
        with self.client() as client:
            return client.submit(self.order(*runs, **more))


def an_agent(name: str = "agent", *words: str, **more: Any) -> RunRequest:
    """A pretend agent; without a word it ends at once with 0."""
    return RunRequest(name=name, command=words or ("exit=0",), **more)


def look_around(desk: ServedDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every plain submission is taken at once, however slow this machine is."""
    monkeypatch.setattr(known, "TRUSTED_S", 600.0)
    desk.submit(an_agent("first"))
    ids = desk.server._desk.ids  # noqa: SLF001
    until(lambda: desk.now(lambda: ids.surely_new(["none"])), within_s=60)


@contextlib.contextmanager
def a_desk(
    directory: Path, *, listen: str | None = None, workspaces: bool = True, **more: Any
) -> Iterator[ServedDesk]:
    """Leaves no socket and no descriptor behind, or the test fails."""
    before = leaks.descriptors()
    desk = ServedDesk(directory, **more)
    desk.listen = listen
    desk.room = desk.room if workspaces else None
    desk.start()
    try:
        yield desk
    finally:
        desk.stop()
    assert not desk.places.socket.exists()

    def is_clean() -> bool:
        return all(before.get(fd) == what for fd, what in leaks.descriptors().items())

    # A client in a thread of the test's may be about to close its own.
    until(is_clean, within_s=30)
