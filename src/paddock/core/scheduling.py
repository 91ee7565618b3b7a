"""Which waiting runs start now: in order, with bounded passing, and room made for the urgent."""

from __future__ import annotations

from . import preemption
from .admission import Fit
from .fleet import Fleet
from .lifecycle import start
from .pressure import Rung
from .run import Priority, Run


def schedule(fleet: Fleet) -> None:
    """Start everything that may start, if anything happened that could let one start."""
    if fleet.claimant is not None and fleet.claimant not in fleet.queue:
        fleet.claimant = None
    if not fleet.queue or not _more_room(fleet):
        return
    while fleet.ladder.rung < Rung.QUEUE and _start_one(fleet):
        pass


def _more_room(fleet: Fleet) -> bool:
    """Whether there is more room than when nobody could start; `stir` forgets that look."""
    if fleet.last_look is None:
        return True
    expected, free = fleet.last_look
    return fleet.demand.expected_bytes < expected or _free_of_agents(fleet) > free


def _free_of_agents(fleet: Fleet) -> int:
    """Free if the fleet were not there: what an agent takes of its promise changes nothing."""
    available = fleet.host.available_bytes if fleet.host else None
    return (available or 0) + fleet.demand.sums.used_bytes


def _start_one(fleet: Fleet) -> bool:
    """Start the first that may; False when nobody can."""
    policy = fleet.policy
    head: Run | None = None
    head_fit: Fit | None = None
    failed: set[tuple[str, int, bool]] = set()  # same group, same limit: same answer
    order = fleet.queue.in_order(ageing_s=policy.ageing_s, above=_above(fleet))
    for looked_at, run_id in enumerate(order):
        if looked_at >= policy.backfill_depth:
            break
        run = fleet.runs[run_id]
        shape = (run.spec.group, run.limit_bytes, run.priority < Priority.NORMAL)
        if shape in failed:
            fits = None
        else:
            fits = _fits(fleet, run)
            if fits is None:
                return False
            if fits:
                start(fleet, run, need_bytes=fits.need_bytes)
                return True
            failed.add(shape)
        if head is None:
            head, head_fit = run, fits
            fleet.blocked_since.setdefault(run_id, fleet.now)
        if _holds_the_door(fleet, run_id):
            break
    _remember_look(fleet, head_fit)
    if head is not None:
        preemption.make_room(fleet, head)
    return False


def _above(fleet: Fleet) -> Priority | None:
    """The priority from which on nobody can start, whoever it is; None when all may."""
    if fleet.demand.sums.guaranteed_bytes >= fleet.policy.wall_bytes:
        # Full already by everybody's limits: only learned sizes can let anybody in.
        if not fleet.may_overcommit(Priority.CRITICAL):
            return Priority.CRITICAL
        if not fleet.may_overcommit(Priority.NORMAL):
            return Priority.NORMAL
    return Priority.LOW if fleet.ladder.rung >= Rung.SKIP_LOW else None


def _fits(fleet: Fleet, run: Run) -> Fit | None:
    fits = fleet.fit(run)
    if fits is not None and _full(fleet):
        return Fit(fits.need_bytes, max(1, fits.wall_short_bytes), fits.host_short_bytes)
    return fits


def _full(fleet: Fleet) -> bool:
    return fleet.policy.max_agents is not None and len(fleet.live) >= fleet.policy.max_agents


def _holds_the_door(fleet: Fleet, run: str) -> bool:
    """Others passed it for long enough, or are being stopped for it: nobody passes any more."""
    if run == fleet.claimant:
        return True
    since_at = fleet.blocked_since.get(run)
    return since_at is not None and fleet.now - since_at >= fleet.policy.backfill_s


def _remember_look(fleet: Fleet, head_fit: Fit | None) -> None:
    if fleet.host is None:
        return
    free = _free_of_agents(fleet)
    if head_fit is not None and head_fit.host_short_bytes <= 0:
        free = 2 * fleet.host.total_bytes  # more free memory would not have helped
    fleet.last_look = (fleet.demand.expected_bytes, free)
