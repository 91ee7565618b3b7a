"""Taking runs in: whole submissions, checked before anything of them is kept."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from msgspec.structs import replace

from .actions import Refuse
from .breaker import lets_start
from .fleet import Fleet
from .heartbeat import SHORTEST_S, Heartbeat, beat
from .policy import Policy
from .pressure import Rung
from .run import Outcome, Priority, Queued, Run, RunSpec, outcome_of
from .units import format_size


def submit(fleet: Fleet, specs: Sequence[RunSpec], known: Mapping[str, Outcome]) -> bool:
    """All or nothing: one bad run of a fleet file refuses the file, and nothing is half taken."""
    if all(_known_already(fleet, spec) for spec in specs):
        return True  # the same request again: it was answered before
    problem = _problem(fleet, specs, known)
    if problem is not None:
        name = specs[0].name if len(specs) == 1 else f"{len(specs)} runs"
        fleet.actions.append(Refuse(name, problem))
        return False
    names = {spec.id for spec in specs}
    for spec in specs:
        _take(fleet, spec, {need: known[need] for need in known.keys() - names})
    return True


def _take(fleet: Fleet, spec: RunSpec, known: Mapping[str, Outcome]) -> None:
    outcomes = {need: _outcome(fleet, need, known) for need in spec.needs}
    unmet = frozenset(
        need for need, outcome in outcomes.items() if outcome is not Outcome.SUCCEEDED
    )
    run = Run(
        spec=spec,
        state=Queued(fleet.now, unmet=unmet),
        priority=spec.priority,
        enqueued_at=fleet.now,
        sequence=fleet.next_sequence(),
        tag=0,
        limit_bytes=spec.limit_bytes,
        steps_done=spec.first_step,
        in_doubt=spec.first_in_doubt,
    )
    free = lets_start(fleet.group(spec.group).breaker)
    fleet.add(run, "submitted" if free else f"submitted; the breaker of {spec.group} is open")


def cannot_ever_fit(limit_bytes: int, policy: Policy, *, away: bool = False) -> str | None:
    """Why a run of this size would wait for ever; None when an empty fleet has room for it."""
    most = policy.largest_bytes
    if away or limit_bytes <= most:
        return None
    total, reserve = format_size(policy.total_bytes), format_size(policy.reserve_bytes)
    wall = f"the fleet's wall is {format_size(policy.wall_bytes)}"
    if most < policy.wall_bytes:
        wall, reserve = "the host keeps a floor", format_size(policy.free_floor_bytes)
    return (
        f"its limit of {format_size(limit_bytes)} can never fit: {wall} "
        f"({total} in all less {reserve} for the host); ask for {format_size(most)} or less"
    )


def _problem(fleet: Fleet, specs: Sequence[RunSpec], known: Mapping[str, Outcome]) -> str | None:
    depth = fleet.policy.queue_depth
    if fleet.waiting + len(specs) > depth:
        return (
            f"the queue is full: {fleet.waiting} of {depth} places are taken and "
            f"{len(specs)} are asked for; wait for some to end, or raise queue.depth"
        )
    if (too_many := _too_many_of_a_project(fleet, specs)) is not None:
        return too_many
    names = {spec.id for spec in specs}
    if len(names) < len(specs):
        return "two runs of one submission have the same id"
    for spec in specs:
        problem = _problem_of(fleet, spec, names, known)
        if problem is not None:
            return f"{spec.name}: {problem}"
    return _circle(specs)


def _too_many_of_a_project(fleet: Fleet, specs: Sequence[RunSpec]) -> str | None:
    for bounds, asked in Counter(spec.bounds for spec in specs).items():
        if bounds is None or bounds.waiting is None:
            continue
        taken = fleet.projects.waiting(bounds.project)
        if taken + asked > bounds.waiting:
            return (
                f"its project's queue is full: {taken} of {bounds.waiting} places are taken and "
                f"{asked} are asked for; wait for some to start, or raise queue.depth in "
                f"{bounds.project}"
            )
    return None


def _problem_of(
    fleet: Fleet, spec: RunSpec, names: set[str], known: Mapping[str, Outcome]
) -> str | None:
    malformed = _malformed(spec)
    if malformed is not None:
        return malformed
    if spec.id in fleet.runs:
        return f"there is already a run with the id {spec.id}"
    for need in spec.needs:
        if need in names or (need in fleet.runs and outcome_of(fleet.runs[need]) is None):
            continue
        outcome = _outcome(fleet, need, known)
        if outcome is None:
            return f"it needs {need}, and there is no such run"
        if outcome is not Outcome.SUCCEEDED:
            return f"it needs {fleet.name_of(need)}, which ended as {outcome}"
    return cannot_ever_fit(spec.limit_bytes, fleet.policy, away=spec.away)


def _malformed(spec: RunSpec) -> str | None:
    """What no decision can be made on. Whoever feeds the core checks more kindly before."""
    if not spec.id or not isinstance(spec.priority, Priority):
        return "a run needs an id and one of the four priorities"
    sizes = (spec.limit_bytes, spec.soft_limit_bytes)
    if any(size is not None and size <= 0 for size in sizes):
        return "a memory limit must be above zero"
    times = (spec.hard_timeout_s, spec.soft_timeout_s, spec.repository_factor, spec.simple_s)
    if any(time is not None and not time > 0 for time in times) or spec.retries < 0:
        return "timeouts must be above zero, and retries not below"
    if not 0 <= spec.first_step < max(1, len(spec.steps)):
        return f"there is no step {spec.first_step + 1} of {len(spec.steps)} to go on with"
    return None


def _outcome(fleet: Fleet, run: str, known: Mapping[str, Outcome]) -> Outcome | None:
    if run in fleet.runs:
        return outcome_of(fleet.runs[run])
    return known.get(run)


def _circle(specs: Sequence[RunSpec]) -> str | None:
    if not any(spec.needs for spec in specs):
        return None
    names = {spec.id: spec.name for spec in specs}
    needs = {spec.id: [need for need in spec.needs if need in names] for spec in specs}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return f"these need each other in a circle: {' → '.join(names[run] for run in circle)}"
    return None


def _known_already(fleet: Fleet, spec: RunSpec) -> bool:
    return spec.id in fleet.runs and fleet.runs[spec.id].spec == spec


def declare_heartbeat(fleet: Fleet, template: RunSpec, *, every_s: float) -> None:
    if not SHORTEST_S <= every_s < math.inf:
        text = f"a heartbeat every {every_s:g} s cannot be kept; the shortest is {SHORTEST_S:g} s"
        fleet.actions.append(Refuse(template.name, text))
        return
    problem = cannot_ever_fit(template.limit_bytes, fleet.policy, away=template.away)
    if problem is not None:
        fleet.actions.append(Refuse(template.name, problem))
        return
    old = fleet.heartbeats.get(template.id)
    if old is not None:
        next_at = min(old.next_at, fleet.now + every_s)
        fleet.set_heartbeat(replace(old, template=template, every_s=every_s, next_at=next_at))
    else:
        new = Heartbeat(template, every_s, fleet.now + every_s, last_run=_beating(fleet, template))
        fleet.set_heartbeat(new)


def _beating(fleet: Fleet, template: RunSpec) -> str | None:
    """A run of a heartbeat of that name that was removed while it ran."""
    runs = (run for run in fleet.runs.values() if run.spec.heartbeat == template.id)
    return next((run.id for run in runs if outcome_of(run) is None), None)


def heartbeat_due(fleet: Fleet, name: str) -> None:
    heartbeat = fleet.heartbeats[name]
    last = fleet.runs.get(heartbeat.last_run or "")
    busy = last is not None and outcome_of(last) is None
    full = fleet.waiting >= fleet.policy.queue_depth
    full = full or _too_many_of_a_project(fleet, (heartbeat.template,)) is not None
    pressed = full or (fleet.ladder.rung >= Rung.SKIP_LOW and not heartbeat.template.away)
    after, spec = beat(heartbeat, at=fleet.now, pressed=pressed, busy=busy)
    if spec is not None and not submit(fleet, (spec,), {}):
        after, _ = beat(heartbeat, at=fleet.now, pressed=True, busy=busy)
    fleet.set_heartbeat(after)
