"""A daemon's life: it inherits, finds its agents again, serves, and leaves them running."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from paddock import __version__
from paddock.api.desk import Facts
from paddock.api.serving import ApiServer, CannotListen
from paddock.config import settings as s
from paddock.config.layers import load_settings
from paddock.config.places import Places
from paddock.config.policy import to_policy
from paddock.core.events import CancelRequested, PolicyChanged
from paddock.core.policy import Policy
from paddock.daemon.ballast import Ballast
from paddock.daemon.beginning import CannotStart, how_to_restart, make_walls, open_own_store
from paddock.daemon.capturing import take_up, usual_keeping
from paddock.daemon.clusters import ClusterLine
from paddock.daemon.configuration import Configuration
from paddock.daemon.containers import container_driver, left_alone, why_not
from paddock.daemon.left_notes import keep_ladder, listened_before, listening_file
from paddock.daemon.observing import Observing
from paddock.daemon.recording import Recording
from paddock.daemon.reports import Reports
from paddock.daemon.shims import Shims
from paddock.daemon.standing import grounds_for, resize
from paddock.drivers.fake.driver import FakeDriver
from paddock.drivers.local.containment import Containment
from paddock.drivers.local.containment.choosing import NoWalls, read_home
from paddock.drivers.local.driver import DriverTrouble, LocalDriver
from paddock.drivers.local.keeper.cgroups import leave_agents_cgroups, leave_home
from paddock.host.memory import MemoryUnreadable
from paddock.host.probe import probe_for_this_machine
from paddock.host.triggers import Alarms
from paddock.logs.output import OutputStore
from paddock.ports import Driver, HostProbe, Store
from paddock.storage.errors import StoreError
from paddock.supervisor.black_boxes import BlackBoxes
from paddock.supervisor.chores import Chores
from paddock.supervisor.disk import ANSWERS_WITHIN_S, NO_ANSWER
from paddock.supervisor.endings import Endings
from paddock.supervisor.eyes import Eyes
from paddock.supervisor.keepsakes import Keepsakes
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.readiness import Readiness
from paddock.supervisor.recovery import Inheritance, inherit, recover
from paddock.supervisor.sessions import Sessions
from paddock.supervisor.signs import signs_for
from paddock.supervisor.witness import Witness

SETTLE_S: Final = 10.0
EPOCH_TRIES: Final = 3
BALLAST_S: Final = 5.0
PRESSURE: Final = Path("/proc/pressure/memory")
KILL_S: Final = 20.0  # for agents that are ended with the daemon; then by force

log = logging.getLogger("paddock.daemon")


@dataclass(slots=True)
class Ending:
    """Set once: the daemon is to stop, and whether its agents end with it."""

    asked: asyncio.Event
    kill: bool = False

    def ask(self, *, kill: bool = False) -> None:
        self.kill = self.kill or kill
        self.asked.set()


async def live(places: Places, *, listen: str | None) -> None:
    listen = listen or listened_before(places)
    for trouble in leave_agents_cgroups():
        log.warning("%s", trouble)
    try:
        probe = probe_for_this_machine()
    except MemoryUnreadable as error:
        raise CannotStart(str(error)) from None
    settings = load_settings(None)
    policy = to_policy(settings, probe.sample().total_bytes)
    store = open_own_store(places)
    try:
        inherited = inherit(store, policy)
        walls = make_walls(places, policy, settings[s.CONTAINMENT])
    except (StoreError, NoWalls) as error:
        store.close()
        raise CannotStart(str(error)) from None
    async with contextlib.AsyncExitStack() as stack:
        await _Daemon(places, store, inherited, walls, listen).live(stack, probe)


class _Daemon:
    def __init__(
        self,
        places: Places,
        store: Store,
        inherited: Inheritance,
        walls: Containment,
        listen: str | None,
    ) -> None:
        self.places = places
        self.walls = walls
        self.inherited = inherited
        self.listen = listen
        self.output = OutputStore(places.output)
        self.epoch = inherited.epoch
        self.ballast = Ballast(places.state)
        self.local = self._local_driver()
        fake = FakeDriver(write=self.output.append, expect=self.output.intake.expect)
        self.drivers: dict[str, Driver] = {"local": self.local, "fake": fake}
        self.supervisor = Supervisor(inherited.fleet, store, inherited.clock, self.drivers, "local")
        self.ending = Ending(asyncio.Event())
        self.configuration = Configuration(self._configure)
        self.endings = Endings(self.supervisor, places.stdin)
        self.grounds = grounds_for(places, load_settings(None))
        fleet = self.supervisor.fleet
        self.grounds.serve(self.supervisor.post, placeless=lambda: len(fleet.placeless))
        self.supervisor.hands.grounds = self.grounds
        self.keepsakes = Keepsakes(places.checkpoints)
        self.supervisor.hands.keepsakes = self.keepsakes
        self.supervisor.on_parting.append(self.keepsakes.part)
        self.sessions = Sessions(places.sessions, self.output)
        self.signs = signs_for(self.supervisor, self.sessions, self.output)
        self.witness = self._witness()
        self.supervisor.hands.witness = self.witness
        self.boxes = BlackBoxes(self.supervisor, places.black_boxes, room=self.grounds.room)
        self.observing = Observing(self.supervisor, self.output, places, grounds=self.grounds)
        self.cluster = ClusterLine(self.supervisor, self.drivers, places, self.output)
        self.tasks: list[asyncio.Task[None]] = []
        self._cleared: Callable[[], Awaitable[None]] | None = None  # of containers

    def _witness(self) -> Witness:
        fleet, tell = self.supervisor.fleet, self.supervisor.post
        room, kept = self.grounds.room, self.keepsakes
        return Witness(fleet, tell, digest=self.output.digest, room=room, kept=kept)

    def _local_driver(self) -> LocalDriver:
        return LocalDriver(
            keeper=self.places.keeper,
            output=self.places.output,
            epoch=self.epoch,
            restart=how_to_restart(self.places, self.listen),
            containment=self.walls,
            tools=Shims(self.places.state),
            capture=self.output.intake,
        )

    async def live(self, stack: contextlib.AsyncExitStack, probe: HostProbe) -> None:
        stack.push_async_callback(self.supervisor.close)
        self._listen_to_signals()
        await stack.enter_async_context(self._working(self.supervisor.write()))
        await self._unless_over(self._take_the_turn())
        stack.callback(self.output.close)
        await self._unless_over(take_up(self.output, self.supervisor, load_settings(None)))
        await self._connect_containers(stack)
        await self.cluster.connect(stack)
        self.local.on_superseded = self.ending.ask
        stack.callback(self.local.close)
        stack.callback(self.grounds.close)
        stack.callback(self.witness.close)
        for between in (self.keepsakes, self.sessions, self.signs, self.observing):
            stack.callback(between.close)
        ready = Readiness(self.supervisor, self.grounds.room)
        stack.callback(ready.close)
        self.observing.ready_checks = ready.checks
        await self._unless_over(recover(self.supervisor, self.inherited))
        await self._unless_over(ready.resume())
        await self._unless_over(self.boxes.resume())
        await self._unless_over(self.endings.remember_beats())
        stack.push_async_callback(self.endings.finish)
        stack.push_async_callback(self.boxes.finish)
        eyes = Eyes(self.supervisor, probe, seen=self.boxes.seen)
        eyes.look()
        stack.callback(self._be_rung(eyes).close)
        ballast = self.ballast.take_aboard
        kept = (self.output, self.boxes, self.keepsakes, self.sessions)
        chores = Chores(self.supervisor, kept, self.places.stdin, also=ballast)
        room = self.grounds.room
        past = Recording(self.supervisor, room, places=self.places, epoch=self.epoch)
        past.alerts.written = self.output.intake.written
        stack.push_async_exit(past.finish)
        works = (eyes.watch(), chores.do(), self.configuration.watch(), self.grounds.tend())
        for work in (*works, self.cluster.watch(stack), past.keep(), Reports(self.places).make()):
            await stack.enter_async_context(self._working(work))
        await self._serve()

    def _be_rung(self, eyes: Eyes) -> Alarms:
        """By the kernel, where it can: tasks wait for memory, or the fleet meets its wall."""
        alarms = Alarms(lambda _: eyes.ring())
        alarms.add_stall(PRESSURE)
        home = read_home(self.places.keeper)
        if home is not None and home.version == 2:
            alarms.add_events(Path(home.fleet.path) / "memory.events")
        elif home is not None:
            alarms.add_oom(Path(home.fleet.path))
        return alarms

    async def _connect_containers(self, stack: contextlib.AsyncExitStack) -> None:
        driver = container_driver(self.places, load_settings(None), epoch=self.epoch)
        problem = await asyncio.to_thread(why_not, driver)
        if driver is None or problem is not None:
            self.supervisor.absent["container"] = problem or "is not there"
            if (left := left_alone(self.places)) is not None:
                raise CannotStart(left)
            return
        self.drivers["container"] = driver
        driver.capture = self.output.intake
        self._cleared = driver.cleared
        stack.callback(driver.close)

    async def _unless_over(self, work: Coroutine[Any, Any, None]) -> None:
        """A start can be stopped like a life, and does not wait for a writer that has died."""
        doing = asyncio.ensure_future(work)
        await self._first_end(doing)
        if not doing.done():
            doing.cancel()
            self._raise_failures()
            raise CannotStart("it was told to stop before it had started")
        doing.result()

    async def _take_the_turn(self) -> None:
        """The epoch is on the disk before the keeper hears of it: none is ever used twice.

        A keeper that knows a later one has outlived the store that gave it: then ours is later.
        """
        for _ in range(EPOCH_TRIES):
            await self._remember_the_epoch()
            try:
                await asyncio.to_thread(self.local.connect)
            except DriverTrouble as error:
                if error.epoch is None:
                    raise CannotStart(str(error)) from None
                self.epoch = error.epoch + 1
                self.drivers["local"] = self.local = self._local_driver()
            else:
                return
        raise CannotStart("the keeper serves another daemon")

    async def _remember_the_epoch(self) -> None:
        supervisor = self.supervisor
        supervisor.begin(self.epoch)
        while supervisor.trouble is None and not supervisor.is_settled:
            await asyncio.sleep(0.001)
        if supervisor.trouble is not None and self.ballast.throw():
            log.warning("the ballast was thrown overboard: %s", supervisor.trouble)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(supervisor.settled(), BALLAST_S)
        if supervisor.trouble is not None:
            raise CannotStart(supervisor.trouble)

    async def _serve(self) -> None:
        facts = Facts(
            places=self.places,
            epoch=self.epoch,
            listen=self.listen,
            keeper_pid=lambda: self.local.keeper_pid,
            stop=self.ending.ask,
            beat_while=self.endings.beat_while,
            black_box=self.boxes.read,
            recent_bytes=self.boxes.recent_bytes,
            notices=self._notices,
            workspaces=self.grounds.room,
            metrics=self.observing.page,
        )
        server = ApiServer(
            *(self.supervisor, facts, self.output),
            # Another daemon has the store by now, and clients are better off with it.
            may_listen=self.supervisor.store.is_ours,
            lost=self.ending.ask,
        )
        try:
            await server.start()
        except CannotListen as error:
            raise CannotStart(str(error)) from None
        self._note_listening()
        log.info("paddock %s, process %d, epoch %d", __version__, os.getpid(), facts.epoch)
        try:
            await self._until_the_end()
        finally:
            await server.stop()
        # Only here, on purpose: after a bug the keeper brings us back. With nobody left to keep,
        # it goes too, and the next daemon gets a keeper of its own version.
        over = not self.supervisor.fleet.here  # who lives elsewhere needs no keeper
        self.local.leave(retire=over)
        if over:
            leave_home()
        listening_file(self.places).unlink(missing_ok=True)

    def _note_listening(self) -> None:
        """For whoever starts the next daemon, should this one die: it was asked to listen."""
        if self.listen is not None:
            with contextlib.suppress(OSError):
                listening_file(self.places).write_text(self.listen, encoding="ascii")

    async def _until_the_end(self) -> None:
        await self._first_end()
        self._raise_failures()
        if self.ending.kill:
            await self._end_agents()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.supervisor.settled(), SETTLE_S)
            if self._cleared is not None:
                await asyncio.wait_for(self._cleared(), SETTLE_S)
        log.info("stops; %d agents go on", len(self.supervisor.fleet.live))

    async def _first_end(self, *others: asyncio.Future[Any]) -> None:
        """Until it is told to stop, or something that should go on has ended."""
        asked = asyncio.ensure_future(self.ending.asked.wait())
        ends: list[asyncio.Future[Any]] = [asked, self.supervisor.broken, *self.tasks, *others]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()

    def _raise_failures(self) -> None:
        """A daemon that met a bug ends, so that the keeper starts it anew from what is stored."""
        if self.supervisor.broken.done():
            self.supervisor.broken.result()
        for task in self.tasks:
            if task.done():
                task.result()

    async def _end_agents(self) -> None:
        """Nothing takes their place meanwhile; what waits goes on waiting for the next daemon."""
        supervisor, fleet = self.supervisor, self.supervisor.fleet
        halted = replace(fleet.policy, max_agents=0)
        asked = supervisor.ask(lambda now: PolicyChanged(now, halted))
        done, _ = await asyncio.wait([asked], timeout=ANSWERS_WITHIN_S)
        if not done:
            log.error(NO_ANSWER, "so nobody was ended, and agents go on")
            return
        for force in (False, True):
            runs = list(fleet.live)
            for run in runs:
                supervisor.post(CancelRequested(0.0, run, force=force))
            # A cluster that is silent ends nobody now: the next daemon does, when it answers.
            if self.supervisor.silence.since_at is not None:
                runs = [run for run in runs if run not in fleet.away]
            if await supervisor.ended(runs, within_s=KILL_S):
                break

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.ending.ask)
        loop.add_signal_handler(signal.SIGHUP, self.configuration.read_again)

    def _configure(self) -> None:
        settings = load_settings(None)
        total_bytes = probe_for_this_machine().sample().total_bytes
        policy: Policy = to_policy(settings, total_bytes)
        self.output.intake.usual = usual_keeping(settings)
        self.walls.set_wall(policy.wall_bytes)
        keep_ladder(self.places, policy)
        resize(self.grounds, settings)
        self.supervisor.set_policy(policy)

    def _notices(self) -> tuple[str, ...]:
        told = (self.configuration, self.output, self.cluster)
        return tuple(notice for each in told for notice in each.notices())

    @contextlib.asynccontextmanager
    async def _working(self, work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.append(task)
        try:
            yield
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
