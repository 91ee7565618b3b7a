"""Room for a more urgent run: who is stopped for it, and who is safe from that."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from .admission import Sums
from .fleet import Fleet
from .lifecycle import preempt
from .policy import Policy
from .run import Priority, Run, Running, Starting, Stopping
from .timers import Timer, TimerKind
from .victims import Candidate, because, choose

ASK_AGAIN_S: Final = 1.0


class Room:
    """Room for one run: met when it would fit without those taken and those leaving already."""

    def __init__(self, fleet: Fleet, claimant: Run) -> None:
        self._fleet = fleet
        self._claimant = claimant
        on_their_way = leaving(fleet)
        self._gone = fleet.demand.of(on_their_way)
        self._agents = len(set(fleet.live) - set(fleet.away) - set(on_their_way))

    def take(self, candidate: Candidate) -> None:
        self._gone = self._gone.plus(self._fleet.demand.of([candidate.run]))
        self._agents -= 1

    def spare(self, candidate: Candidate) -> None:
        self._gone = self._gone.plus(self._fleet.demand.of([candidate.run]), -1)
        self._agents += 1

    def without(self, candidates: Collection[Candidate]) -> bool:
        """Whether all of them together would be enough: asked first, as it is cheap to know."""
        everybody = self._fleet.demand.of([candidate.run for candidate in candidates])
        return self._would_fit(self._gone.plus(everybody), self._agents - len(candidates))

    def is_met(self) -> bool:
        return self._would_fit(self._gone, self._agents)

    def _would_fit(self, gone: Sums, agents: int) -> bool:
        most = self._fleet.policy.max_agents
        if most is not None and agents >= most:
            return False
        return bool(self._fleet.fit(self._claimant, gone=gone))


def make_room(fleet: Fleet, claimant: Run) -> None:
    """Stop lesser runs if that lets the claimant in; otherwise nobody is disturbed."""
    if claimant.priority is Priority.LOW or _asked_just_now(fleet, claimant):
        return
    room = Room(fleet, claimant)
    if room.is_met():
        return  # memory is on its way, or it is not memory that it waits for
    candidates = _candidates(fleet, claimant)
    if not candidates or not room.without(candidates):
        return
    chosen = choose(candidates, room)
    fleet.claimant = claimant.id
    cause = f"made room for {claimant.spec.name} ({claimant.priority.word} priority)"
    spared = [c for c in candidates if c not in chosen]
    for victim in chosen:
        text = because(victim, cause=cause, spared=spared)
        run = fleet.runs[victim.run]
        preempt(fleet, run, because=text, stopped_for=claimant.id)


def _asked_just_now(fleet: Fleet, claimant: Run) -> bool:
    """Looking at everybody costs; the same question is asked again after a second, not sooner."""
    if fleet.asked_room is not None:
        run, at = fleet.asked_room
        if run == claimant.id and fleet.now < at + ASK_AGAIN_S:
            fleet.wake(Timer(at + ASK_AGAIN_S, TimerKind.WAKE, claimant.id))
            return True
    fleet.asked_room = (claimant.id, fleet.now)
    return False


def leaving(fleet: Fleet) -> list[str]:
    """Those being stopped, but for the ones that must be stuck in the kernel by now."""
    since = ((run, fleet.runs[run].state.since_at) for run in fleet.stopping)
    return [run for run, since_at in since if not stuck(fleet, since_at)]


def stuck(fleet: Fleet, stopping_since_at: float) -> bool:
    timeouts = fleet.policy.timeouts
    longest_s = timeouts.checkpoint_grace_s + timeouts.kill_grace_s + timeouts.kill_again_s
    return fleet.now >= stopping_since_at + longest_s


def _candidates(fleet: Fleet, claimant: Run) -> list[Candidate]:
    """Less urgent, later in line, old enough, and not preempted too often already."""
    policy = fleet.policy
    found: list[Candidate] = []
    ripe_at: float | None = None
    for run in fleet.live_runs():
        if isinstance(run.state, Stopping) or run.priority <= claimant.priority or run.spec.away:
            continue
        if (
            _line(run, policy) <= _line(claimant, policy)
            or run.preemptions >= policy.max_preemptions
        ):
            continue
        old_enough_at = run.state.since_at + policy.min_run_s
        if isinstance(run.state, Starting) and old_enough_at <= fleet.now:
            old_enough_at = run.state.give_up_at  # it runs by then, or is given up
        if old_enough_at > fleet.now:
            ripe_at = old_enough_at if ripe_at is None else min(ripe_at, old_enough_at)
            continue
        found.append(as_candidate(fleet, run))
    if ripe_at is not None:
        fleet.wake(Timer(ripe_at, TimerKind.WAKE, claimant.id))
        # Then it may ask again, though it asked a moment ago.
        fleet.asked_room = (claimant.id, min(fleet.now, ripe_at - ASK_AGAIN_S))
    return found


def _line(run: Run, policy: Policy) -> float:
    """The virtual time of the queue: a run that won its place by waiting keeps it."""
    return run.enqueued_at + policy.ageing_s * run.priority


def as_candidate(fleet: Fleet, run: Run) -> Candidate:
    state = run.state
    assert isinstance(state, Starting | Running | Stopping)
    return Candidate(
        run=run.id,
        name=run.spec.name,
        priority=run.priority,
        used_bytes=fleet.demand.used_by(run.id),
        expected_bytes=state.hold.expected_bytes,
        started_at=state.since_at,
        sequence=run.sequence,
        protected=run.preemptions >= fleet.policy.max_preemptions,
    )
