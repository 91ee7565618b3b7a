"""Why a run waits, where it stands and how it ended: sentences, made only when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from .admission import Fit
from .breaker import HalfOpen, Open
from .fleet import Fleet
from .policy import Policy
from .pressure import Rung, waits_from
from .run import Ended, Queued, Run, Running, Starting, Stopping
from .units import format_duration, format_size


@dataclass(frozen=True, slots=True)
class Waiting:
    place: int | None  # 1 is next; None while it does not stand in line
    sentence: str


def waiting(fleet: Fleet, run: Run) -> Waiting:
    """Why a queued run does not run yet, with the numbers."""
    state = run.state
    assert isinstance(state, Queued)
    if state.unmet:
        needs = [need for need in run.spec.needs if need in state.unmet]
        return Waiting(None, f"waits for {_names(fleet, needs)} to succeed")
    if state.awaits_place:
        return Waiting(None, f"waits for a workspace: {state.because}")
    if state.not_before_at is not None:
        left = format_duration(max(0.0, state.not_before_at - fleet.now))
        return Waiting(None, f"tried again in {left} ({state.because})")
    place = fleet.line_of(run).place(run.id, ageing_s=fleet.policy.ageing_s)
    alone = "; nobody is stopped for it, as its program was not found"
    return Waiting(place, _in_line(fleet, run, place) + (alone if run.spec.lacks_program else ""))


def sentence(fleet: Fleet, run: Run) -> str:
    """One sentence for whatever state a run is in."""
    state = run.state
    match state:
        case Queued():
            return waiting(fleet, run).sentence
        case Starting():
            return f"starting for {format_duration(fleet.now - state.since_at)}{_at_step(run)}"
        case Running():
            still_s = fleet.now - state.frozen_at if state.frozen else 0.0
            still = f", frozen by {state.frozen} for {format_duration(still_s)}"
            ran = format_duration(fleet.now - state.since_at - state.paused_s - still_s)
            return f"running for {ran}{_at_step(run)}{still if state.frozen else ''}"
        case Stopping():
            return f"stopping ({state.phase.name.lower()}): {state.because}"
        case Ended():
            return f"{state.outcome}: {state.because}"
        case _:
            assert_never(state)


def _at_step(run: Run) -> str:
    names, done = run.spec.steps, run.steps_done
    return f", step {done + 1} of {len(names)} ({names[done]})" if done < len(names) else ""


def _in_line(fleet: Fleet, run: Run, place: int) -> str:
    at_place = f"at place {place} in the queue"
    blocked = _held_back(fleet, run.spec.group) or _blocked(fleet, run) or _bound(fleet, run)
    if blocked is not None:
        return f"{at_place}: {blocked}"
    limit = fleet.policy.max_agents
    if limit is not None and fleet.here >= limit:
        return f"{at_place}: {_all_at_work(fleet.policy)}"
    behind = _behind(fleet, run)
    fits = fleet.fit(run)
    if fits is None:
        return f"{at_place}: the host's memory could not be read of late"
    if fits:
        return f"{at_place}: there is room, {_kept_for(fleet) or behind or 'and it is next'}"
    need, short = format_size(fits.need_bytes), format_size(fits.short_bytes)
    behind = f", {behind}" if behind else ""
    return f"{at_place}: needs {need}, {short} short{behind} ({_sum(fleet, fits)})"


def _all_at_work(policy: Policy) -> str:
    """With who set the number and what would raise it, where that is known."""
    limit, known = policy.max_agents, (policy.max_agents_by, policy.more_agents_by)
    agents = "the one agent allowed is" if limit == 1 else f"all {limit} agents allowed at once are"
    why = "; ".join(part for part in known if part)
    return f"{agents} at work ({why})" if why else f"{agents} at work"


def _bound(fleet: Fleet, run: Run) -> str | None:
    """By its own project."""
    bounds = run.spec.bounds
    if bounds is None or not fleet.projects.is_full(bounds.project):
        return None
    limit = fleet.projects.agents(bounds.project)
    agents = "the one agent" if limit == 1 else f"all {limit} agents"
    verb = "is" if limit == 1 else "are"
    rule = f"performance.max_concurrent_agents or the profile in {bounds.project}"
    return f"{agents} that its project allows at once {verb} at work ({rule})"


def _kept_for(fleet: Fleet) -> str | None:
    """Whom the free memory is kept for, if for anybody."""
    if fleet.claimant is not None:
        return f"kept for {_names(fleet, [fleet.claimant])}, for whom others are being stopped"
    if fleet.door is not None:
        return f"kept for {_names(fleet, [fleet.door])}, which was passed for long enough"
    return None


def _sum(fleet: Fleet, fits: Fit) -> str:
    wall, agents = format_size(fleet.policy.wall_bytes), fleet.here
    if fits.by_limits:
        limits = format_size(fleet.demand.sums.guaranteed_bytes)
        why = "while the CPUs are short or the last starts settle"
        return f"the limits of {agents} at work are {limits} of the fleet's {wall}, and count {why}"
    if fits.wall_short_bytes >= fits.host_short_bytes:
        held = format_size(fleet.demand.expected_bytes)
        return f"{agents} at work are expected to need {held} of the fleet's {wall}"
    assert fleet.host is not None
    free = format_size(fleet.host.available_bytes or 0)
    floor = format_size(fleet.policy.floor_bytes)
    return f"the host has {free} free, part of it promised, and keeps {floor}"


def _blocked(fleet: Fleet, run: Run) -> str | None:
    """What stands in the way whatever the memory."""
    if run.spec.away:
        return "it lives on other machines, and starts as soon as anything may"
    rung = fleet.ladder.rung
    if rung >= Rung.QUEUE:
        return f"nothing starts under pressure: {fleet.ladder.because}"
    waits = waits_from(rung)
    if waits is not None and run.priority >= waits:
        return f"{run.priority.word} priority waits under pressure: {fleet.ladder.because}"
    if fleet.takes_turns and fleet.pressed:
        return "agents in a burst take turns, and nothing starts while one of them waits"
    return None


def _held_back(fleet: Fleet, group: str) -> str | None:
    """By its breaker, with the way out: a failure may be an ordinary result, as of tests."""
    breaker = fleet.group(group).breaker
    now = f"or now, after `paddock breaker reset {repr(group) if ' ' in group else group}`"
    if isinstance(breaker, Open):
        left, failed = format_duration(max(0.0, breaker.until_at - fleet.now)), breaker.failed_at
        failures = f"{len(failed)} failure{'s'[: len(failed) != 1]}"
        return f"the breaker of {group} is open after {failures}; one probe in {left}, {now}"
    if isinstance(breaker, HalfOpen) and breaker.probe is not None:
        return f"the breaker of {group} lets one probe run first ({breaker.probe}), {now}"
    return None


def _behind(fleet: Fleet, run: Run) -> str:
    names = fleet.queue.ahead_of(run.id, most=2)
    place = fleet.queue.place(run.id, ageing_s=fleet.policy.ageing_s)
    if not names:
        return f"behind {place - 1} more urgent" if place > 1 else ""
    more = f" and {place - 1 - len(names)} more" if place - 1 > len(names) else ""
    return f"behind {_names(fleet, names)}{more}"


def _names(fleet: Fleet, runs: list[str]) -> str:
    return " and ".join(map(fleet.name_of, runs))
