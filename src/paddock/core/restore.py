"""A fleet built again from what was remembered, and the actions it still owes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from .actions import Action, FreezeAttempt, ThawAttempt
from .fleet import Fleet
from .group import Group
from .heartbeat import Heartbeat
from .lifecycle import stop_action
from .policy import Policy
from .run import Frozen, Queued, Run, Running, Starting, Stopping
from .steps import start_action

# Whoever ended in good time while nobody looked is heard before its time is over: its driver tells
# it in the first moments, and may take ten seconds over output for which there is no room.
HEARD_WITHIN_S: Final = 15.0


def restore(
    policy: Policy,
    runs: Iterable[Run],
    *,
    groups: Mapping[str, Group] | None = None,
    heartbeats: Iterable[Heartbeat] = (),
    now: float = 0.0,
) -> Fleet:
    """The fleet as it was after the last remembered step; samples and the ladder start anew.

    `groups` become the new fleet's own. The caller then says `continue_after` with the highest
    sequence ever given, and steps a `PolicyChanged` where the policy is another than before: what
    waits may not fit any more.
    """
    fleet = Fleet(policy)
    fleet.now = now
    for name, group in (groups or {}).items():
        fleet.adopt(name, group)
    for heartbeat in heartbeats:
        fleet.set_heartbeat(heartbeat)
    ordered = sorted(runs, key=lambda run: run.sequence)
    for run in ordered:
        fleet.add(run, "remembered")
    _resume_turns(fleet, ordered)
    fleet.changes = []
    for run in ordered:
        if isinstance(run.state, Stopping) and run.state.stopped_for is not None:
            claimant = run.state.stopped_for
            fleet.claimant = claimant if claimant in fleet.queue else fleet.claimant
    return fleet


def with_time_to_be_heard(run: Run, now: float) -> Run:
    """For a daemon that comes late: a deadline that passed meanwhile says nothing yet."""
    state, soonest = run.state, now + HEARD_WITHIN_S
    match state:
        case Starting() if state.give_up_at < soonest:
            return replace(run, state=replace(state, give_up_at=soonest))
        case Running(hard_at=float(hard_at)) if hard_at < soonest:
            return replace(run, state=replace(state, hard_at=soonest))
        case Stopping() if state.deadline_at < soonest:
            return replace(run, state=replace(state, deadline_at=soonest))
        case _:
            return run


def _resume_turns(fleet: Fleet, runs: Sequence[Run]) -> None:
    """Newcomers line up behind the last turn that was served, not in front of everybody."""
    for run in runs:
        if run.attempts:
            fleet.line_of(run).was_served(run.priority, tag=run.tag)
    fresh = [run for run in runs if isinstance(run.state, Queued) and run.tag and not run.attempts]
    last_first = sorted(fresh, key=lambda run: -run.tag)
    for run in {(run.spec.away, run.priority): run for run in last_first}.values():
        fleet.line_of(run).was_served(run.priority, tag=run.tag - 1)


def owed(fleet: Fleet) -> list[Action]:
    """What must be asked for again after a crash: actions may be repeated without harm."""
    found: list[Action] = []
    for run in fleet.live_runs():
        match run.state:
            case Starting(hold=hold):
                found.append(start_action(run, hold.limit_bytes))
            case Running(frozen=None):
                found.append(ThawAttempt(run.attempt))
            case Running(frozen=by):
                found.append(FreezeAttempt(run.attempt, reclaim=by is Frozen.BY_PRESSURE))
            case Stopping() as state:
                # It may still be frozen, and could not hear.
                found += [ThawAttempt(run.attempt), stop_action(run.attempt, state)]
            case _:
                pass
    return found
