"""A fleet built again from what was remembered, and the actions it still owes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .actions import Action, FreezeAttempt, StartAttempt
from .fleet import Fleet, Group
from .heartbeat import Heartbeat
from .lifecycle import stop_action
from .policy import Policy
from .run import Run, Running, Starting, Stopping


def restore(
    policy: Policy,
    runs: Iterable[Run],
    *,
    groups: Mapping[str, Group] | None = None,
    heartbeats: Iterable[Heartbeat] = (),
    now: float = 0.0,
) -> Fleet:
    """The fleet as it was after the last remembered step; samples and the ladder start anew.

    `groups` become the new fleet's own.
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
    fleet.changes = []
    return fleet


def owed(fleet: Fleet) -> list[Action]:
    """What must be asked for again after a crash: actions may be repeated without harm."""
    found: list[Action] = []
    for run in fleet.live_runs():
        match run.state:
            case Starting(hold=hold):
                found.append(StartAttempt(run.attempt, hold.limit_bytes, resume=run.attempts > 1))
            case Running(frozen=frozen) if frozen is not None:
                found.append(FreezeAttempt(run.attempt))
            case Stopping() as state:
                found.append(stop_action(run.attempt, state))
            case _:
                pass
    return found
