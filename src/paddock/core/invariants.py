"""What must be true of every fleet after every step. Used by tests, chaos and `doctor`.

How many run and what they hold is no part of it: a policy may be lowered under running attempts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from .breaker import lets_start
from .fleet import Fleet
from .run import Ended, Live, Outcome, Queued, Run
from .steps import has_more


def violations(fleet: Fleet) -> list[str]:
    """Empty for a sound fleet; otherwise one line for each thing that is wrong."""
    found = [*_of_indexes(fleet), *_of_projects(fleet), *_of_sums(fleet), *_of_time(fleet)]
    for run in fleet.runs.values():
        found += [f"run {run.id}: {problem}" for problem in _of_run(fleet, run)]
    return found


def _of_run(fleet: Fleet, run: Run) -> Iterator[str]:
    state = run.state
    if isinstance(state, Live) != (run.id in fleet.live):
        yield "live without being known as live, or the other way round"
    if isinstance(state, Live) and state.attempt != run.attempts:
        yield f"attempt {state.attempt} is under way, but {run.attempts} were started"
    yield from _of_steps(run)
    if (isinstance(state, Queued) and state.awaits_place) != (run.id in fleet.placeless):
        yield "waits for a place without being known to, or the other way round"
    if isinstance(state, Queued):
        if state.ready != (run.id in fleet.line_of(run)):
            yield "ready without standing in line, or the other way round"
        for need in state.unmet:
            if run.id not in fleet.dependents.get(need, {}):
                yield f"waits for {need}, which will not tell it"
            elif need not in fleet.runs or isinstance(fleet.runs[need].state, Ended):
                yield f"waits for {need}, which has ended"
    elif run.id in fleet.line_of(run):
        yield "stands in line without being queued"


def _of_steps(run: Run) -> Iterator[str]:
    if not 0 <= run.steps_done <= len(run.spec.steps):
        yield f"{run.steps_done} of {len(run.spec.steps)} steps are done"
    succeeded = isinstance(run.state, Ended) and run.state.outcome is Outcome.SUCCEEDED
    if succeeded and has_more(run):
        yield "succeeded with steps that are not done"


def _of_indexes(fleet: Fleet) -> Iterator[str]:
    queued = sum(1 for run in fleet.runs.values() if isinstance(run.state, Queued))
    if queued != fleet.waiting:
        yield f"{queued} runs are queued, {fleet.waiting} are counted"
    if set(fleet.live) != {run for run in fleet.runs if run in fleet.demand}:
        yield "what is live and what holds memory differ"
    if len(fleet.demand) != len(fleet.live):
        yield f"{len(fleet.live)} are live, {len(fleet.demand)} hold memory"
    if fleet.claimant is not None and fleet.claimant not in fleet.runs:
        yield f"room is being made for {fleet.claimant}, which is unknown"


def _of_projects(fleet: Fleet) -> Iterator[str]:
    live: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for run in fleet.runs.values():
        if run.spec.bounds is not None:
            live[run.spec.bounds.project] += run.live and not run.spec.away
            waiting[run.spec.bounds.project] += isinstance(run.state, Queued)
    for project in live.keys() | fleet.projects.names():
        counted = (fleet.projects.live(project), fleet.projects.waiting(project))
        if counted != (live[project], waiting[project]):
            yield f"project {project}: {counted} live and waiting are counted"
        if fleet.queue.is_held(project) != fleet.projects.is_full(project):
            yield f"project {project}: the queue and its bounds disagree"


def _of_sums(fleet: Fleet) -> Iterator[str]:
    sums = fleet.demand.sums
    used = sum(fleet.demand.used_by(run) for run in fleet.live)
    if used != sums.used_bytes:
        yield f"{used} bytes are used, the sum says {sums.used_bytes}"
    recounted = fleet.demand.recounted()
    modelled, again = (s.modelled_bytes(fleet.policy.sizing) for s in (sums, recounted))
    exact = (sums.fixed_bytes, sums.learned_limit_bytes, sums.learned_used_bytes)
    if exact != (
        recounted.fixed_bytes,
        recounted.learned_limit_bytes,
        recounted.learned_used_bytes,
    ):
        yield "the sums of what is held are not what is held"
    if abs(modelled - again) > 1 + 1e-6 * again:
        yield f"the model's sum drifted from {again:.0f} to {modelled:.0f}"


def _of_time(fleet: Fleet) -> Iterator[str]:
    """Whatever waits for time has a deadline, and none of them has been slept through."""
    next_at = fleet.next_deadline
    for run in fleet.runs.values():
        at = run.state.deadline_at
        if at is not None and (next_at is None or next_at > at):
            yield f"run {run.id} waits until {at}, but nobody will wake it"
    if next_at is not None and next_at <= fleet.now:
        yield f"a deadline at {next_at} is past (now {fleet.now})"
    for name, group in fleet.groups.items():
        lines = (fleet.queue, fleet.outbound)
        if any(line.is_parked(name) == lets_start(group.breaker) for line in lines):
            yield f"the queue and the breaker of {name} disagree"
