"""Attempts that others began, or whose keeper died: found by record, journal, mark and FIFO.

Knows whose they are and what is to be told of them first; what then happens to an orphan is
`Orphans`' to see.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from paddock.core.run import Attempt
from paddock.drivers.attempts import remove
from paddock.drivers.local.estate import Estate
from paddock.drivers.local.keepers import Keepers
from paddock.drivers.local.life import Life, Phase, Tell
from paddock.drivers.local.line import Message
from paddock.drivers.local.memory import Marks
from paddock.drivers.local.naming import Names, attempt_in
from paddock.drivers.local.orphans import Orphans
from paddock.drivers.local.telling import Telling


@dataclass(frozen=True, slots=True)
class Adopting:
    """`lives` are the driver's own: whoever is adopted is put among them."""

    lives: dict[Attempt, Life]
    keepers: Keepers
    estate: Estate
    marks: Marks
    names: Names
    orphans: Orphans
    telling: Telling

    def adopt(self, records: Mapping[str, Message], tell: Tell) -> None:
        """Those that the keeper knows, then those that only a dead one knew."""
        loop = asyncio.get_running_loop()
        for mark, record in records.items():
            life = self._adopted(mark, tell, record)
            if life is not None:
                self.now_kept(life, record)
                loop.call_soon(self._tell_adopted, life, record)
        self._adopt_from_the_dead(tell)

    def now_kept(self, life: Life, record: Message) -> None:
        life.phase = Phase.KEPT
        life.kept = True
        descriptor, keeper = record.get("fifo_fd", -1), self.keepers.pid
        life.spare_fifo = f"/proc/{keeper}/fd/{descriptor}" if keeper and descriptor >= 0 else ""

    def bury(self, facts: Message) -> None:
        """A keeper has died: whom it had begun is an orphan, whom it had not waits for another."""
        kept = [life for life in self.lives.values() if life.kept or life.phase is Phase.ASKED]
        records = self.estate.bury(facts, [life.mark for life in kept])
        living = self.marks.census(kept, 0).members
        for life in kept:
            life.kept = False
            begun = life.mark in records or life.mark in living or self.names.is_begun(life.attempt)
            if life.phase is Phase.ASKED and not begun:
                life.phase = Phase.WAITING
                self.estate.forgot(life.mark)
            elif not life.is_over:
                self._orphan(life, records.get(life.mark), life.mark in living)
        for attempt, fifo in self.names.left_fifos().items():
            if attempt not in self.lives:  # it died before it heard that it may forget them
                remove(str(fifo))
        self.estate.tidy()

    def _adopt_from_the_dead(self, tell: Tell) -> None:
        loop = asyncio.get_running_loop()
        records = self.estate.inherit(self.keepers.facts)
        living = self.marks.living(self.names.instance)
        for mark in sorted(set(records) | living):
            life = self._adopted(mark, tell, records.get(mark, {}))
            if life is not None:
                loop.call_soon(self._orphan, life, records.get(mark), mark in living)
        if self.estate.is_any:
            self._adopt_begun(tell)
        loop.call_soon(self.estate.tidy)

    def _adopt_begun(self, tell: Tell) -> None:
        """Those of which nothing is left but that they were begun. After a reboot that is no news:
        whoever asks for them hears it from the one who knows that the machine was restarted."""
        for attempt, fifo in self.names.left_fifos().items():
            if attempt in self.lives:
                continue
            if not self.estate.died_in_this_boot:
                fifo.unlink(missing_ok=True)
                continue
            life = self._adopted(self.names.mark(attempt), tell, {})
            if life is not None:
                asyncio.get_running_loop().call_soon(self._orphan, life, None, False)  # noqa: FBT003

    def _adopted(self, mark: str, tell: Tell, record: Message) -> Life | None:
        attempt = attempt_in(mark)
        if attempt is None or attempt in self.lives:
            return None
        life = Life(attempt, mark, tell, record.get("limit_bytes") or 0, Phase.ORPHANED)
        life.has_signs = life.has_facts = True
        self.lives[attempt] = life
        self.estate.hold(mark)
        return life

    def _tell_adopted(self, life: Life, record: Message) -> None:
        if record["state"] in ("running", "exited"):
            self.telling.started(life)
        self.telling.stop_found(life, record)
        self.telling.seen(life, record)

    def _orphan(self, life: Life, record: Message | None, alive: bool) -> None:  # noqa: FBT001
        """`record`: the dead keeper's last word about it, if it wrote one."""
        life.phase = Phase.ORPHANED
        life.order = None
        life.spare_fifo = ""
        if record is not None:
            self.telling.stop_found(life, record)
            self.telling.seen(life, record | {"empty": not alive})
        if life.is_over:
            return
        self.telling.watch_output(life)
        self.telling.started(life)
        life.missed = 0 if alive else 1
        self.orphans.take(life)
