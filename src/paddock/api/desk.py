"""What every handler has at hand: the supervisor, what the daemon says of itself, the output."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from paddock import __version__
from paddock.config.places import Places
from paddock.core.run import Attempt, Run
from paddock.logs.bells import Bell
from paddock.logs.shelf import Missing, Piece
from paddock.ports import Recipe
from paddock.supervisor.loop import Supervisor
from paddock.wire.refs import no_such_run
from paddock.wire.views import DaemonView
from paddock.workspaces.room import Room

from .bodies import Bodies
from .defaults import DefaultsOf
from .holding import Purse
from .installed import Programs
from .known import KnownIds, TrustedDirectories
from .problems import Declined, ambiguous, not_found
from .projects import Projects
from .repositories import Repositories
from .telling import Told

T = TypeVar("T")

# Looking at files may take for ever (a network mount that went away). It must not hold up the
# loop, nor the store's thread; and so many may hang before nothing more is taken.
HANDS: Final = 4
ASKERS: Final = 8  # a remote that does not answer takes five seconds of one
PATIENCE_S: Final = 10.0
LONGEST_REF: Final = 200


class Output(Protocol):
    """What agents wrote: one stream of bytes a run, over all its attempts."""

    def size(self, run: str) -> int: ...

    def piece(self, run: str, from_byte: int, most: int) -> Piece:
        """From there, or from the next byte that is kept."""

    def fresh(self, run: str, from_byte: int, most: int) -> Piece:
        """The same at the end of it, quickly, in the loop."""

    def tail(self, run: str, lines: int) -> int:
        """Where the last lines begin."""

    def since(self, run: str, at: float) -> int:
        """Where what was written from that time on begins."""

    def missing(self, run: str) -> Missing:
        """What is not kept any more."""

    def listening(self, run: str) -> AbstractContextManager[Bell]:
        """A bell that is rung when it has written something."""

    def readers(self) -> int:
        """How many listen."""


def _nobody() -> int | None:
    return None


def _no_stop(*, kill: bool) -> None:  # noqa: ARG001
    raise Declined(501, "internal", "this daemon cannot be stopped over its API")


def _no_box(run: str) -> dict[str, str] | None:  # noqa: ARG001
    return None


def _no_curve(attempt: Attempt) -> tuple[int, ...]:  # noqa: ARG001
    return ()


def _no_notices() -> tuple[str, ...]:
    return ()


def _no_beats(name: str, recipe: Recipe) -> None:
    """Nobody removes heartbeats when their runs have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the daemon says of itself, and the two things that only it can do."""

    places: Places
    epoch: int = 0
    listen: str | None = None
    keeper_pid: Callable[[], int | None] = _nobody
    # Begins the end of the daemon; returns at once, so that the answer still goes out.
    stop: Callable[..., None] = _no_stop
    # `Endings.beat_while`: a heartbeat goes when the runs of its submission have ended.
    beat_while: Callable[[str, Recipe], None] = _no_beats
    black_box: Callable[[str], dict[str, str] | None] = _no_box
    # What it used in each second of the last minute.
    recent_bytes: Callable[[Attempt], tuple[int, ...]] = _no_curve
    notices: Callable[[], tuple[str, ...]] = _no_notices
    workspaces: Room | None = None  # without: no run has a repository
    metrics: Callable[[], Awaitable[bytes]] | None = None  # without: nobody counts
    started_at: float = field(default_factory=time.monotonic)

    def view(self) -> DaemonView:
        return DaemonView(
            pid=os.getpid(),
            keeper_pid=self.keeper_pid(),
            version=__version__,
            socket=str(self.places.socket),
            uptime_s=round(time.monotonic() - self.started_at, 3),
            state=str(self.places.state),
            listen=self.listen,
            epoch=self.epoch,
        )


class Desk:
    def __init__(self, supervisor: Supervisor, facts: Facts, output: Output) -> None:
        self.supervisor = supervisor
        self.facts = facts
        self.output = output
        self.bodies = Bodies()
        self.purse = Purse()
        self.told = Told()
        self.defaults = DefaultsOf()
        self.ids = KnownIds(supervisor)
        self.trusted = TrustedDirectories(facts.places.state)
        self.programs = Programs()
        self.projects = Projects()
        self.repositories = Repositories()
        # Submissions by their key, with those that wait for the end of the first.
        self.under_way: dict[str, list[asyncio.Future[None]]] = {}
        self.closing = asyncio.Event()  # set: whoever waits is answered with what is true now
        self._reading: asyncio.Task[None] | None = None
        self._hands = ThreadPoolExecutor(HANDS, thread_name_prefix="api")
        self._askers = ThreadPoolExecutor(ASKERS, thread_name_prefix="addresses")

    async def aside(self, work: Callable[[], T], *, within_s: float | None = PATIENCE_S) -> T:
        """Work on files, away from the loop."""
        return await self._done_by(self._hands, work, within_s, "the file system")

    async def ask_afar(self, work: Callable[[], T], *, within_s: float) -> T:
        """Work that also asks other machines: whoever needs none of them does not wait behind."""
        return await self._done_by(self._askers, work, within_s, "an address")

    @staticmethod
    async def _done_by(
        hands: ThreadPoolExecutor, work: Callable[[], T], within_s: float | None, who: str
    ) -> T:
        task = asyncio.get_running_loop().run_in_executor(hands, work)
        try:
            return await asyncio.wait_for(task, within_s)
        except TimeoutError:
            message = f"{who} did not answer within {within_s:g} s; try again later"
            raise Declined(503, "trouble", message) from None

    async def find(self, text: str) -> Run:
        """The one run that is meant: an id, a name (the newest), the beginning of an id."""
        if len(text) > LONGEST_REF:
            raise not_found("there is no such run: names have 64 letters at most")
        found = await self.supervisor.find(text) if text.isprintable() else ()
        if not found:
            raise not_found(no_such_run(text))
        if len(found) > 1:
            raise ambiguous(text, [f"{run.id} ({run.spec.name})" for run in found])
        return found[0]

    def read_ids(self) -> None:
        """Begun at the start, and again when there are too many."""
        if self.ids.needs_reading:
            self._reading = asyncio.get_running_loop().create_task(self.ids.read())

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        for hands in (self._hands, self._askers):
            hands.shutdown(wait=False, cancel_futures=True)
