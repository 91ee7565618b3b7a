"""The ledger of alerts: what paddock's own rules warned of, and what followed. Only looks.

An alert was right when what it warned of came, and false when nothing did. Somebody may have acted
on it in time, so the share of false ones is an upper bound; the report says so.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from paddock.core.breaker import Closed, Open
from paddock.core.fleet import Change, Fleet
from paddock.core.pressure import Rung
from paddock.core.run import Ended, Live
from paddock.ports import LedgerEntry

from .alerts import is_little_disk
from .history import (
    CLOSE_TO_WALL,
    Recorder,
    Seen,
    hit_fleet_wall,
    hit_own_wall,
    was_frozen,
    was_preempted,
)

PRESSURE: Final = "pressure"
MEMORY: Final = "memory"
BREAKER: Final = "breaker"
DISK: Final = "disk"
TRUE: Final = "true"
FALSE: Final = "false"
UNKNOWN: Final = "unknown"

MEMORY_FOR_S: Final = 300.0  # close to its wall so long, before it is an alert (S4: 5 minutes)
FOLLOWS_WITHIN_S: Final = 300.0  # after it is over: what comes later came from something else
MOST_OPEN: Final = 500


@dataclass(slots=True)
class _Alert:
    kind: str
    subject: str
    at: float
    because: str = ""
    over_at: float | None = None
    facts: Counter[str] = field(default_factory=Counter)

    def entry(self, verdict: str = "") -> LedgerEntry:
        return LedgerEntry(
            kind=self.kind,
            subject=self.subject,
            at=self.at,
            until_at=self.over_at if verdict else None,
            verdict=verdict,
            facts={name: float(value) for name, value in self.facts.items()},
            because=self.because,
        )


class Alerts:
    """Told of changes and asked to look when the recorder is; notes in its ledger."""

    def __init__(self, fleet: Fleet, recorder: Recorder) -> None:
        self._fleet = fleet
        self._recorder = recorder
        self._open: dict[tuple[str, str], _Alert] = {}
        self._close_since: dict[str, float] = {}  # runs near their walls
        self._tries: dict[str, float] = {}  # of open breakers: until when

    def changed(self, change: Change) -> None:
        if change.before is None:
            return  # a new run: none of this can be about it
        own, fleet_wall = hit_own_wall(change), hit_fleet_wall(change)
        pressed = self._open.get((PRESSURE, "host"))
        if pressed is not None:
            pressed.facts["killed"] += own or fleet_wall
            pressed.facts["preempted"] += was_preempted(change)
            pressed.facts["frozen"] += was_frozen(change)
        near = self._open.get((MEMORY, change.run.id))
        if near is not None and (own or fleet_wall):
            near.facts["killed"] += 1
        if near is not None and isinstance(change.run.state, Ended):
            near.facts["ended"] += 1

    def look(self, seen: Seen, *, trouble: bool, at: float) -> None:
        self._look_at_pressure(at)
        self._look_at_memory(at)
        self._look_at_breakers(at)
        self._look_at_disk(seen, trouble=trouble, at=at)
        self._judge(at)

    # -- the rules ------------------------------------------------------------------------

    def _look_at_pressure(self, at: float) -> None:
        ladder = self._fleet.ladder
        is_on = ladder.rung >= Rung.QUEUE
        alert = self._set(PRESSURE, "host", is_on=is_on, at=at, because=ladder.because)
        if alert is not None and is_on:
            alert.facts["rung"] = max(alert.facts["rung"], int(ladder.rung))
            alert.facts["held_back"] = max(alert.facts["held_back"], self._fleet.waiting)

    def _look_at_memory(self, at: float) -> None:
        fleet, close = self._fleet, {}
        for run in fleet.live_runs():
            assert isinstance(run.state, Live)
            if fleet.demand.used_by(run.id) > CLOSE_TO_WALL * run.state.hold.limit_bytes:
                close[run.id] = self._close_since.get(run.id, at)
        self._close_since = close
        known = {subject for kind, subject in self._open if kind == MEMORY}
        for name in known | close.keys():
            is_on = name in close and (name in known or at - close[name] >= MEMORY_FOR_S)
            because = f"{fleet.name_of(name)} is above {CLOSE_TO_WALL:.0%} of its memory limit"
            self._set(MEMORY, name, is_on=is_on, at=at, because=because)

    def _look_at_breakers(self, at: float) -> None:
        for name, group in self._fleet.groups.items():
            breaker = group.breaker
            if isinstance(breaker, Closed) and (BREAKER, name) not in self._open:
                continue
            is_on = not isinstance(breaker, Closed)
            alert = self._set(BREAKER, name, is_on=is_on, at=at, because="its runs failed")
            if alert is not None and isinstance(breaker, Open):
                before = self._tries.get(name)
                # Opened once more: what was let through to try failed as well.
                alert.facts["failed_again"] += before not in (None, breaker.until_at)
                self._tries[name] = breaker.until_at

    def _look_at_disk(self, seen: Seen, *, trouble: bool, at: float) -> None:
        free, total = seen.disk_free_bytes, seen.disk_bytes
        if free is None or total is None:
            return
        is_on = is_little_disk(free, total)
        alert = self._set(DISK, "state", is_on=is_on, at=at, because="the disk is nearly full")
        if alert is not None:
            alert.facts["not_written"] += trouble

    # -- what followed --------------------------------------------------------------------

    def _set(
        self, kind: str, subject: str, *, is_on: bool, at: float, because: str
    ) -> _Alert | None:
        key = (kind, subject)
        alert = self._open.get(key)
        if alert is None:
            if not is_on or len(self._open) >= MOST_OPEN:
                return None
            alert = self._open[key] = _Alert(kind, subject, at, because)
            self._recorder.note(alert.entry())
        elif is_on:
            alert.over_at = None  # it came back before it was judged: one and the same
        elif alert.over_at is None:
            alert.over_at = at
        return alert

    def _judge(self, at: float) -> None:
        for key, alert in list(self._open.items()):
            gone = alert.kind == MEMORY and alert.facts["ended"]
            if alert.over_at is None or not (gone or at - alert.over_at >= FOLLOWS_WITHIN_S):
                continue
            self._recorder.note(alert.entry(verdict_on(alert.kind, alert.facts)))
            del self._open[key]
            self._tries.pop(alert.subject, None)


def verdict_on(kind: str, facts: Counter[str]) -> str:
    harms = {
        PRESSURE: ("killed", "preempted", "frozen", "held_back"),
        MEMORY: ("killed",),
        BREAKER: ("failed_again",),
        DISK: ("not_written",),
    }
    return TRUE if any(facts[name] for name in harms[kind]) else FALSE
