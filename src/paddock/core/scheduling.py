"""Which waiting runs start now: in order, with bounded passing, and room made for the urgent."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from msgspec.structs import replace

from . import preemption
from .admission import Fit
from .fleet import Fleet
from .lifecycle import start
from .pressure import Rung, waits_from
from .run import Frozen, Priority, Queued, Run, Running, Stopping

_NO_PLACE: Final = Fit(0, wall_short_bytes=1, host_short_bytes=0)


def schedule(fleet: Fleet) -> None:
    """Start everything that may start, if anything happened that could let one start."""
    _send_away(fleet)
    if not fleet.queue or not _more_room(fleet) or fleet.ladder.rung >= Rung.QUEUE:
        return
    if fleet.takes_turns and fleet.pressed:
        return  # who waits inside comes before who waits outside
    if fleet.claimant is not None:
        _serve_claimant(fleet, fleet.runs[fleet.claimant])
    while _start_one(fleet):
        pass


def _send_away(fleet: Fleet) -> None:
    """Those who take nothing of this host start however hard it is pressed; their driver says where
    they do not fit. But not before anybody has looked: until then drivers find what they have."""
    may = fleet.host is not None and fleet.policy.max_agents != 0  # 0: the fleet is halted
    while may and (run := next(fleet.outbound.in_order(ageing_s=fleet.policy.ageing_s), None)):
        start(fleet, fleet.runs[run])


def _serve_claimant(fleet: Fleet, run: Run) -> None:
    """Whoever others were stopped for comes first, and keeps the claim while they are leaving."""
    waits = waits_from(fleet.ladder.rung)  # its priority may have been lowered meanwhile
    may = fleet.queue.may_start(run.id) and (waits is None or run.priority < waits)
    if may and _fits(fleet, run):
        start(fleet, run)
    elif not may or not preemption.leaving(fleet):
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
    host_short = False
    failed: set[tuple[str, int, bool]] = set()  # the same shape gets the same answer
    # No place for anybody, and nobody more urgent behind the first: the others change nothing.
    first_only = _full(fleet) and fleet.queue.is_of_one_priority
    fleet.door = None
    for run in _in_turn(fleet):
        urgent = run.priority < Priority.NORMAL
        shape = (run.spec.sized_as, run.limit_bytes, urgent)
        if shape not in failed:
            fits = _fits(fleet, run)
            if fits is None:
                return False
            if fits:
                start(fleet, run)
                return True
            failed.add(shape)
            host_short = host_short or fits.host_short_bytes > 0
        blocked.append(run)
        if _holds_the_door(fleet, run):
            fleet.door = run.id
            break
        if first_only and not run.spec.lacks_program:
            break
    if blocked and not _full(fleet):
        _pass_by(fleet, blocked[0])
    _remember_look(fleet, host_short=host_short)
    worth = [run for run in blocked if not run.spec.lacks_program]
    if worth:
        preemption.make_room(fleet, min(worth, key=lambda run: run.priority))
    return False


def _pass_by(fleet: Fleet, head: Run) -> None:
    """From now on others may pass it, for so long. (In a full fleet nobody passes anybody.)"""
    if isinstance(head.state, Queued) and head.state.passed_since_at is None:
        passed = replace(head.state, passed_since_at=fleet.now)
        fleet.amend(head, "first in line and does not fit; others may pass", state=passed)


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
    return waits_from(fleet.ladder.rung)


def _fits(fleet: Fleet, run: Run) -> Fit | None:
    return _NO_PLACE if _full(fleet) else fleet.fit(run)


def _full(fleet: Fleet) -> bool:
    return fleet.policy.max_agents is not None and fleet.here >= fleet.policy.max_agents


def _holds_the_door(fleet: Fleet, run: Run) -> bool:
    """Others passed it for long enough: from now on what comes free is kept for it.

    Not for one that would not fit when all are gone that have an end in sight: because others
    use the host, or because of runs without a timeout. It would hold up everybody for nothing.
    """
    assert isinstance(run.state, Queued)
    since_at = run.state.passed_since_at
    if since_at is None or fleet.now - since_at < fleet.policy.backfill_s:
        return False
    ending = [each.id for each in fleet.live_runs() if _has_an_end(fleet, each)]
    return bool(fleet.fit(run, gone=fleet.demand.of(ending)))


def _has_an_end(fleet: Fleet, run: Run) -> bool:
    match run.state:
        case Running(hard_at=hard_at, frozen=frozen):
            return hard_at is not None and frozen is not Frozen.BY_USER
        case Stopping(since_at=since_at):
            return not preemption.stuck(fleet, since_at)
        case _:
            return True


def _remember_look(fleet: Fleet, *, host_short: bool) -> None:
    """What must change before it is worth looking again; a held door is looked at each time."""
    if fleet.host is None or fleet.door is not None:
        return
    # Where nobody was short of the host's memory, more of that would not have helped.
    free = _free_of_agents(fleet) if host_short else 2 * fleet.host.total_bytes
    fleet.last_look = (fleet.demand.expected_bytes, free)
