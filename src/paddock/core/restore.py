"""A fleet built again from what was remembered, and the actions it still owes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .actions import Action, FreezeAttempt, ThawAttempt
from .fleet import Fleet
from .group import Group
from .heartbeat import Heartbeat
from .lifecycle import stop_action
from .policy import Policy
from .run import Frozen, Queued, Run, Running, Starting, Stopping
from .steps import start_action


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
