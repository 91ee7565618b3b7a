"""What the daemon counts as it goes: numbers in memory, bounded, from 0 with every daemon.

Told of every change that was remembered and of every event, in the loop's thread: a few additions
each, nothing kept of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from paddock.core.events import Event, Exited
from paddock.core.fleet import Change
from paddock.core.run import (
    Ended,
    Live,
    Outcome,
    Priority,
    Queued,
    Run,
    Running,
    Starting,
    State,
    Stopping,
)
from paddock.core.units import DAY_S

from .metric import CLONE_BUCKETS_S, MOST_GROUPS, OTHER, QUEUE_BUCKETS_S, RUN_BUCKETS_S

LIMITS: Final = ("memory", "fleet", "pids", "watched")
TIMEOUTS: Final = ("soft", "hard")


class Histogram:
    """Of times; cumulative only when it is read."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def copy(self) -> Histogram:
        found = Histogram(self.bounds)
        found.counts, found.sum = list(self.counts), self.sum
        return found


class OfGroup:
    """One group's numbers."""

    __slots__ = ("durations", "heard_at", "last_oom_at", "ooms", "outcomes", "started", "submitted")

    def __init__(self) -> None:
        self.submitted = self.started = self.ooms = 0
        self.outcomes: Counter[Outcome] = Counter()
        self.durations = Histogram(RUN_BUCKETS_S)
        self.last_oom_at: float | None = None
        self.heard_at = 0.0


class Counts:
    """`changed` and `heard` are for `Supervisor.on_change` and `on_event`."""

    def __init__(self, runs: Mapping[str, Run], *, most_groups: int = MOST_GROUPS) -> None:
        self._runs = runs
        self._most = most_groups
        self.groups: dict[str, OfGroup] = {OTHER: OfGroup()}
        self._full_until = 0.0
        self.waits = {priority: Histogram(QUEUE_BUCKETS_S) for priority in Priority}
        self.timeouts = dict.fromkeys(TIMEOUTS, 0)
        self.limits = dict.fromkeys(LIMITS, 0)
        self.preempted = 0
        self.preempted_for_others = 0
        self.made = {fetched: Histogram(CLONE_BUCKETS_S) for fetched in (False, True)}

    # -- what is told ---------------------------------------------------------------------

    def heard(self, event: Event) -> None:
        """Before it is thought about: whether it is news can be seen from where its run stands."""
        if not isinstance(event, Exited):
            return
        run = self._runs.get(event.attempt.run)
        if run is None or not run.live or run.attempt != event.attempt:
            return
        if isinstance(run.state, Stopping) and run.state.exit is not None:
            return  # news of its strays
        how = event.exit
        self.limits["memory"] += how.oom
        self.limits["fleet"] += how.fleet_oom
        self.limits["pids"] += how.note is not None
        if how.oom or how.fleet_oom:
            group = self._group(run.spec.group, event.at)
            group.ooms += 1
            group.last_oom_at = event.at

    def changed(self, change: Change) -> None:
        run, before, state = change.run, change.before, change.run.state
        if before is None:
            self._group(run.spec.group, state.since_at).submitted += 1
        elif isinstance(before, Live) and not isinstance(state, Live):
            self._attempt_over(run, before)
        if isinstance(state, Starting):
            if isinstance(before, Queued):
                self._group(run.spec.group, state.since_at).started += 1
                self.waits[run.priority].observe(max(0.0, state.since_at - before.since_at))
        elif isinstance(state, Ended):
            self._group(run.spec.group, state.since_at).outcomes[state.outcome] += 1
        elif isinstance(state, Stopping):
            self._stopping(before, state)
        elif isinstance(state, Running) and isinstance(before, Running):
            self.timeouts["soft"] += before.soft_at is not None and state.soft_at is None

    def workspace_made(self, took_s: float, fetched: bool) -> None:  # noqa: FBT001 - a callback
        self.made[fetched].observe(took_s)

    def _stopping(self, before: State | None, state: Stopping) -> None:
        if not isinstance(before, Stopping):
            self.timeouts["hard"] += state.outcome is Outcome.TIMEOUT_EXCEEDED
            self.limits["watched"] += state.outcome is Outcome.MEMORY_LIMIT_EXCEEDED
            self.preempted += state.outcome is Outcome.PREEMPTED
            self.preempted_for_others += state.stopped_for is not None
        else:  # for whom it makes room is said a moment later
            self.preempted_for_others += (
                before.stopped_for is None and state.stopped_for is not None
            )

    def _attempt_over(self, run: Run, last: State) -> None:
        over_at = run.state.since_at
        match last:
            case Running(since_at=began_at, paused_s=paused_s):
                ran_s = over_at - began_at - paused_s
            case Stopping(started_at=float(began_at)):
                ran_s = over_at - began_at
            case _:
                return  # it never ran
        self._group(run.spec.group, over_at).durations.observe(max(0.0, ran_s))

    # -- groups ---------------------------------------------------------------------------

    def _group(self, name: str, at: float) -> OfGroup:
        found = self.groups.get(name)
        if found is None:
            found = self._place_for(name, at)
        found.heard_at = at
        return found

    def _place_for(self, name: str, at: float) -> OfGroup:
        if len(self.groups) > self._most:  # OTHER is one of them
            if at < self._full_until:
                return self.groups[OTHER]
            named = [one for one in self.groups if one != OTHER]
            oldest = min(named, key=lambda one: self.groups[one].heard_at)
            if self.groups[oldest].heard_at + DAY_S > at:
                self._full_until = self.groups[oldest].heard_at + DAY_S
                return self.groups[OTHER]
            del self.groups[oldest]
        self.groups[name] = OfGroup()
        return self.groups[name]

    def preemptions(self) -> Iterator[tuple[str, int]]:
        yield "pressure", self.preempted - self.preempted_for_others
        yield "priority", self.preempted_for_others
