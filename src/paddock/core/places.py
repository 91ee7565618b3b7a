"""Runs that could not begin because there was no place for them to work in."""

from __future__ import annotations

from msgspec.structs import replace

from . import breaker as breakers
from .events import StartPutOff
from .fleet import Fleet
from .run import Queued, Run


def put_off(fleet: Fleet, run: Run, why: StartPutOff) -> None:
    """Back in line as if nothing had been: no attempt, no failure, no loss."""
    not_before_at = fleet.now + why.retry_s if why.retry_s > 0 else None
    awaits = why.awaits_place and not_before_at is not None
    waits = Queued(fleet.now, not_before_at, because=why.reason, awaits_place=awaits)
    fleet.move(run, waits, why.reason, attempts=run.attempts - 1)
    # If it was to show that its group works again, another may.
    breaker = breakers.after_nothing(fleet.group(run.spec.group).breaker, run=run.id)
    fleet.set_breaker(run.spec.group, breaker)


def freed(fleet: Fleet, count: int) -> None:
    """As many as there are places now, in the order in which they would be served."""
    runs = (fleet.runs[run] for run in fleet.placeless)
    waiting = sorted(runs, key=lambda run: _turn(fleet, run))
    for run in waiting[: max(0, count)]:
        assert isinstance(run.state, Queued)
        ready = replace(run.state, not_before_at=None, awaits_place=False)
        fleet.move(run, ready, "there may be a workspace for it now")


def _turn(fleet: Fleet, run: Run) -> tuple[float, int, int]:
    """As between the heads of the queue."""
    at = run.enqueued_at + fleet.policy.ageing_s * run.priority
    return at, run.priority, run.sequence
