"""What one change of a run was, for whoever counts: a wall, a quota, a preemption, a freeze."""

from __future__ import annotations

from typing import Final

from paddock.core.fleet import Change
from paddock.core.policy import Policy
from paddock.core.retry import AT_FLEET_WALL
from paddock.core.run import Ended, Frozen, Live, Outcome, Queued, Running, State, Stopping
from paddock.core.submission import cannot_ever_fit

OVER_QUOTA: Final = "exceeded quota"  # as every API server says it


def hit_own_wall(change: Change) -> bool:
    """An attempt that ended because it went over its own limit, tried again or not."""
    state, before = change.run.state, change.before
    if not isinstance(before, Live):
        return False
    if isinstance(state, Ended):
        return state.outcome is Outcome.MEMORY_LIMIT_EXCEEDED and not hit_fleet_wall(change)
    return isinstance(state, Queued) and change.run.limit_bytes > before.hold.limit_bytes


def hit_fleet_wall(change: Change) -> bool:
    ended = isinstance(change.before, Live) and not change.run.live
    return ended and AT_FLEET_WALL in change.because


def failed_at_quota(change: Change, policy: Policy) -> bool:
    """A run that is over because of a limit that it shares with others, not for one of its own."""
    run, state = change.run, change.run.state
    if not isinstance(state, Ended):
        return False
    match state.outcome:
        case Outcome.MEMORY_LIMIT_EXCEEDED:
            return hit_fleet_wall(change)
        case Outcome.REFUSED:  # taken, and then the limits were lowered
            return cannot_ever_fit(run.limit_bytes, policy, away=run.spec.away) is not None
        case Outcome.SPAWN_FAILED:
            return OVER_QUOTA in state.because
        case _:
            return False


def was_preempted(change: Change) -> bool:
    before = change.before
    stopped = isinstance(before, Stopping) and before.outcome is Outcome.PREEMPTED
    return stopped and isinstance(change.run.state, Queued)


def was_frozen(change: Change) -> bool:
    """By pressure, now."""
    return is_pressed(change.run.state) and not is_pressed(change.before)


def is_pressed(state: State | None) -> bool:
    return isinstance(state, Running) and state.frozen is Frozen.BY_PRESSURE
