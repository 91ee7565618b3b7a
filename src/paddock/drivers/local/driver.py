"""Attempts as processes of this machine: started and reaped by the keeper, heard of by the loop.

Nothing here waits but `connect`. What a keeper says is turned into events by `Telling`; what the
attempts write is moved by `Drain`; who has lost its keeper is looked after by `Orphans`.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from paddock.core.run import Attempt
from paddock.drivers.attempts import Checkpoints, instance_of, make_sign, remove, walls_of
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
from paddock.drivers.pouring import KEEP_ALL
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
        self._orphans = Orphans(self._marks, gone=lambda life: self._telling.lost(life, REASON))
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
            self._now_kept(life, reply)
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

    # -- looking --------------------------------------------------------------------------

    def used_bytes(self) -> Mapping[Attempt, int]:
        counted = {life.attempt: life for life in self._lives.values() if not life.is_over}
        self._names.keep_facts(counted.values())
        return self._watching.look(counted, self._keepers.pid, now=time.monotonic())

    def adopt(self, tell: Tell) -> frozenset[Attempt]:
        """Told from the next turn of the loop on: first `StopFound`, then how it ended."""
        loop = asyncio.get_running_loop()
        self._keepers.listen(self)
        for mark, record in self._found.items():
            life = self._adopted(mark, tell, record)
            if life is not None:
                self._now_kept(life, record)
                loop.call_soon(self._tell_adopted, life, record)
        self._found = {}
        self._has_adopted = True
        self._adopt_from_the_dead(tell)
        self._containment.adopt(self._lives)
        return frozenset(self._lives)

    def _adopt_from_the_dead(self, tell: Tell) -> None:
        loop = asyncio.get_running_loop()
        records = self._estate.inherit(self._keepers.facts)
        living = self._marks.living(self._names.instance)
        for mark in sorted(set(records) | living):
            life = self._adopted(mark, tell, records.get(mark, {}))
            if life is not None:
                loop.call_soon(self._orphan, life, records.get(mark), mark in living)
        if self._estate.is_any:
            self._adopt_begun(tell)
        loop.call_soon(self._estate.tidy)

    def _adopt_begun(self, tell: Tell) -> None:
        """Those of which nothing is left but that they were begun. After a reboot that is no news:
        whoever asks for them hears it from the one who knows that the machine was restarted."""
        for attempt, fifo in self._names.left_fifos().items():
            if attempt in self._lives:
                continue
            if not self._estate.died_in_this_boot:
                fifo.unlink(missing_ok=True)
                continue
            life = self._adopted(self._names.mark(attempt), tell, {})
            if life is not None:
                asyncio.get_running_loop().call_soon(self._orphan, life, None, False)  # noqa: FBT003

    def _adopted(self, mark: str, tell: Tell, record: Message) -> Life | None:
        attempt = attempt_in(mark)
        if attempt is None or attempt in self._lives:
            return None
        life = Life(attempt, mark, tell, record.get("limit_bytes", 0), Phase.ORPHANED)
        life.has_signs = life.has_facts = True
        self._lives[attempt] = life
        self._estate.hold(mark)
        return life

    def _tell_adopted(self, life: Life, record: Message) -> None:
        if record["state"] in ("running", "exited"):
            self._telling.started(life)
        self._telling.stop_found(life, record)
        self._telling.seen(life, record)

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
            self._now_kept(life, record)
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
        kept = [life for life in self._lives.values() if life.kept or life.phase is Phase.ASKED]
        records = self._estate.bury(facts, [life.mark for life in kept])
        living = self._marks.census(kept, 0).members
        for life in kept:
            life.kept = False
            begun = (
                life.mark in records or life.mark in living or self._names.is_begun(life.attempt)
            )
            if life.phase is Phase.ASKED and not begun:
                life.phase = Phase.WAITING
                self._estate.forgot(life.mark)
            elif not life.is_over:
                self._orphan(life, records.get(life.mark), life.mark in living)
        for attempt, fifo in self._names.left_fifos().items():
            if attempt not in self._lives:  # it died before it heard that it may forget them
                remove(str(fifo))
        self._estate.tidy()

    def no_keeper(self, reason: str) -> None:
        for life in list(self._lives.values()):
            if life.phase is Phase.WAITING:
                self._telling.failed(life, reason, permanent=False)

    def superseded(self) -> None:
        log.error("a newer daemon has taken over the keeper")
        self.close()
        self.on_superseded()

    # -- without a keeper -----------------------------------------------------------------

    def _orphan(self, life: Life, record: Message | None, alive: bool) -> None:  # noqa: FBT001
        """`record`: the dead keeper's last word about it, if it wrote one."""
        life.phase = Phase.ORPHANED
        life.order = None
        life.spare_fifo = ""
        if record is not None:
            self._telling.stop_found(life, record)
            self._telling.seen(life, record | {"empty": not alive})
        if life.is_over:
            return
        self._telling.watch_output(life)
        self._telling.started(life)
        life.missed = 0 if alive else 1
        self._orphans.take(life)

    def _now_kept(self, life: Life, record: Message) -> None:
        life.phase = Phase.KEPT
        life.kept = True
        descriptor, keeper = record.get("fifo_fd", -1), self._keepers.pid
        life.spare_fifo = f"/proc/{keeper}/fd/{descriptor}" if keeper and descriptor >= 0 else ""

    def _alive(self, attempt: Attempt) -> Life | None:
        """Whose main process has not ended, as far as is known."""
        life = self._lives.get(attempt)
        return None if life is None or life.is_over or life.exit is not None else life
