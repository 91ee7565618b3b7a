"""Attempts as processes of this machine: started and reaped by the keeper, heard of by the loop.

Nothing here waits but `connect`. What a keeper says is turned into events by `Telling`; what the
attempts write is moved by `Drain`; those that others began, or whose keeper died, are found by
`Adopting` and looked after by `Orphans`.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from paddock.core.run import Attempt, Priority
from paddock.drivers.attempts import Checkpoints, instance_of, make_sign, remove, walls_of
from paddock.drivers.keep_all import KEEP_ALL
from paddock.drivers.local.adopting import Adopting
from paddock.drivers.local.containment import Containment
from paddock.drivers.local.containment.none import NoContainment
from paddock.drivers.local.drain import raise_descriptors
from paddock.drivers.local.estate import Estate
from paddock.drivers.local.keeper.protocol import BadMessage
from paddock.drivers.local.keepers import DriverTrouble, Keepers
from paddock.drivers.local.life import Life, Phase, Tell
from paddock.drivers.local.line import Message
from paddock.drivers.local.memory import Marks
from paddock.drivers.local.naming import Names, Tools, attempt_in
from paddock.drivers.local.orders import facts_of, order_of
from paddock.drivers.local.orphans import REASON, Orphans
from paddock.drivers.local.pressing import Pressing
from paddock.drivers.local.telling import Telling
from paddock.drivers.local.watching import Watching
from paddock.ports import Capture, Guarantees, Launch, Stop

__all__ = ["DriverTrouble", "LocalDriver"]

log = logging.getLogger("paddock.local")


class LocalDriver:
    """First `connect`, then in the event loop `adopt`, then the rest of `ports.Driver`."""

    def __init__(  # noqa: PLR0913 - all but two have their usual values
        self,
        keeper: Path,
        output: Path,
        *,
        epoch: int,
        restart: Mapping[str, object] | None = None,
        containment: Containment | None = None,
        tools: Tools = lambda _, __: None,
        capture: Capture = KEEP_ALL,
    ) -> None:
        self.on_superseded: Callable[[], None] = lambda: None
        self._output, self._tools, self._capture = output, tools, capture
        self._containment = containment or NoContainment()
        self._keepers = Keepers(keeper, epoch=epoch, restart=restart)
        self._estate = Estate(keeper)
        self._lives: dict[Attempt, Life] = {}
        self._found: dict[str, Message] = {}
        self._unsaid: dict[str, str] = {}  # forgotten while no keeper was there: mark and FIFO
        self._marks = Marks()
        self._orphans = Orphans(
            self._marks, self._containment, gone=lambda life: self._telling.lost(life, REASON)
        )
        self._watching = Watching(self._containment, self._marks)
        self._pressing = Pressing(self._keepers, self._orphans, self._containment, self._marks)
        self._has_adopted = False

    def connect(self) -> None:
        """Waits for the keeper, and starts one if there is none. May run in a thread."""
        parent = self._keepers.directory.parent
        try:
            parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._output.mkdir(mode=0o700, parents=True, exist_ok=True)
            live = self._keepers.directory / "attempts"
            self._names = Names(self._output, live, instance_of(parent), self._tools)
            self._checkpoints = Checkpoints(self._names.signs_of, Life.heeds, self._pressing.ask)
            self._telling = Telling(
                self._names, self._containment, over=self._life_over, capture=self._capture
            )
            self._adopting = Adopting(
                *(self._lives, self._keepers, self._estate, self._marks),
                names=self._names,
                orphans=self._orphans,
                telling=self._telling,
            )
            records = self._keepers.connect()
            live.mkdir(mode=0o700, exist_ok=True)
        except BaseException as error:
            self._keepers.close()
            if isinstance(error, OSError):
                raise DriverTrouble(f"{parent} cannot be used: {error}") from None
            raise
        raise_descriptors()
        self._found = {record["attempt"]: record for record in records}

    def close(self) -> None:
        """Agents go on; from a second later on the keeper moves their output."""
        for life in self._lives.values():
            life.phase = Phase.OVER  # for us: what is still in a timer finds nothing to tell
            if life.drain is not None:
                life.drain.close()
                life.drain = None
        self._orphans.close()
        self._checkpoints.close()
        self._lives.clear()
        self._keepers.close()
        self._containment.close()

    def leave(self, *, retire: bool = False) -> None:
        """On purpose: the keeper does not bring this daemon back. Retired, it goes when empty."""
        self._keepers.ask("leave")
        if retire:
            self._keepers.ask("retire")
        self.close()

    @property
    def keeper_pid(self) -> int:
        """0 while there is none."""
        return self._keepers.pid

    @property
    def trouble(self) -> str | None:
        """Why output cannot be kept just now."""
        return self._telling.trouble

    @property
    def guarantees(self) -> Guarantees:
        return self._containment.guarantees

    # -- beginning ------------------------------------------------------------------------

    def start(self, launch: Launch, tell: Tell) -> None:
        if launch.attempt in self._lives:
            return  # asked twice: it is, or was, under way
        attempt = launch.attempt
        life = Life(attempt, self._names.mark(attempt), tell, launch.limit_bytes)
        self._lives[attempt] = life
        try:
            self._prepare(life, launch)
        except (OSError, ValueError) as error:
            permanent = isinstance(error, ValueError)
            self._fail_soon(life, f"could not be prepared: {error}", permanent=permanent)
            return
        self._ask_to_start(life)

    def _prepare(self, life: Life, launch: Launch) -> None:
        problem = self._names.problem(life.attempt)
        if problem is not None:
            raise ValueError(problem)
        place = self._containment.prepare(life.attempt, walls_of(launch), priority=launch.priority)
        life.facts = functools.partial(facts_of, launch)
        cap_bytes, others = self._capture.expect(launch), len(self._lives)
        life.order = order_of(launch, self._names, place, cap_bytes=cap_bytes, others=others)

    def _ask_to_start(self, life: Life) -> None:
        assert life.order is not None
        try:
            asked = self._keepers.ask(
                "spawn", lambda reply: self._start_answered(life, reply), **life.order
            )
        except BadMessage:
            self._fail_soon(life, "its command and environment are too large", permanent=True)
            return
        if asked:
            life.phase = Phase.ASKED

    def _start_answered(self, life: Life, reply: Message) -> None:
        if life.is_over:
            return
        if reply.get("ok"):
            self._adopting.now_kept(life, reply)
            self._telling.seen(life, reply)
            return
        permanent = reply.get("error") == "bad_request"
        self._telling.failed(life, reply.get("message", "refused"), permanent=permanent)

    def _fail_soon(self, life: Life, reason: str, *, permanent: bool) -> None:
        """Not before `start` has returned."""
        fail = functools.partial(self._telling.failed, life, reason, permanent=permanent)
        asyncio.get_running_loop().call_soon(fail)

    # -- stopping -------------------------------------------------------------------------

    def warn(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is None:
            return
        life.has_signs = True
        make_sign(self._names.signs(attempt).soft_timeout)
        self._pressing.politely(life, signal.SIGUSR1)

    def ask_checkpoint(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is not None:
            life.has_signs = True
            self._checkpoints.ask(life)

    def terminate(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is not None:
            self._pressing.everyone(life, signal.SIGTERM)

    def kill(self, attempt: Attempt, why: Stop) -> None:
        life = self._lives.get(attempt)
        if life is None or life.is_over:
            return
        life.stop = why
        if life.phase is Phase.WAITING:
            life.order = None  # the next keeper is not asked for it
            self._fail_soon(life, "it was killed before it was started", permanent=True)
        else:
            self._pressing.kill(life, why)

    def freeze(self, attempt: Attempt, *, reclaim: bool) -> None:
        life = self._alive(attempt)
        if life is not None:
            self._pressing.freeze(life, reclaim=reclaim)

    def thaw(self, attempt: Attempt) -> None:
        life = self._alive(attempt)
        if life is not None:  # an adopted one may have been frozen by a daemon that died of it
            self._pressing.thaw(life)

    def set_priority(self, attempt: Attempt, priority: Priority) -> None:
        """Also for the kernel, whose choice is to be ours."""
        life = self._alive(attempt)
        if life is None:
            return
        self._names.keep_priority(life, priority)
        self._containment.set_priority(attempt, priority)

    # -- looking --------------------------------------------------------------------------

    def used_bytes(self) -> Mapping[Attempt, int]:
        counted = {life.attempt: life for life in self._lives.values() if not life.is_over}
        self._names.keep_facts(counted.values())
        return self._watching.look(counted, self._keepers.pid, now=time.monotonic())

    def cpu_limits(self) -> Mapping[Attempt, float]:
        return self._containment.cpu_limits()

    def cpu_s(self) -> Mapping[Attempt, float]:
        return self._watching.cpu_s(self._counted(), self._keepers.pid)

    def processes(self) -> Mapping[Attempt, int]:
        return self._watching.processes(self._counted(), self._keepers.pid)

    def _counted(self) -> dict[Attempt, Life]:
        return {life.attempt: life for life in self._lives.values() if not life.is_over}

    def adopt(self, tell: Tell) -> frozenset[Attempt]:
        """Told from the next turn of the loop on: first `StopFound`, then how it ended."""
        self._keepers.listen(self)
        found, self._found = self._found, {}
        self._has_adopted = True
        self._adopting.adopt(found, tell)
        self._containment.adopt(self._lives)
        return frozenset(self._lives)

    # -- forgetting -----------------------------------------------------------------------

    def forget(self, attempt: Attempt) -> None:
        life = self._lives.get(attempt)
        if life is None:
            return
        life.forgotten = True
        if life.is_over and life.drain is None:
            self._clear_away(life)

    def _life_over(self, life: Life) -> None:
        """Once more, if its output could not be moved at first: then when it was."""
        self._orphans.drop(life)
        self._checkpoints.drop(life)
        if life.forgotten and life.drain is None:
            self._clear_away(life)

    def _clear_away(self, life: Life) -> None:
        self._lives.pop(life.attempt, None)
        fifo = self._names.fifo(life.attempt)
        if not life.kept:
            remove(fifo)
            self._estate.forgot(life.mark)
        elif not self._keepers.ask("forget", attempt=life.mark):
            self._unsaid[life.mark] = fifo
        for sign in self._names.signs(life.attempt) if life.has_signs else ():
            remove(sign)
        if life.has_facts:
            remove(self._names.facts(life.attempt))
            remove(self._names.killed(life.attempt))
        self._containment.remove(life.attempt)

    # -- what the keeper says -------------------------------------------------------------

    def record_came(self, record: Message) -> None:
        attempt = attempt_in(record["attempt"])
        life = self._lives.get(attempt) if attempt is not None else None
        if life is None and not self._has_adopted:
            self._found[record["attempt"]] = record
        elif life is None and record["state"] in ("exited", "spawn_failed"):
            self._keepers.ask("forget", attempt=record["attempt"])  # it did not hear us then
        elif life is not None and life.has_keeper:
            self._adopting.now_kept(life, record)
            self._telling.seen(life, record)

    def keeper_came(self, *, the_same: bool) -> None:
        """After another was lost: what waited for one is asked for now."""
        for mark, fifo in self._unsaid.items():
            if the_same:
                self._keepers.ask("forget", attempt=mark)
            else:
                remove(fifo)
        self._unsaid.clear()
        for life in list(self._lives.values()):
            if life.phase in (Phase.WAITING, Phase.ASKED) and life.order is not None:
                self._ask_to_start(life)
            if life.has_keeper and life.stop is not None:
                self._pressing.kill(life, life.stop)

    def keeper_died(self, facts: Message) -> None:
        if not self._has_adopted:
            self._found = {}  # `adopt` finds the journal
            return
        self._adopting.bury(facts)

    def no_keeper(self, reason: str) -> None:
        for life in list(self._lives.values()):
            if life.phase is Phase.WAITING:
                self._telling.failed(life, reason, permanent=False)

    def superseded(self) -> None:
        log.error("a newer daemon has taken over the keeper")
        self.close()
        self.on_superseded()

    def _alive(self, attempt: Attempt) -> Life | None:
        """Whose main process has not ended, as far as is known."""
        life = self._lives.get(attempt)
        return None if life is None or life.is_over or life.exit is not None else life
