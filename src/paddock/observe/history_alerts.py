"""The ledger of alerts: what paddock's own rules warned of, and what followed. Only looks.

An alert was right when what it warned of came, and false when nothing did. Somebody may have acted
on it in time, so the share of false ones is an upper bound; the report says so.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from paddock.core.breaker import Closed, Open
from paddock.core.fleet import Change, Fleet
from paddock.core.pressure import Rung
from paddock.core.run import Attempt, Ended, Live, Outcome, Queued, Running, Starting
from paddock.ports import LedgerEntry

from .alerts import QUIET_S, STORM, is_little_disk
from .changes import hit_fleet_wall, hit_own_wall, was_frozen, was_preempted
from .history import CLOSE_TO_WALL, Recorder, Seen

PRESSURE: Final = "pressure"
MEMORY: Final = "memory"
BREAKER: Final = "breaker"
DISK: Final = "disk"
QUOTA: Final = "quota"
QUIET: Final = "quiet"
QUEUE: Final = "queue"
STORMS: Final = "storm"
# Which alert of the table each kind is.
JUDGED: Final[Mapping[str, str]] = MappingProxyType(
    {
        PRESSURE: "PaddockHostPressed",
        MEMORY: "AgentHighMemoryUsage",
        BREAKER: "PaddockBreakerOpen",
        DISK: "PaddockDiskNearlyFull",
        QUOTA: "PaddockQuotaHigh",
        QUIET: "PaddockAgentQuiet",
        QUEUE: "PaddockQueueNotMoving",
        STORMS: "PaddockPreemptionStorm",
    }
)
_TELLS: Final = "it tells of harm that is done, and cannot be false"
NOT_JUDGED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "AgentHighCPUUsage": "an agent that uses its cores works; what follows, nobody sees",
        "AgentOOMKilled": _TELLS,
        "PaddockWallHit": _TELLS,
        "PaddockStoreTrouble": _TELLS,
        "PaddockNoContainment": "it tells how the host is, not what is to come",
        "PaddockDown": "the daemon is not there to see it",
    }
)
TRUE: Final = "true"
FALSE: Final = "false"
UNKNOWN: Final = "unknown"

MEMORY_FOR_S: Final = 300.0  # close to its wall so long, before it is an alert (S4: 5 minutes)
QUOTA_SHARE: Final = 0.8
QUOTA_FOR_S: Final = 300.0
QUIET_FOR_S: Final = QUIET_S + 300.0
UNMOVED_S: Final = 2400.0  # no start within half an hour, and that for ten minutes
WAITING_S: Final = 600.0
STORM_S: Final = 600.0
# The others are in the ledger when they have lasted; of these every moment is, and how long it was.
LASTS_S: Final[Mapping[str, float]] = MappingProxyType(
    {PRESSURE: 600.0, BREAKER: 300.0, DISK: 300.0}
)
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
        # How much an attempt wrote, and when it last did; whoever knows puts it here.
        self.written: Callable[[Attempt], tuple[int, float] | None] = lambda _: None
        self._open: dict[tuple[str, str], _Alert] = {}
        self._close_since: dict[str, float] = {}  # runs near their walls
        self._high_since: dict[str, float] = {}  # quotas
        self._tries: dict[str, float] = {}  # of open breakers: until when
        self._waiting_since: float | None = None
        self._started_at: float | None = None  # the last time one did, as far as is known
        self._has_started = True  # since the last look; before the first nobody knows
        self._preempted_at: deque[float] = deque(maxlen=STORM + 1)  # on the fleet's clock

    def changed(self, change: Change) -> None:
        before, state = change.before, change.run.state
        if before is None:
            return  # a new run: none of this can be about it
        self._has_started |= isinstance(before, Queued) and isinstance(state, Starting)
        preempted = was_preempted(change)
        if preempted:
            self._preempted_at.append(self._fleet.now)
        if not self._open:
            return
        own, fleet_wall = hit_own_wall(change), hit_fleet_wall(change)
        harms = {
            "killed": own or fleet_wall,
            "preempted": preempted,
            "frozen": was_frozen(change),
            "given_up": isinstance(before, Queued) and isinstance(state, Ended),
        }
        for key in ((PRESSURE, "host"), (QUOTA, "memory"), (QUEUE, "host"), (STORMS, "host")):
            if (alert := self._open.get(key)) is not None:
                alert.facts.update(harms)
        self._changed_one(change, killed=own or fleet_wall)

    def _changed_one(self, change: Change, *, killed: bool) -> None:
        """What is warned of about one run ends with its attempt."""
        run, state = change.run, change.run.state
        if (near := self._open.get((MEMORY, run.id))) is not None:
            near.facts["killed"] += killed
            near.facts["ended"] += isinstance(state, Ended)
        if (quiet := self._open.get((QUIET, run.id))) is not None and not run.live:
            well = isinstance(state, Ended) and state.outcome is Outcome.SUCCEEDED
            quiet.facts["ended"] += 1
            quiet.facts["came_to_nothing"] += not well

    def look(self, seen: Seen, *, trouble: bool, at: float) -> None:
        self._look_at_pressure(at)
        self._look_at_memory(at)
        self._look_at_breakers(at)
        self._look_at_disk(seen, trouble=trouble, at=at)
        self._look_at_quotas(at)
        self._look_at_quiet(at)
        self._look_at_queue(at)
        self._look_at_storm(at)
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

    def _look_at_quotas(self, at: float) -> None:
        fleet, policy = self._fleet, self._fleet.policy
        quotas = {
            "memory": (fleet.demand.sums.used_bytes, policy.wall_bytes),
            "queue": (fleet.waiting, policy.queue_depth),
        }
        self._high_since = {
            name: self._high_since.get(name, at)
            for name, (used, limit) in quotas.items()
            if used > QUOTA_SHARE * limit
        }
        for name, (used, limit) in quotas.items():
            since_at = self._high_since.get(name)
            is_known = (QUOTA, name) in self._open
            is_on = since_at is not None and (is_known or at - since_at >= QUOTA_FOR_S)
            because = f"more than {QUOTA_SHARE:.0%} of what {name} has is in use"
            alert = self._set(QUOTA, name, is_on=is_on, at=at, because=because)
            if alert is not None and name == "queue":
                alert.facts["full"] += used >= limit

    def _look_at_quiet(self, at: float) -> None:
        fleet = self._fleet
        quiet = {
            run.id
            for run in fleet.live_runs()
            if isinstance(run.state, Running) and run.state.frozen is None
            if at - self._last_word_at(run.attempt, run.state, at) > QUIET_FOR_S
        }
        for name in quiet | {subject for kind, subject in self._open if kind == QUIET}:
            because = f"{fleet.name_of(name)} has written nothing for long"
            self._set(QUIET, name, is_on=name in quiet, at=at, because=because)

    def _last_word_at(self, attempt: Attempt, state: Running, at: float) -> float:
        written = self.written(attempt)
        began_at = at - (self._fleet.now - state.since_at)
        return began_at if written is None else max(written[1], began_at)

    def _look_at_queue(self, at: float) -> None:
        fleet = self._fleet
        waiting = len(fleet.queue) + len(fleet.outbound)
        if self._has_started:
            self._started_at, self._has_started = at, False
        if not waiting:
            self._waiting_since = None
        elif self._waiting_since is None:
            self._waiting_since = at
        started_at, since_at = self._started_at, self._waiting_since
        is_on = since_at is not None and at - since_at >= WAITING_S
        is_on = is_on and started_at is not None and at - started_at >= UNMOVED_S
        alert = self._set(QUEUE, "host", is_on=is_on, at=at, because="runs wait, and none starts")
        if alert is not None and is_on:
            # Where others are at work and memory is not short, they wait as they should.
            alert.facts["held"] += not fleet.live or fleet.ladder.rung >= Rung.QUEUE

    def _look_at_storm(self, at: float) -> None:
        known = self._preempted_at
        is_on = len(known) > STORM and self._fleet.now - known[0] < STORM_S
        because = f"more than {STORM} were preempted within {STORM_S / 60:.0f} minutes"
        self._set(STORMS, "host", is_on=is_on, at=at, because=because)

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
            gone = alert.facts["ended"]
            if alert.over_at is None or not (gone or at - alert.over_at >= FOLLOWS_WITHIN_S):
                continue
            self._recorder.note(alert.entry(verdict_on(alert.kind, alert.facts)))
            del self._open[key]
            self._tries.pop(alert.subject, None)


_HARMS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        PRESSURE: ("killed", "preempted", "frozen", "held_back"),
        MEMORY: ("killed",),
        BREAKER: ("failed_again",),
        DISK: ("not_written",),
        QUOTA: ("killed", "preempted", "frozen", "full"),
        QUIET: ("came_to_nothing",),
        QUEUE: ("held", "given_up"),
        STORMS: ("preempted",),
    }
)


def verdict_on(kind: str, facts: Counter[str]) -> str:
    return TRUE if any(facts[name] for name in _HARMS[kind]) else FALSE
