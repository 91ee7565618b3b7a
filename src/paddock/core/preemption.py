"""Room for a more urgent run: who is stopped for it, and who is safe from that."""

from __future__ import annotations

from collections.abc import Sequence

from .admission import Demand, Sums
from .fleet import Fleet, Timer, TimerKind
from .lifecycle import stop
from .policy import Policy
from .run import Outcome, Priority, Run, Running, Starting, StopPhase, Stopping
from .victims import Candidate, because, choose


def make_room(fleet: Fleet, claimant: Run) -> None:
    """Stop lesser runs if that lets the claimant in; otherwise nobody is disturbed.

    What is stopping already counts as gone, so a second look does not take more than is needed.
    """
    if claimant.priority is Priority.LOW or fleet.host is None:
        return
    on_their_way = leaving(fleet)

    def enough(chosen: Sequence[Candidate]) -> bool:
        return _would_fit(fleet, claimant, [*on_their_way, *(c.run for c in chosen)])

    if enough([]):
        return  # memory is on its way, or it is not memory that it waits for
    candidates = _candidates(fleet, claimant)
    chosen = choose(candidates, enough)
    if not chosen or not enough(chosen):
        return
    fleet.claimant = claimant.id
    cause = f"made room for {claimant.spec.name} ({claimant.priority.word} priority)"
    spared = [c for c in candidates if c not in chosen]
    for victim in chosen:
        text = because(victim, cause=cause, spared=spared)
        run = fleet.runs[victim.run]
        stop(fleet, run, outcome=Outcome.PREEMPTED, because=text, phase=StopPhase.ASKED)


def leaving(fleet: Fleet) -> list[str]:
    """Those being stopped, but for the ones that must be stuck in the kernel by now."""
    timeouts = fleet.policy.timeouts
    longest_s = timeouts.checkpoint_grace_s + timeouts.kill_grace_s + timeouts.kill_again_s
    stopping = ((run, fleet.runs[run].state.since_at) for run in fleet.stopping)
    return [run for run, since_at in stopping if fleet.now < since_at + longest_s]


def _candidates(fleet: Fleet, claimant: Run) -> list[Candidate]:
    """Less urgent, later in line, old enough, and not preempted too often already."""
    policy = fleet.policy
    found: list[Candidate] = []
    ripe_at: float | None = None
    for run in fleet.live_runs():
        if isinstance(run.state, Stopping) or run.priority <= claimant.priority:
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


def _would_fit(fleet: Fleet, claimant: Run, gone: Sequence[str]) -> bool:
    policy = fleet.policy
    assert fleet.host is not None
    if policy.max_agents is not None and len(fleet.live) - len(gone) >= policy.max_agents:
        return False
    freed = sum(fleet.demand.used_by(run) for run in gone)
    after = _with_claimant(fleet.demand, fleet.demand.without(gone), claimant, policy)
    available = (fleet.host.available_bytes or 0) + freed
    still_to_come = after - (fleet.demand.sums.used_bytes - freed)
    on_host = available - still_to_come >= policy.free_floor_bytes
    return after <= policy.wall_bytes and on_host


def _with_claimant(demand: Demand, sums: Sums, claimant: Run, policy: Policy) -> int:
    one = demand.one(group=claimant.spec.group, limit_bytes=claimant.limit_bytes)
    return sums.plus(one).expected_bytes(policy.sizing)
