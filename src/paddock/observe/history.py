"""The recorder: counts what the fleet does, in spans that the store adds to what it keeps.

It only looks: told of every change after it was remembered, and asked to look every few seconds.
Nothing here waits for anything; whoever owns it takes what gathered to the store, once a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from paddock.core.events import Event, Submitted
from paddock.core.fleet import Change, Fleet
from paddock.core.policy import Policy
from paddock.core.run import (
    Ended,
    Live,
    Outcome,
    Queued,
    Run,
    Running,
    Starting,
    State,
    Stopping,
)
from paddock.ports import LedgerEntry, Rollup
from paddock.storage.rollup import (
    DAY_S,
    HOUR_S,
    MINUTE_S,
    OTHERS,
    PEAK_UNIT,
    TIME_UNIT,
    FleetSpan,
    GroupSpan,
    is_empty,
    packed,
    put,
)

from .changes import (
    failed_at_quota,
    hit_fleet_wall,
    hit_own_wall,
    is_pressed,
    was_frozen,
    was_preempted,
)

CLOSE_TO_WALL: Final = 0.85  # of its limit: an agent under memory pressure
CROWDED: Final = 0.9  # of the cores in use: who begins then has to share them
LONGEST_GAP_S: Final = 60.0  # a machine that slept, or a loop that hung, was not seen meanwhile
# While the store cannot be written, so much waits for it; what is older stays in the hours.
MOST_MINUTES: Final = 120
MOST_HOURS: Final = 48
MOST_GROUPS: Final = 2000
MOST_ENTRIES: Final = 2000  # of the ledger: the newest


class Seen(NamedTuple):
    """What of the host the fleet does not know. None: nobody could tell."""

    cores: int | None = None
    cpu_s: float | None = None  # seconds of cores in use since the last look
    disk_bytes: int | None = None
    disk_free_bytes: int | None = None
    workspace_bytes: int | None = None
    unused_bytes: int | None = None
    log_bytes: int | None = None


@dataclass(slots=True)
class Gathered:
    """What is not in the store yet."""

    minutes: dict[int, FleetSpan] = field(default_factory=dict)
    hours: dict[int, FleetSpan] = field(default_factory=dict)
    groups: dict[tuple[int, str], GroupSpan] = field(default_factory=dict)
    entries: dict[tuple[float, str, str], LedgerEntry] = field(default_factory=dict)

    def rollups(self) -> list[Rollup]:
        found = [Rollup(MINUTE_S, at, None, packed(one)) for at, one in self.minutes.items()]
        found += [Rollup(HOUR_S, at, None, packed(one)) for at, one in self.hours.items()]
        for (at, name), span in self.groups.items():
            if is_empty(span):
                continue  # one of its runs waits, and that is all
            data = packed(span)
            found.append(Rollup(HOUR_S, at, name, data))
            found.append(Rollup(DAY_S, at - at % DAY_S, name, data))
        return found

    def fleet_at(self, minute: int, hour: int) -> tuple[FleetSpan, FleetSpan]:
        if minute not in self.minutes and len(self.minutes) >= MOST_MINUTES:
            del self.minutes[min(self.minutes)]
        if hour not in self.hours and len(self.hours) >= MOST_HOURS:
            del self.hours[min(self.hours)]
        known = self.minutes.setdefault(minute, FleetSpan())
        return known, self.hours.setdefault(hour, FleetSpan())

    def note(self, entry: LedgerEntry) -> None:
        key = (entry.at, entry.kind, entry.subject)
        if key not in self.entries and len(self.entries) >= MOST_ENTRIES:
            del self.entries[next(iter(self.entries))]
        self.entries[key] = entry

    def group_at(self, hour: int, name: str) -> GroupSpan:
        found = self.groups.get((hour, name))
        if found is not None:
            return found
        key = (hour, OTHERS if len(self.groups) >= MOST_GROUPS else name)
        return self.groups.setdefault(key, GroupSpan())


class Recorder:
    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self.gathered = Gathered()
        self._looked_at: float | None = None
        self._minute = self._hour = 0  # by the wall clock, at the last look
        self._spans: tuple[FleetSpan, ...] = ()  # of these two; none yet
        self._is_crowded = False  # the cores, at the last look
        self._began_crowded: set[str] = set()  # runs that are live

    def note(self, entry: LedgerEntry) -> None:
        self.gathered.note(entry)

    def take(self) -> Gathered:
        taken, self.gathered = self.gathered, Gathered()
        self._spans = ()
        return taken

    def _fleet_spans(self) -> tuple[FleetSpan, ...]:
        if not self._spans:
            self._spans = self.gathered.fleet_at(self._minute, self._hour)
        return self._spans

    # -- what happened --------------------------------------------------------------------

    def heard(self, event: Event) -> None:
        """Before it is thought about: those for whom the queue has no place will be turned away."""
        if type(event) is not Submitted:
            return
        fleet, count = self._fleet, len(event.specs)
        if fleet.waiting + count <= fleet.policy.queue_depth:
            return
        if not all(spec.id in fleet.runs for spec in event.specs):  # not asked once more
            for span in self._fleet_spans():
                span.quota_refusals += count

    def changed(self, change: Change) -> None:
        """Told of every change, in order. The time is that of the last look: a few seconds."""
        before = change.before
        if type(change.run.state) is Queued and (before is None or type(before) is Queued):
            # It waits. By far the most frequent, and somebody waits for the answer: no more of it.
            if before is None:
                for span in self._spans or self._fleet_spans():
                    span.submitted += 1
            return
        group = self.gathered.group_at(self._hour, change.run.spec.group)
        spans, agents = self._spans or self._fleet_spans(), len(self._fleet.live)
        for span in spans:
            if agents > span.agents_max:
                span.agents_max = agents
        if not self._went_on(change, spans, group):
            self._parted(change, spans, group)

    def _went_on(self, change: Change, spans: Sequence[FleetSpan], group: GroupSpan) -> bool:
        """One that starts, or has begun: each run does both, and nothing else can be true of it.
        Asked all questions of an end, they were half of what the recorder took of a short run."""
        run, state, before = change.run, change.run.state, change.before
        if type(state) is Starting and type(before) is Queued:
            waited_s = state.since_at - before.since_at
            for span in spans:
                span.starts += 1
                put(span.waits, waited_s, TIME_UNIT)
            put(group.waits, waited_s, TIME_UNIT)
        elif type(state) is Running and type(before) is Starting:
            for span in spans:
                put(span.begins, state.since_at - before.since_at, TIME_UNIT)
                span.freezes += is_pressed(state)
            self._note_beginning(run)
        else:
            return False
        return True

    def _parted(self, change: Change, spans: Sequence[FleetSpan], group: GroupSpan) -> None:
        run, before = change.run, change.before
        facts = _facts_of(change, self._fleet.policy)
        for span in spans:
            _count(span, change, facts)
        _count_of_group(group, change, facts, began_crowded=run.id in self._began_crowded)
        if isinstance(before, Live) and not run.live:
            self._began_crowded.discard(run.id)
            self._add_rest(group, run, before)

    def _note_beginning(self, run: Run) -> None:
        """By the cores at its beginning: a long run meets all sorts of hours, whatever it does."""
        if self._is_crowded and not run.spec.away:
            self._began_crowded.add(run.id)

    def _add_rest(self, group: GroupSpan, run: Run, before: Live) -> None:
        """What it did since the last look, which may be all it ever did."""
        seconds = self._since_look_s(before, run.state.since_at)
        limit, expected = before.hold.limit_bytes, before.hold.expected_bytes
        _add_agent(group, before, used=min(run.peak_bytes, limit), seconds=seconds)
        for span in self._fleet_spans():
            span.agents_s += seconds
            span.limits_s += limit * seconds
            span.expected_s += expected * seconds

    def _since_look_s(self, state: Live, now: float) -> float:
        began = state.started_at if isinstance(state, Stopping) else None
        began = state.since_at if began is None else began
        looked_at = began if self._looked_at is None else self._looked_at
        return min(max(now - max(began, looked_at), 0.0), LONGEST_GAP_S)

    # -- how it stands --------------------------------------------------------------------

    def look(self, seen: Seen = Seen(), *, at: float) -> None:  # noqa: B008 - frozen
        """At the fleet as it is; `at` is the time on the wall."""
        self._minute, self._hour = int(at // MINUTE_S * MINUTE_S), int(at // HOUR_S * HOUR_S)
        self._spans = ()
        elapsed_s = self._fleet.now - self._looked_at if self._looked_at is not None else 0.0
        one = self._levels(seen, min(max(elapsed_s, 0.0), LONGEST_GAP_S))
        self._looked_at = self._fleet.now
        for span in self._fleet_spans():
            span.add(one)

    def _levels(self, seen: Seen, elapsed_s: float) -> FleetSpan:
        fleet = self._fleet
        demand, host, policy = fleet.demand, fleet.host, fleet.policy
        expected, used = demand.expected_bytes, demand.sums.used_bytes
        rung = int(fleet.ladder.rung)
        one = FleetSpan(
            seconds=elapsed_s,
            total_bytes=policy.total_bytes,
            wall_bytes=policy.wall_bytes,
            most_agents=policy.max_agents,
            rungs_s={rung: elapsed_s},
            rung_max=rung,
            agents_max=len(fleet.live),
            expected_s=expected * elapsed_s,
            expected_max=expected,
            used_s=used * elapsed_s,
            used_max=used,
            waiting_s=fleet.waiting * elapsed_s,
            waiting_max=fleet.waiting,
        )
        if host is not None:
            one.available_min = host.available_bytes
            one.stall_s = host.memory_stall_percent * elapsed_s
        if host is not None and host.used_percent is not None:
            one.readable_s = elapsed_s
            one.used_percent_s = host.used_percent * elapsed_s
            one.used_percent_max = host.used_percent
        self._add_seen(one, seen, elapsed_s)
        self._add_agents(one, elapsed_s)
        return one

    def _add_seen(self, one: FleetSpan, seen: Seen, elapsed_s: float) -> None:
        if seen.cores is not None and seen.cpu_s is not None and elapsed_s > 0:
            one.cores, one.cpu_s, one.cpu_of_s = seen.cores, seen.cpu_s, seen.cores * elapsed_s
            self._is_crowded = one.cpu_s >= CROWDED * one.cpu_of_s
        one.disk_bytes, one.disk_free_bytes = seen.disk_bytes, seen.disk_free_bytes
        one.workspace_bytes, one.unused_bytes = seen.workspace_bytes, seen.unused_bytes
        one.log_bytes = seen.log_bytes

    def _add_agents(self, one: FleetSpan, elapsed_s: float) -> None:
        """Each agent, once a look: 300 of them take less than a millisecond."""
        fleet = self._fleet
        for run in fleet.live_runs():
            state, used = run.state, fleet.demand.used_by(run.id)
            assert isinstance(state, Live)
            seconds = min(elapsed_s, self._since_look_s(state, fleet.now))
            group = self.gathered.group_at(self._hour, run.spec.group)
            _add_agent(group, state, used=used, seconds=seconds)
            limit = state.hold.limit_bytes
            one.agents_s += seconds
            one.limits_s += limit * seconds
            one.frozen_s += seconds if _is_frozen(state) else 0.0
            one.pressed_s += seconds if used > CLOSE_TO_WALL * limit else 0.0


def _add_agent(group: GroupSpan, state: Live, *, used: int, seconds: float) -> None:
    limit, expected = state.hold.limit_bytes, state.hold.expected_bytes
    group.seconds += seconds
    group.used_s += used * seconds
    group.used_max = max(group.used_max, used)
    group.expected_s += expected * seconds
    group.limits_s += limit * seconds
    group.limit_bytes, group.limit_max = limit, max(group.limit_max, limit)
    group.expected_bytes = expected
    group.frozen_s += seconds if _is_frozen(state) else 0.0


def _is_frozen(state: Live) -> bool:
    return isinstance(state, Running) and state.frozen is not None


# -- one change ---------------------------------------------------------------------------------


class _Facts(NamedTuple):
    """What is asked for three spans, found once."""

    preempted: bool
    own_wall: bool
    fleet_wall: bool
    at_quota: bool


def _facts_of(change: Change, policy: Policy) -> _Facts:
    return _Facts(
        was_preempted(change),
        hit_own_wall(change),
        hit_fleet_wall(change),
        failed_at_quota(change, policy),
    )


def _count(span: FleetSpan, change: Change, facts: _Facts) -> None:
    span.submitted += change.before is None
    span.freezes += was_frozen(change)
    span.quota_refusals += facts.at_quota
    _count_ends(span, change, facts)


def _count_ends(span: FleetSpan | GroupSpan, change: Change, facts: _Facts) -> None:
    span.preemptions += facts.preempted
    span.ooms += facts.own_wall
    span.fleet_ooms += facts.fleet_wall
    state = change.run.state
    if isinstance(state, Ended):
        span.ends[state.outcome] = span.ends.get(state.outcome, 0) + 1


def _count_of_group(span: GroupSpan, change: Change, facts: _Facts, *, began_crowded: bool) -> None:
    run, state, before = change.run, change.run.state, change.before
    _count_ends(span, change, facts)
    ran_s = _ran_s(run, before)
    if ran_s is None:
        return
    span.attempts += 1
    if run.peak_bytes:
        put(span.peaks, run.peak_bytes, PEAK_UNIT)
    if isinstance(state, Ended) and state.outcome is Outcome.SUCCEEDED:
        put(span.run_times, ran_s, TIME_UNIT)
        if began_crowded:
            put(span.crowded_times, ran_s, TIME_UNIT)


def _ran_s(run: Run, before: State | None) -> float | None:
    """How long the attempt that is now over was at work; None where none is over."""
    if run.live:
        return None
    match before:
        case Running(since_at=since_at, paused_s=paused_s):
            return run.state.since_at - since_at - paused_s
        case Stopping(started_at=float(since_at)):
            return run.state.since_at - since_at
        case _:
            return None
