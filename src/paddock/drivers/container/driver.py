"""Attempts as containers: made by an engine, begun by the shim, heard of by the loop.

Nothing here waits but `connect`: what an engine is asked for runs in tasks. A container is kept
until its end is remembered, with its shim in it, so that a daemon that comes later finds exit code,
output and counters; only one that was killed whole is asked for from the engine.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from paddock.core.run import Attempt, Exit
from paddock.drivers.attempts import Checkpoints, instance_of, make_sign
from paddock.drivers.container.clearing import Clearing
from paddock.drivers.container.deeds import Deeds
from paddock.drivers.container.drain import drain_of
from paddock.drivers.container.engine import Engine, EngineTrouble
from paddock.drivers.container.fleet_wall import FleetWall
from paddock.drivers.container.hearing import Hearing
from paddock.drivers.container.holder import MOVER_LOCK
from paddock.drivers.container.life import Life, Phase, Tell
from paddock.drivers.container.looking import Looking
from paddock.drivers.container.making import Making
from paddock.drivers.container.moving import Lock
from paddock.drivers.container.naming import Names, boot_id, used_file
from paddock.drivers.container.pressing import Pressing
from paddock.drivers.container.processes import Process, look_at
from paddock.drivers.container.settings import ContainerSettings
from paddock.drivers.container.telling import Telling
from paddock.drivers.keep_all import KEEP_ALL
from paddock.drivers.watched import Toll
from paddock.ports import Capture, Guarantees, Launch, Stop

LOCK_WITHIN_S: Final = 5.0

log = logging.getLogger("paddock.container")


class DriverTrouble(Exception):
    """The driver cannot be used, and why."""


class ContainerDriver:
    """First `connect`, then in the event loop `adopt`, then the rest of `ports.Driver`."""

    def __init__(  # noqa: PLR0913 - each by name
        self,
        state: Path,
        output: Path,
        *,
        engine: Engine,
        settings: ContainerSettings,
        epoch: int = 0,
        wall: FleetWall | None = None,
    ) -> None:
        self.trouble: str | None = None  # why output cannot be kept just now
        self.capture: Capture = KEEP_ALL
        self._state, self._output = state, output
        self._engine, self._settings, self._epoch = engine, settings, epoch
        self._wall = wall
        self._live = state / "containers" / boot_id()
        self._used = used_file(state)
        self._lives: dict[Attempt, Life] = {}
        self._leftovers: dict[Attempt, asyncio.Task[None]] = {}
        self._deeds, self._clearances = Deeds(), Deeds()
        self._pressing = Pressing(engine)
        # The agent may be another user.
        self._checkpoints = Checkpoints[Life](
            lambda life: life.box.signs,
            self._pressing.heeds_checkpoints,
            lambda life: self._pressing.politely(life, signal.SIGUSR2),
            mode=0o644,
        )
        self._telling = Telling(over=self._life_over)
        self._looking = Looking()
        self._hearing = Hearing(engine, self._telling, self._looking, self._deeds)

    def connect(self) -> None:
        """Waits at most for the holder's turn to end. May run in a thread."""
        try:
            self._live.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._output.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._names = Names(self._output, self._live, instance_of(self._state))
            self._lock = Lock(str(self._live / MOVER_LOCK))
        except OSError as error:
            raise DriverTrouble(f"{self._live} cannot be used: {error}") from None
        give_up_at = time.monotonic() + LOCK_WITHIN_S
        while not self._lock.take():
            if time.monotonic() > give_up_at:
                self._lock.close()
                raise DriverTrouble(f"another daemon uses {self._live}; stop it first")
            time.sleep(0.005)
        names, wall = self._names, self._wall
        self._making = Making(
            self._engine, self._settings, names=names, epoch=self._epoch, wall=wall
        )
        self._clearing = Clearing(self._engine, names, lives=self._lives.keys(), wall=wall)
        for other in self._live.parent.iterdir():
            if other not in (self._live, self._used):  # of an earlier boot: nothing of it runs
                shutil.rmtree(other, ignore_errors=True)

    def close(self) -> None:
        """Agents go on; from now on the holder moves their output."""
        self._deeds.cancel()
        self._clearances.cancel()
        for life in self._lives.values():
            life.phase = Phase.OVER  # for us: what is still in a timer finds nothing to tell
            life.untie()
            if life.drain is not None:
                life.drain.close()
                life.drain = None
        self._looking.close()
        self._checkpoints.close()
        self._lives.clear()
        self._lock.close()
        self._engine.close()

    async def settled(self) -> None:
        """Until nothing that was asked of the engine is under way."""
        await self._deeds.settled()
        await self._clearances.settled()

    async def cleared(self) -> None:
        """Until what has ended is cleared away. What is left lies there until the next daemon, and
        the holder lives as long."""
        await self._clearances.settled()

    @property
    def guarantees(self) -> Guarantees:
        own = self._engine.shares_kernel
        return Guarantees(
            name=f"container ({self._engine.name})",
            hard_memory_wall=True,
            kills_whole_tree=True,
            can_freeze=own,
            survives_daemon=True,
            fleet_wall=self._wall is not None and self._engine.takes_cgroup_paths,
        )

    # -- beginning ------------------------------------------------------------------------

    def start(self, launch: Launch, tell: Tell) -> None:
        if launch.attempt in self._lives:
            return  # asked twice: it is, or was, under way
        attempt = launch.attempt
        names = self._names
        life = Life(attempt, names.container(attempt), names.box(attempt), tell)
        life.limit_bytes = launch.limit_bytes
        self._lives[attempt] = life
        self.capture.expect(launch)
        with contextlib.suppress(OSError):
            self._used.write_text(self._engine.kind, encoding="ascii")
        self._deeds.do(self._begin, life, launch)

    async def _begin(self, life: Life, wanted: Launch) -> None:
        if (leftover := self._leftovers.pop(life.attempt, None)) is not None:
            await leftover
        try:
            shim = await self._making.make(life, wanted, opened=self._watch_output)
            if self._engine.shares_kernel:
                life.tether = self._hearing.tether(life, shim)
                self._making.finish_walls(life, life.tether.group)
                self._looking.watch(life, life.tether.group)
            if life.stop is None:
                await self._go(life, shim)
                return
        except (OSError, ValueError, EngineTrouble) as error:
            if life.stop is None:
                permanent = getattr(error, "permanent", isinstance(error, ValueError))
                self._telling.failed(life, str(error), permanent=permanent)
                return
        # Killed meanwhile: its program never ran, and never will.
        self._telling.started(life)
        self._telling.ended(life, Exit(signal=int(signal.SIGKILL)), Toll())

    async def _go(self, life: Life, shim: Process) -> None:
        """Written down first: what is not was never let go, and may be started again."""
        facts = {"limit_bytes": life.limit_bytes, "pid": shim.pid, "start": shim.start}
        life.box.note("begun", facts)
        life.phase = Phase.BEGUN
        if life.tether is not None:
            life.tether.say("go")
            return
        await self._making.begin_alone(life)
        self._deeds.do(self._hearing.watch_alone, life)

    def _watch_output(self, life: Life) -> None:
        segment = self._names.segment(life.attempt)
        try:
            life.drain = drain_of(
                *(life.box.file("out"), segment, self._hear_trouble),
                attempt=life.attempt,
                capture=self.capture,
            )
        except OSError as error:
            log.error("the output of %s cannot be read any more: %s", life.container, error)

    def _hear_trouble(self, trouble: str | None) -> None:
        self.trouble = trouble

    # -- stopping -------------------------------------------------------------------------

    def warn(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is not None:
            make_sign(life.box.signs.soft_timeout, 0o644)
            self._pressing.politely(life, signal.SIGUSR1)

    def ask_checkpoint(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is not None:
            self._checkpoints.ask(life)

    def terminate(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is not None:
            self._deeds.do(self._pressing.terminate, life)

    def kill(self, attempt: Attempt, why: Stop) -> None:
        life = self._lives.get(attempt)
        if life is None or life.is_over:
            return
        life.stop = why
        if life.phase is Phase.STARTING:
            return  # `_begin` sees it
        try:
            if why.outcome is not None:
                life.box.note_stop(why)
        except OSError as error:  # a full disk must not stop a rescue
            log.error("why %s is killed could not be written down: %s", life.container, error)
        if life.tether is not None:
            self._pressing.kill_round(life.tether)
        if not life.killing:
            life.killing = True
            self._deeds.do(self._kill, life)

    async def _kill(self, life: Life) -> None:
        try:
            await self._pressing.kill(life)
        finally:
            life.killing = False

    def freeze(self, attempt: Attempt, *, reclaim: bool) -> None:
        life = self._alive(attempt)
        if life is not None and self.guarantees.can_freeze:
            self._deeds.do(functools.partial(self._pressing.freeze, reclaim=reclaim), life)

    def thaw(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is not None and self.guarantees.can_freeze:
            self._deeds.do(self._pressing.thaw, life)

    # -- looking --------------------------------------------------------------------------

    def used_bytes(self) -> Mapping[Attempt, int]:
        return self._looking.used_bytes(list(self._lives.values()))

    def cpu_limits(self) -> Mapping[Attempt, float]:
        return self._looking.cpu_limits(self._lives.values())

    def cpu_s(self) -> Mapping[Attempt, float]:
        return self._looking.cpu_s(self._lives.values())

    def processes(self) -> Mapping[Attempt, int]:
        return self._looking.processes(self._lives.values())

    # -- after another daemon -------------------------------------------------------------

    def adopt(self, tell: Tell) -> frozenset[Attempt]:
        """Told from the next turn of the loop on: first `StopFound`, then how it ended."""
        for attempt, box in self._names.boxes().items():
            facts = box.noted("begun")
            if attempt in self._lives:
                continue
            if facts is None:  # its program never ran: it is started by whoever wants it
                self._leftovers[attempt] = self._deeds.do(self._clearing.discard, attempt, box)
                continue
            life = Life(attempt, self._names.container(attempt), box, tell)
            life.limit_bytes = int(facts.get("limit_bytes", 0))
            life.phase = Phase.BEGUN
            self._lives[attempt] = life
            self._deeds.do(self._adopt_one, life, facts)
        if self._used.exists():  # who never had a container wakes no engine
            self._deeds.do(self._clearing.sweep)
        return frozenset(self._lives)

    async def _adopt_one(self, life: Life, facts: Mapping[str, Any]) -> None:
        status = life.box.status()
        if status not in ("", "missing"):
            self._telling.started(life)
        self._telling.stop_found(life)
        if not self._engine.shares_kernel:
            await self._hearing.watch_alone(life)
            return
        self._watch_output(life)
        shim = look_at(int(facts.get("pid", 0)))
        if shim is None or shim.state in "ZX" or shim.start != facts.get("start"):
            self._hearing.shim_gone(life)
            return
        await self._making.hold()
        try:
            life.tether = self._hearing.tether(life, shim)
            self._looking.watch(life, life.tether.group)
        except OSError as error:  # its agent may have removed what we speak by
            if life.stop is not None:  # or it was killed meanwhile, by ourselves
                self._hearing.shim_gone(life)
                return
            await self._pressing.kill_whole(life)
            self._telling.lost(life, f"it could not be taken over, and was killed: {error}")
            return
        if status == "":
            life.tether.say("go")
        self._hearing.look(life)

    # -- forgetting -----------------------------------------------------------------------

    def forget(self, attempt: Attempt) -> None:
        life = self._lives.get(attempt)
        if life is None:
            return
        life.forgotten = True
        if life.is_over and life.drain is None:
            self._clear_away(life)

    def _life_over(self, life: Life) -> None:
        self._checkpoints.drop(life)
        if life.forgotten:
            self._clear_away(life)

    def _clear_away(self, life: Life) -> None:
        if self._lives.pop(life.attempt, None) is not None:
            self._clearances.do(self._clearing.discard, life.attempt, life.box)

    def _alive(self, attempt: Attempt) -> Life | None:
        """Whose main process has begun and not ended, as far as is known."""
        life = self._lives.get(attempt)
        begun = life is not None and life.phase is Phase.BEGUN and life.exit is None
        return life if begun else None
