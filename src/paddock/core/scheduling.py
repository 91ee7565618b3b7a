"""Which waiting runs start now: in order, with bounded passing, and room made for the urgent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from . import preemption
from .admission import Fit
from .fleet import Fleet
from .lifecycle import start
from .pressure import Rung
from .run import Priority, Run


def schedule(fleet: Fleet) -> None:
    """Start everything that may start, if anything happened that could let one start."""
    if not fleet.queue or not _more_room(fleet) or fleet.ladder.rung >= Rung.QUEUE:
        return
    _serve_claimant(fleet)
    while _start_one(fleet):
        pass


def _serve_claimant(fleet: Fleet) -> None:
    """Whoever others were stopped for comes first, and keeps the claim while they are leaving."""
    run = fleet.runs.get(fleet.claimant or "")
    if run is None or not fleet.queue.may_start(run.id):
        fleet.claimant = None
        return
    fits = _fits(fleet, run)
    if fits:
        start(fleet, run, need_bytes=fits.need_bytes)
    if fits or not preemption.leaving(fleet):
        fleet.claimant = None


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
    """Start the first that may; False when nobody can, and then room is made for the urgent."""
    blocked: list[Run] = []
    head_fit: Fit | None = None
    failed: set[tuple[str, int, bool]] = set()  # the same shape gets the same answer
    for run in _in_turn(fleet):
        shape = (run.spec.group, run.limit_bytes, run.priority < Priority.NORMAL)
        if shape not in failed:
            fits = _fits(fleet, run)
            if fits is None:
                return False
            if fits:
                start(fleet, run, need_bytes=fits.need_bytes)
                return True
            failed.add(shape)
            head_fit = fits if head_fit is None else head_fit
        blocked.append(run)
        if _holds_the_door(fleet, run):
            break
    _remember_look(fleet, head_fit)
    if blocked:
        fleet.blocked_since.setdefault(blocked[0].id, fleet.now)
        preemption.make_room(fleet, min(blocked, key=lambda run: run.priority))
    return False


def _in_turn(fleet: Fleet) -> Iterator[Run]:
    """Who is looked at, most entitled first.

    What comes free while room is being made is the claimant's: only who is both before it in line
    and more urgent may start meanwhile.
    """
    order = fleet.queue.in_order(ageing_s=fleet.policy.ageing_s, above=_above(fleet))
    claimant = fleet.runs[fleet.claimant] if fleet.claimant is not None else None
    for run_id in islice(order, fleet.policy.backfill_depth):
        run = fleet.runs[run_id]
        if claimant is None or run.priority < claimant.priority:
            yield run
        if run is claimant:
            return


def _above(fleet: Fleet) -> Priority | None:
    """The priority from which on nobody can start, whoever it is; None when all may."""
    sums = fleet.demand.sums
    if sums.learned_limit_bytes and sums.guaranteed_bytes >= fleet.policy.wall_bytes:
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


def _holds_the_door(fleet: Fleet, run: Run) -> bool:
    """Others passed it for long enough: from now on what comes free is kept for it.

    Not for one that would not fit a fleet of its own, because others use the host: it would hold
    everybody up and gain nothing.
    """
    since_at = fleet.blocked_since.get(run.id)
    if since_at is None or fleet.now - since_at < fleet.policy.backfill_s:
        return False
    return run.limit_bytes <= _free_of_agents(fleet) - fleet.policy.free_floor_bytes


def _remember_look(fleet: Fleet, head_fit: Fit | None) -> None:
    if fleet.host is None:
        return
    free = _free_of_agents(fleet)
    if head_fit is not None and head_fit.host_short_bytes <= 0:
        free = 2 * fleet.host.total_bytes  # more free memory would not have helped
    fleet.last_look = (fleet.demand.expected_bytes, free)
