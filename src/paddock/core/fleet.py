"""All runs and everything decisions look at. Changed by `step` alone, through `move`.

Holds the indexes that keep a step's cost independent of how many runs wait, and nothing that
could not be built again from the runs, the groups and the heartbeats (see `restore`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from .actions import Action
from .admission import Demand, Fit, Newcomer, Sums, fit
from .breaker import Breaker, Closed, Open, lets_start
from .change import Change, ForbiddenMove
from .events import Host
from .group import Group
from .heartbeat import Heartbeat
from .outlook import Outlook
from .pace import Pace
from .policy import Admission, Policy
from .pressure import Ladder, Round
from .projects import Projects
from .queue import Queue, entry_of
from .run import (
    ALLOWED_MOVES,
    Attempt,
    Ended,
    Frozen,
    Live,
    Priority,
    Queued,
    Run,
    Running,
    Starting,
    State,
    StepDone,
    Stopping,
)
from .timers import Timer, TimerKind, Timers

__all__ = ["Change", "Fleet", "ForbiddenMove"]


class Fleet:
    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.now = 0.0
        self.host: Host | None = None
        self.ladder = Ladder()
        self.pace = Pace()
        self.spare_starts = 0  # how many may start before the next look, where bursts take turns
        self.round: Round | None = None
        self.runs: dict[str, Run] = {}
        self.live: dict[str, float] = {}  # run → since when it uses what it uses
        self.away: dict[str, None] = {}  # those of them that live on other machines
        self.stopping: dict[str, None] = {}  # those of them whose memory is on its way back
        self.pressed: dict[str, None] = {}  # those of them frozen by pressure
        self.queue = Queue()  # ready runs only
        self.outbound = Queue()  # likewise, of those that will live on other machines
        self.waiting = 0  # all that are Queued, ready or not
        self.projects = Projects()  # those with bounds of their own
        self.placeless: dict[str, None] = {}  # those of them for whom there was no workspace
        self.demand = Demand(policy.sizing)
        self.groups: dict[str, Group] = {}
        self.heartbeats: dict[str, Heartbeat] = {}
        self.dependents: dict[str, dict[str, None]] = {}
        self.claimant: str | None = None  # others are being stopped for this run
        self.asked_room: tuple[str, float] | None = None  # for whom room was last looked for
        self.door: str | None = None  # whoever waits longest: what comes free is kept for it
        self.last_look: tuple[int, int] | None = None  # expected, free at the last full look
        self.changes: list[Change] = []  # of the present step
        self.actions: list[Action] = []  # of the present step
        self.steps_done: list[StepDone] = []  # of the present step
        self.changed_groups: set[str] = set()  # since somebody took them to the store
        self._sequence = 0
        self._members: Counter[str] = Counter()  # how many runs of each group are here
        self._here_at_look = 0
        self._looked_at = 0.0
        self._young: deque[tuple[float, Attempt]] = deque()  # until when, in order of start
        self._ended: deque[str] = deque()
        self._timers = Timers(self._valid)
        self._outlook = Outlook()

    # -- what others ask ------------------------------------------------------------------

    @property
    def next_deadline(self) -> float | None:
        """When a `TimePassed` is due; None when nothing waits for time."""
        return None if (first := self._timers.first()) is None else first.at

    def group(self, name: str) -> Group:
        if name not in self.groups:
            self.groups[name] = Group(self.policy)
        return self.groups[name]

    def name_of(self, run: str) -> str:
        """For people; one that the fleet does not know keeps its id."""
        return self.runs[run].spec.name if run in self.runs else run

    def live_runs(self) -> Iterator[Run]:
        return (self.runs[run] for run in self.live)

    @property
    def here(self) -> int:
        """How many of them use the memory of this host."""
        return len(self.live) - len(self.away)

    @property
    def overcommitted(self) -> bool:
        """Let in by learned sizes: all at their walls would not fit."""
        return self.demand.sums.guaranteed_bytes > self.policy.wall_bytes

    @property
    def takes_turns(self) -> bool:
        """Its bursts wait for each other also while no step of the ladder is near."""
        return self.policy.sizing.take_turns and self.overcommitted

    def line_of(self, run: Run) -> Queue:
        """Where it waits for its turn: what lives elsewhere waits for nothing of this host."""
        return self.outbound if run.spec.away else self.queue

    def fit(self, run: Run, *, gone: Sums | None = None) -> Fit | None:
        """Both sums for one more attempt of a run; None when the host could not be read.

        `gone` is what those hold who are counted as if they had left: then the question is whether
        memory would be enough, and not whether the cores or the pace hold it back.
        """
        available = self.host.available_bytes if self.host is not None else None
        if available is None or self.now - self._looked_at > self.policy.stale_s:
            return None
        group = run.spec.sized_as
        learned = self.demand.sums.learned_limit_bytes or self.demand.learned(group)
        held_back = gone is None and not self.may_overcommit(run.priority)
        by_limits = bool(learned) and held_back
        lent = self._outlook.back_soon(self) if self.policy.sizing.take_turns else 0
        one = Newcomer(group, run.limit_bytes, by_limits=by_limits, lent_bytes=lent)
        return fit(self.demand, self.policy, one, available_bytes=available, gone=gone)

    def may_overcommit(self, priority: Priority) -> bool:
        """Whether learned sizes let more in than the limits would, right now."""
        if self.paced:
            return False
        return priority < Priority.NORMAL or not self._slow()  # slow CPUs hold up nobody urgent

    @property
    def paced(self) -> bool:
        """As many more than at the last look at the host as may be, before they are seen."""
        sizing = self.policy.sizing
        growth = max(sizing.overcommit_growth_least, int(sizing.overcommit_growth * self.here))
        growth = min(growth, self.spare_starts) if self.takes_turns else growth
        return self.here >= self._here_at_look + growth

    def _slow(self) -> bool:
        return self.host is not None and self.host.slowdown > self.policy.sizing.overcommit_slowdown

    # -- the few functions that change it -------------------------------------------------

    def continue_after(self, sequence: int) -> None:
        self._sequence = max(self._sequence, sequence)

    def next_sequence(self) -> int:
        self._sequence += 1
        return self._sequence

    def add(self, run: Run, because: str) -> None:
        """A run that is new here: just submitted, or loaded from the store."""
        self.continue_after(run.sequence)
        self.group(run.spec.group)  # now, so that asking about the run changes nothing later
        self._members[run.spec.group] += 1
        run = self._tagged(run)
        self.runs[run.id] = run
        self._enter(run)
        if self.projects.note(None, run, self.queue):
            self.stir()
        self.changes.append(Change(run, None, because))

    def move(self, run: Run, state: State, because: str, **facts: Any) -> Run:
        """Leave one state for another; every index follows here and nowhere else."""
        before = run.state
        if type(state) not in ALLOWED_MOVES[type(before)]:
            names = f"{type(before).__name__} to {type(state).__name__}"
            raise ForbiddenMove(f"run {run.id}: {names}")
        after = replace(run, state=state, **facts)
        after = self._tagged(self._leave(run, after))
        self.runs[run.id] = after
        self._enter(after, before)
        if self.projects.note(run, after, self.queue):
            self.stir()  # others of its project may start, or one of them held the door
        self.changes.append(Change(after, before, because))
        return after

    def amend(self, run: Run, because: str, **facts: Any) -> None:
        """Change what is known of a run, not where it stands."""
        after = replace(run, **facts)
        self.runs[run.id] = after
        self.stir()
        self.changes.append(Change(after, run.state, because))

    def sample(self, run: Run, used_bytes: int) -> None:
        """The attempt's use from now on; until now it used what was sampled last."""
        self._observe(run)
        self.demand.use(run.id, used_bytes, at=self.now)

    def saw_peak(self, run: Run, peak_bytes: int) -> None:
        """The kernel's own peak: a burst between two samples is a burst all the same."""
        if peak_bytes > self.demand.peak_of(run.id):
            self.demand.saw_peak(run.id, peak_bytes)
            if not run.spec.away:  # that teaches nothing about this host
                size, burst_s = self.group(run.spec.group).size, self.policy.sizing.burst_s
                size.observe(peak_bytes, seconds=burst_s, at=self.now)

    def set_breaker(self, group: str, breaker: Breaker) -> None:
        """The group's runs are passed over in the queue whenever the breaker says so."""
        owner = self.group(group)
        if breaker == owner.breaker:
            return
        owner.breaker = breaker
        self.changed_groups.add(group)
        for line in (self.queue, self.outbound):
            (line.unpark if lets_start(breaker) else line.park)(group)
        self.stir()  # its runs may start, or one of them held the door
        if isinstance(breaker, Open):
            self.wake(Timer(breaker.until_at, TimerKind.BREAKER, group))

    def adopt(self, name: str, group: Group) -> None:
        """A group as it was remembered."""
        breaker, group.breaker = group.breaker, Closed()
        self.groups[name] = group
        self.set_breaker(name, breaker)
        self.relearn(name)

    def set_heartbeat(self, heartbeat: Heartbeat) -> None:
        self.heartbeats[heartbeat.name] = heartbeat
        self.wake(Timer(heartbeat.next_at, TimerKind.HEARTBEAT, heartbeat.name))

    def relearn(self, group: str) -> None:
        """Count the group's attempts by what is known of it now."""
        learned = self.policy.admission is Admission.LEARNED
        known = self.group(group).size.known(self.policy.sizing) if learned else None
        self.demand.learn(group, known)
        self.changed_groups.add(group)

    def stir(self) -> None:
        """Something happened after which a run may start that could not before."""
        self.last_look = None

    def wake(self, timer: Timer) -> None:
        self._timers.add(timer)

    def due(self) -> Iterator[Timer]:
        """Timers whose time has come, each once, oldest first."""
        while True:
            at = self.next_deadline
            if at is None or at > self.now:
                return
            yield self._timers.pop()

    def looked(self, host: Host) -> None:
        """The host was sampled; what started since then is seen from now on."""
        paced, slow = self.paced, self._slow()
        self.host = host
        self._looked_at = self.now
        if paced or (slow and not self._slow()) or self.demand.sums.learned_limit_bytes:
            self.stir()  # who was held back may come now, or others have settled on less
        self._here_at_look = self.here
        while self._young and self._young[0][0] <= self.now:
            _, attempt = self._young.popleft()
            run = self.runs.get(attempt.run)
            if run is not None and run.live and run.attempt == attempt:
                self._observe(run)
                self.demand.settle(run.id)

    # -- inside ---------------------------------------------------------------------------

    def _leave(self, run: Run, after: Run) -> Run:
        state = run.state
        if isinstance(state, Queued):
            after = self._leave_queue(run, state, after)
        elif isinstance(state, Live) and not after.live:
            self._observe(run)
            peak_bytes = max(run.peak_bytes, self.demand.leave(run.id))
            after = replace(after, peak_bytes=peak_bytes)
            del self.live[run.id]
            self.away.pop(run.id, None)
            self.stir()
            self.stopping.pop(run.id, None)
        self.pressed.pop(run.id, None)
        return after

    def _leave_queue(self, run: Run, state: Queued, after: Run) -> Run:
        self.waiting -= 1
        self.placeless.pop(run.id, None)
        if state.ready:
            served = isinstance(after.state, Starting)
            tag = self.line_of(run).remove(run.id, served=served)
            after = replace(after, tag=tag) if served else after
            self.stir()  # it may have held the door
        still_unmet = after.state.unmet if isinstance(after.state, Queued) else frozenset()
        for need in state.unmet - still_unmet:
            self._forget_dependent(need, run.id)
        if not isinstance(after.state, Queued) and self.claimant == run.id:
            self.claimant = None
        return after

    def _enter(self, run: Run, before: State | None = None) -> None:
        state = run.state
        if isinstance(state, Queued):
            self._enter_queue(run, state, before)
        elif isinstance(state, Live) and not isinstance(before, Live):
            self._take_memory(run, state.hold.limit_bytes)
            self.live[run.id] = self.now
            self._young.append((self.now + self.policy.sizing.young_s, run.attempt))
        if isinstance(state, Running) and state.frozen is Frozen.BY_PRESSURE:
            self.pressed[run.id] = None
        if isinstance(state, Stopping) and not run.spec.away:
            self.stopping[run.id] = None
            self.stir()  # stopping for the first time or for too long: who waits for it looks
        elif isinstance(state, Ended):
            self._ended.append(run.id)
            self._forget_old()
        if state.deadline_at is not None:
            self.wake(Timer(state.deadline_at, TimerKind.RUN, run.id))

    def _take_memory(self, run: Run, limit_bytes: int) -> None:
        if run.spec.away:  # it takes none here, and teaches nothing about this host
            self.away[run.id] = None
            self.demand.enter(run.id, group="", limit_bytes=0)
            return
        model = self.group(run.spec.group).size
        model.limit_bytes = max(model.limit_bytes, limit_bytes)
        self.demand.enter(run.id, group=run.spec.sized_as, limit_bytes=limit_bytes)

    def _enter_queue(self, run: Run, state: Queued, before: State | None) -> None:
        self.waiting += 1
        if state.awaits_place:
            self.placeless[run.id] = None
        known = before.unmet if isinstance(before, Queued) else frozenset()
        for need in state.unmet - known:
            self.dependents.setdefault(need, {})[run.id] = None
        if state.ready:
            self.line_of(run).add(entry_of(run), run.priority)
            depth, ageing_s = self.policy.backfill_depth, self.policy.ageing_s
            if not run.spec.away and self.queue.in_sight(run.id, depth, ageing_s=ageing_s):
                self.stir()

    def _tagged(self, run: Run) -> Run:
        """A run's place is given when it first lines up, and kept from then on."""
        if run.tag or not (isinstance(run.state, Queued) and run.state.ready):
            return run
        return replace(run, tag=self.line_of(run).new_tag(run.priority, lane=entry_of(run).lane))

    def _observe(self, run: Run) -> None:
        since_at = self.live[run.id]
        if self.now > since_at and isinstance(run.state, Running) and not run.spec.away:
            used = self.demand.used_by(run.id)
            size = self.group(run.spec.group).size
            young = self.demand.is_young(run.id)
            size.observe(used, seconds=self.now - since_at, at=self.now, young=young)
        self.live[run.id] = self.now

    def _forget_dependent(self, need: str, run: str) -> None:
        waiting = self.dependents.get(need)
        if waiting is not None:
            waiting.pop(run, None)
            if not waiting:
                del self.dependents[need]

    def _forget_old(self) -> None:
        while len(self._ended) > self.policy.keep_ended:
            run = self.runs.pop(self._ended.popleft(), None)
            if run is not None:
                self._members[run.spec.group] -= 1
        if len(self.groups) > 2 * self.policy.keep_groups:
            self._forget_groups()

    def _forget_groups(self) -> None:
        """The oldest of those that have no run here and nothing to wait for."""
        idle = [name for name in self.groups if not self._members[name]]
        quiet = [name for name in idle if isinstance(self.groups[name].breaker, Closed)]
        for name in quiet[: len(self.groups) - self.policy.keep_groups]:
            del self.groups[name]
            del self._members[name]
            self.demand.learn(name, None)
            self.changed_groups.discard(name)

    def _valid(self, timer: Timer) -> bool:
        if timer.kind is TimerKind.RUN:
            run = self.runs.get(timer.key)
            return run is not None and run.state.deadline_at == timer.at
        if timer.kind is TimerKind.BREAKER:
            breaker = self.groups[timer.key].breaker if timer.key in self.groups else None
            return isinstance(breaker, Open) and breaker.until_at == timer.at
        if timer.kind is TimerKind.HEARTBEAT:
            heartbeat = self.heartbeats.get(timer.key)
            return heartbeat is not None and heartbeat.next_at == timer.at
        return timer.key in self.queue
