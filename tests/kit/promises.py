"""What a step may and may not do, checked from outside: event in, actions out, runs around it.

The sums are made again here, from the events alone; nothing of `Demand` is believed.
"""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from itertools import islice

from paddock.core.actions import (
    Action,
    AskCheckpoint,
    FreezeAttempt,
    KillAttempt,
    Refuse,
    StartAttempt,
    TerminateAttempt,
)
from paddock.core.events import (
    AttemptLost,
    Emptied,
    Event,
    Exited,
    Sampled,
    SpawnFailed,
    StartPutOff,
    StopFound,
    Submitted,
    TimePassed,
)
from paddock.core.fleet import Change, Fleet
from paddock.core.invariants import violations
from paddock.core.policy import Admission
from paddock.core.pressure import Rung, rung_of
from paddock.core.run import (
    ALLOWED_MOVES,
    Attempt,
    Ended,
    Frozen,
    Outcome,
    Priority,
    Queued,
    Run,
    Running,
    Starting,
    State,
    Stopping,
)
from paddock.core.step import AttemptEvent, step

Move = tuple[type[State], type[State]]


class Promises:
    """Takes every step of one fleet, and complains (AssertionError) when a promise is broken."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.moves: set[Move] = set()
        self.submitted: set[str] = set()
        self.ended: dict[str, Ended] = {}
        self._started: set[Attempt] = {run.attempt for run in fleet.live_runs()}
        self._there = set(self._started)  # started, and nobody has said that they are gone
        self._used: dict[Attempt, int] = {}
        self._made_way: Counter[str] = Counter()
        self.done: set[tuple[str, int]] = set()  # steps

    def step(self, event: Event) -> list[Action]:
        fleet = self.fleet
        before = dict(fleet.runs)
        twin = deepcopy(fleet) if self._stale(event) else None
        actions = step(fleet, event)
        self._note(event)
        wrong = violations(fleet)
        assert wrong == [], f"{wrong}"
        self._nobody_is_lost(before, event)
        self._moves_are_allowed()
        self._attempts_start_once(before, event, actions)
        self._steps_are_done_once_and_in_order(actions)
        self._memory_is_held_while_anything_lives(event)
        self._actions_are_about_what_lives(actions)
        self._starts_fit(actions)
        self._only_the_more_urgent_preempts(event)
        self._critical_is_spared(event, actions)
        self._nobody_is_overlooked()
        self._nobody_stays_frozen_for_nothing(event)
        if twin is not None:
            self._old_news_changes_nothing(twin, event, actions)
        return actions

    # -- what is remembered ---------------------------------------------------------------

    def _stale(self, event: Event) -> bool:
        if not isinstance(event, AttemptEvent):
            return False
        run = self.fleet.runs.get(event.attempt.run)
        return run is None or not run.live or run.attempt != event.attempt

    def _note(self, event: Event) -> None:
        if isinstance(event, Sampled):
            self._used.update(event.used)
        live = {run.attempt for run in self.fleet.live_runs() if not run.spec.away}
        self._used = {attempt: used for attempt, used in self._used.items() if attempt in live}
        for change in self.fleet.changes:
            if isinstance(change.run.state, Ended):
                self.ended[change.run.id] = change.run.state

    # -- the promises ---------------------------------------------------------------------

    def _steps_are_done_once_and_in_order(self, actions: list[Action]) -> None:
        for done in self.fleet.steps_done:
            assert (done.run, done.step) not in self.done, f"{done} is done twice"
            self.done.add((done.run, done.step))
        for start in actions:
            if isinstance(start, StartAttempt) and start.step is not None:
                run = start.attempt.run
                assert (run, start.step) not in self.done, f"step {start.step} of {run} again"
                spec = self.fleet.runs[run].spec
                before = {(run, step) for step in range(spec.first_step, start.step)}
                assert before <= self.done, f"step {start.step} of {run} too early"

    def _nobody_is_lost(self, before: dict[str, Run], event: Event) -> None:
        """Ended is for good, and what has not ended is still there."""
        after = self.fleet.runs
        for name, run in before.items():
            if isinstance(run.state, Ended):
                assert name not in after or after[name] == run, f"{name} ended, and then changed"
            else:
                assert name in after or name in self.ended, f"{name} is lost"
        new = {change.run.id for change in self.fleet.changes if change.before is None}
        if isinstance(event, Submitted):
            wanted = {spec.id for spec in event.specs}
            refused = any(isinstance(action, Refuse) for action in self.fleet.actions)
            known = wanted <= set(before)
            assert known or refused or wanted <= new, "neither taken nor refused"
            assert not (refused and wanted & new), "refused, and half of it taken"
        self.submitted |= new

    def _moves_are_allowed(self) -> None:
        for change in self.fleet.changes:
            if change.before is None or change.before is change.run.state:
                continue  # new, or amended where it stands
            move = (type(change.before), type(change.run.state))
            assert move[1] in ALLOWED_MOVES[move[0]], f"forbidden: {move}"
            self.moves.add(move)

    def _attempts_start_once(
        self, before: dict[str, Run], event: Event, actions: list[Action]
    ) -> None:
        """One whose start was put off was none: its number is the next one's."""
        put_off = event.attempt if isinstance(event, StartPutOff) else None
        if put_off is not None:
            run = before.get(put_off.run)
            if run is not None and run.attempt == put_off and isinstance(run.state, Starting):
                self._started.discard(put_off)
        for action in actions:
            if not isinstance(action, StartAttempt):
                continue
            assert action.attempt not in self._started, f"{action.attempt} started twice"
            self._started.add(action.attempt)
            run = before.get(action.attempt.run)
            known = run.attempts if run is not None else 0
            if run is not None and put_off == run.attempt and isinstance(run.state, Starting):
                known -= 1
            assert action.attempt.number == known + 1, f"{action.attempt} follows {known}"

    def _memory_is_held_while_anything_lives(self, event: Event) -> None:
        """What is live is what was started and has not been reported gone: no more, no less."""
        if isinstance(event, Emptied | AttemptLost | SpawnFailed | StartPutOff) or (
            isinstance(event, Exited) and event.empty
        ):
            self._there.discard(event.attempt)
        self._there |= {a.attempt for a in self.fleet.actions if isinstance(a, StartAttempt)}
        live = {run.attempt for run in self.fleet.live_runs()}
        assert live == self._there, f"held {live - self._there}, let go {self._there - live}"

    def _actions_are_about_what_lives(self, actions: list[Action]) -> None:
        stops = AskCheckpoint | TerminateAttempt | KillAttempt
        for action in actions:
            if isinstance(action, Refuse):
                assert action.because, "refused without a reason"
                continue
            run = self.fleet.runs.get(action.attempt.run)
            assert run is not None and run.live and run.attempt == action.attempt, f"{action}"
            if isinstance(action, stops):
                assert isinstance(run.state, Stopping), f"{action}, but it is {run.state}"
                assert action.because, "stopped without a reason"

    def _starts_fit(self, actions: list[Action]) -> None:
        """Memory is never oversold: both sums hold after a step that starts anything here."""
        fleet, policy, host = self.fleet, self.fleet.policy, self.fleet.host
        starts = [action for action in actions if isinstance(action, StartAttempt)]
        assert not starts or policy.max_agents != 0, "started while the fleet is halted"
        started = [each for each in starts if not fleet.runs[each.attempt.run].spec.away]
        if not started:
            return
        here = [run for run in fleet.live_runs() if not run.spec.away]
        assert host is not None and host.available_bytes is not None, "started blindly"
        assert fleet.ladder.rung < Rung.QUEUE, "started under pressure"
        for action in started:
            run = fleet.runs[action.attempt.run]
            low = run.priority is Priority.LOW
            assert not (low and fleet.ladder.rung >= Rung.SKIP_LOW), "a low one under pressure"
            assert action.limit_bytes == run.limit_bytes <= policy.wall_bytes
        assert policy.max_agents is None or len(here) <= policy.max_agents, "too many"
        self._projects_are_kept(started)
        used = sum(self._used.values())
        if fleet.takes_turns and policy.admission is Admission.LEARNED:
            at_rest = min(fleet.demand.resting_bytes(), fleet.demand.sums.guaranteed_bytes)
            assert at_rest <= min(policy.wall_bytes, host.available_bytes + used), "no room to rest"
            return
        if policy.admission is Admission.GUARANTEED:
            limits = {run.attempt: _limit(run) for run in here}
            held = sum(max(limit, self._used.get(a, 0)) for a, limit in limits.items())
        else:
            held = fleet.demand.expected_bytes
            assert held >= used
        assert held <= policy.wall_bytes, f"oversold: {held} of {policy.wall_bytes}"
        left = host.available_bytes - (held - used)
        assert left >= policy.free_floor_bytes, f"the host would be left {left}"

    def _projects_are_kept(self, started: list[StartAttempt]) -> None:
        """After a start no more are at work than its project allows; the newest of it says."""
        known = [run for run in self.fleet.runs.values() if run.spec.bounds is not None]
        for run in (self.fleet.runs[action.attempt.run] for action in started):
            if (bounds := run.spec.bounds) is None:
                continue
            own = [one for one in known if one.spec.bounds.project == bounds.project]  # type: ignore[union-attr]
            newest = max(
                (one for one in own if not isinstance(one.state, Ended)), key=lambda r: r.sequence
            )
            assert newest.spec.bounds is not None
            most, live = newest.spec.bounds.agents, sum(r.live and not r.spec.away for r in own)
            assert most is None or live <= most, f"{live} of {bounds.project}, {most} are allowed"
            if bounds.by_limits:
                assert isinstance(run.state, Starting)
                assert run.state.hold.expected_bytes == run.limit_bytes

    def _only_the_more_urgent_preempts(self, event: Event) -> None:
        for change in self.fleet.changes:
            if not _preempted(change):
                continue
            away = change.run.spec.away and not isinstance(event, StopFound)
            assert not away, f"{change.run.id} gives way, and has no memory of this host"
            if isinstance(event, Sampled) and self.fleet.ladder.rung >= Rung.PREEMPT:
                continue  # for the host, not for another run
            if isinstance(event, StopFound):
                continue  # decided by a daemon that could not remember it
            victim = change.run
            claimant = self.fleet.runs.get(self.fleet.claimant or "")
            assert claimant is not None, f"{victim.id} is stopped for nobody"
            assert isinstance(claimant.state, Queued), f"{claimant.id} needs no room"
            assert claimant.priority < victim.priority, f"{claimant.id} is not more urgent"
            assert isinstance(change.before, Running), "one that only starts is left alone"
            ran_s = self.fleet.now - change.before.since_at
            assert ran_s >= self.fleet.policy.min_run_s, f"{victim.id} ran only {ran_s} s"
            self._made_way[victim.id] += 1
            often = self._made_way[victim.id]
            assert often <= self.fleet.policy.max_preemptions, f"{victim.id}, {often} times"

    def _critical_is_spared(self, event: Event, actions: list[Action]) -> None:
        """Unless the host is at the last step nobody critical is frozen or killed for memory."""
        if isinstance(event, Sampled):
            self._none_critical_is_killed(actions)
        if self.fleet.ladder.rung is not Rung.PREEMPT:
            return
        for action in actions:
            if isinstance(action, FreezeAttempt) and action.reclaim:
                run = self.fleet.runs[action.attempt.run]
                assert run.priority is not Priority.CRITICAL, f"{run.id} is critical"

    def _none_critical_is_killed(self, actions: list[Action]) -> None:
        """One that is being stopped already is killed first, whoever it is."""
        host = self.fleet.host
        if host is None or rung_of(host, self.fleet.policy.ladder) is Rung.EMERGENCY:
            return
        befores = {change.run.id: change.before for change in self.fleet.changes}
        for action in actions:
            run = self.fleet.runs[action.attempt.run] if isinstance(action, KillAttempt) else None
            if run is None or run.priority is not Priority.CRITICAL:
                continue
            preempted = isinstance(run.state, Stopping) and run.state.outcome is Outcome.PREEMPTED
            fresh = isinstance(befores.get(run.id), Running | Starting)
            assert not (preempted and fresh), f"{run.id} is critical"

    def _nobody_stays_frozen_for_nothing(self, event: Event) -> None:
        """Once a look at the host says that the pressure is over, pressure freezes nobody; but
        where the user lets bursts meet they take turns, and nobody waits for long."""
        if not isinstance(event, Sampled) or self.fleet.ladder.rung >= Rung.PREEMPT:
            return
        if event.host.used_percent is None or event.host.available_bytes is None:
            return
        frozen = [run for run in self.fleet.live_runs() if _frozen_by_pressure(run)]
        if not self.fleet.takes_turns:
            assert frozen == []
            return
        for run in frozen:
            assert run.priority is not Priority.CRITICAL, f"{run.id} is critical"
            assert isinstance(run.state, Running)
            stood_s = self.fleet.now - run.state.frozen_at
            assert stood_s < self.fleet.policy.ladder.longest_hold_s, f"{run.id} stands still"
        here = [run for run in self.fleet.live_runs() if not run.spec.away]
        goes_on = (isinstance(run.state, Running) and not run.state.frozen for run in here)
        assert not frozen or any(goes_on), "all of them wait for each other"

    def _nobody_is_overlooked(self) -> None:
        """Whatever shortcuts the scheduler takes, nobody who could start is left standing."""
        fleet, policy = self.fleet, self.fleet.policy
        if fleet.host is not None and policy.max_agents != 0:
            left = list(fleet.outbound.in_order(ageing_s=policy.ageing_s))
            assert left == [], f"{left} wait for nothing of this host"
        here = sum(not run.spec.away for run in fleet.live_runs())
        full = policy.max_agents is not None and here >= policy.max_agents
        if full or fleet.ladder.rung >= Rung.QUEUE:
            return
        if fleet.takes_turns and fleet.pressed:
            return  # who waits inside comes first
        above = Priority.LOW if fleet.ladder.rung >= Rung.SKIP_LOW else None
        claimant = fleet.runs[fleet.claimant] if fleet.claimant is not None else None
        order = fleet.queue.in_order(ageing_s=policy.ageing_s, above=above)
        for name in islice(order, policy.backfill_depth):
            run = fleet.runs[name]
            spoken_for = claimant is not None and run.priority >= claimant.priority
            assert spoken_for or not fleet.fit(run), f"{name} could start, and was not looked at"
            if name in (fleet.claimant, fleet.door):
                return  # what is free is kept for it

    def _old_news_changes_nothing(self, twin: Fleet, event: Event, actions: list[Action]) -> None:
        """The step did what the time alone would have done."""
        assert step(twin, TimePassed(event.at)) == actions
        assert twin.runs == self.fleet.runs


def _frozen_by_pressure(run: Run) -> bool:
    return isinstance(run.state, Running) and run.state.frozen is Frozen.BY_PRESSURE


def _preempted(change: Change) -> bool:
    state = change.run.state
    if not isinstance(state, Stopping) or isinstance(change.before, Stopping | None):
        return False
    return state.outcome is Outcome.PREEMPTED


def _limit(run: Run) -> int:
    assert not isinstance(run.state, Queued | Ended)
    return run.state.hold.limit_bytes
