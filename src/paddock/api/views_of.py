"""Core objects as the wire shows them. Looks only; sentences are made here and now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Final, cast

from paddock.core.breaker import Breaker, HalfOpen, Open
from paddock.core.explain import sentence, waiting
from paddock.core.fleet import Fleet
from paddock.core.group import Group
from paddock.core.heartbeat import Heartbeat
from paddock.core.policy import LadderPolicy
from paddock.core.pressure import steps_of
from paddock.core.run import Attempt, Ended, Live, Outcome, Queued, Run, Running, State, StepDone
from paddock.core.steps import goes_on, has_more
from paddock.ports import Move
from paddock.supervisor.clock import Clock
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.news import NewsItem
from paddock.wire.run_request import PriorityWord
from paddock.wire.views import (
    BreakerView,
    FleetView,
    Happening,
    HeartbeatView,
    HostView,
    LearnedView,
    MemoryView,
    MoveView,
    QueueView,
    RunView,
    SilenceView,
    StateWord,
    StatusView,
    StepView,
    Taken,
)

FIRST_IN_LINE: Final = 5  # of the queue, in a status
# A sentence costs 30 times what a place does, and nobody reads the 101st.
SENTENCES: Final = 100
# A use counts as the upper edge of its bin (`core.sizing`), which may lie beyond its own wall.
BIN: Final = 1.03


def state_word(state: State) -> StateWord:
    return cast(StateWord, type(state).__name__.lower())


def taken(fleet: Fleet, run: Run, *, told: bool = True) -> Taken:
    run = fleet.runs.get(run.id, run)  # it may have gone on while others were looked at
    place, why = _in_line(fleet, run, told=told)
    return Taken(
        id=run.id,
        name=run.spec.name,
        state=state_word(run.state),
        place=place,
        waits_for=why,
    )


def run_view(supervisor: Supervisor, run: Run, *, told: bool = True) -> RunView:
    """`told` asks for the sentence of a run that waits."""
    fleet, clock = supervisor.fleet, supervisor.clock
    run = fleet.runs.get(run.id, run)  # it may have gone on while others were looked at
    state = run.state
    place, why = _in_line(fleet, run, told=told)
    ended = state if isinstance(state, Ended) else None
    held = run.id in fleet.demand
    return RunView(
        id=run.id,
        name=run.spec.name,
        state=state_word(state),
        outcome=str(ended.outcome) if ended else None,
        exit_code=ended.exit_code if ended else None,
        priority=cast(PriorityWord, run.priority.word),
        group=run.spec.group,
        attempt=run.attempts,
        memory_bytes=fleet.demand.used_by(run.id) if held else None,
        limit_bytes=run.limit_bytes,
        waits_for=why,
        needs=run.spec.needs,
        place=place,
        sentence=_sentence(fleet, run, why) + unheard(supervisor, run),
        because=ended.because if ended else None,
        submitted_at=clock.wall(run.enqueued_at),
        since_at=clock.wall(state.since_at),
        frozen=str(state.frozen) if isinstance(state, Running) and state.frozen else None,
        peak_bytes=_peak(fleet, run),
        expected_bytes=_expected(fleet, run),
        signal=ended.signal if ended else None,
        step=run.spec.steps[run.steps_done] if has_more(run) else None,
        steps_done=run.steps_done,
        steps=len(run.spec.steps),
        tries=tries_seen(run),
    )


def tries_seen(run: Run) -> int:
    """For people, who count how often it was begun: a step after the one before is no new try."""
    if not run.spec.steps or not run.attempts:
        return run.attempts
    is_over = isinstance(run.state, Ended) and run.state.outcome is not Outcome.SUCCEEDED
    at_its_step = run.live or is_over or goes_on(run)
    done = run.steps_done - run.spec.first_step
    return max(1, run.attempts - done + (0 if at_its_step else 1))


def _peak(fleet: Fleet, run: Run) -> int | None:
    """The largest of all its attempts; of a run from an older store only the last is known."""
    last = fleet.demand.peak_of(run.id) if run.id in fleet.demand else None
    if isinstance(run.state, Ended):
        last = run.state.peak_bytes
    return max(run.peak_bytes, last or 0) or last


def _in_line(fleet: Fleet, run: Run, *, told: bool) -> tuple[int | None, str | None]:
    """Where it stands and what it waits for; nothing for a run that does not wait."""
    if not isinstance(run.state, Queued) or run.id not in fleet.runs:
        return None, None
    if told:
        found = waiting(fleet, run)
        return found.place, found.sentence
    if run.id in (line := fleet.line_of(run)):
        return line.place(run.id, ageing_s=fleet.policy.ageing_s), None
    return None, None


def _sentence(fleet: Fleet, run: Run, waits_for: str | None) -> str:
    if waits_for is not None:
        return waits_for
    return "waits in the queue" if isinstance(run.state, Queued) else sentence(fleet, run)


def unheard(supervisor: Supervisor, run: Run) -> str:
    """What is said of a run may be old, where nobody answers who would know."""
    silent = supervisor.silence.sentence if run.spec.away and run.live else ""
    return f"; {silent}" if silent else ""


def _silent(supervisor: Supervisor) -> SilenceView | None:
    silence = supervisor.silence
    if silence.since_at is None:
        return None
    runs = len(supervisor.fleet.away)
    return SilenceView(since_at=silence.since_at, because=silence.because, runs=runs)


def _expected(fleet: Fleet, run: Run) -> int | None:
    if isinstance(run.state, Live):
        return run.state.hold.expected_bytes
    if isinstance(run.state, Ended):
        return None
    return fleet.demand.typical_bytes(run.spec.sized_as, run.limit_bytes)


def in_order(fleet: Fleet) -> list[Run]:
    """What has not ended: at work first, then as the queue stands, then who waits for others."""
    lines = (fleet.queue, fleet.outbound)
    queue = chain.from_iterable(line.in_order(ageing_s=fleet.policy.ageing_s) for line in lines)
    ids = dict.fromkeys([*fleet.live, *queue])
    first = [fleet.runs[run] for run in ids]
    if len(first) == len(fleet.live) + fleet.waiting:
        return first
    rest = (run for run in fleet.runs.values() if isinstance(run.state, Queued))
    return first + [run for run in rest if run.id not in ids]


def status_view(supervisor: Supervisor) -> StatusView:
    fleet = supervisor.fleet
    first = islice(fleet.queue.in_order(ageing_s=fleet.policy.ageing_s), FIRST_IN_LINE)
    return StatusView(
        host=_host(fleet),
        fleet=FleetView(
            limit_bytes=fleet.policy.wall_bytes,
            expected_bytes=fleet.demand.expected_bytes,
            used_bytes=fleet.demand.sums.used_bytes,
            max_agents=fleet.policy.max_agents,
            max_agents_by=fleet.policy.max_agents_by,
        ),
        counts=_counts(supervisor),
        queue=QueueView(
            waiting=fleet.waiting,
            depth=fleet.policy.queue_depth,
            first=tuple(taken(fleet, fleet.runs[run]) for run in first),
        ),
        breakers=tuple(breakers(fleet, all_of_them=False)),
        heartbeats=tuple(_heartbeat(fleet, each) for each in fleet.heartbeats.values()),
        driver=supervisor.default_driver,
        trouble=supervisor.trouble,
        silent_cluster=_silent(supervisor),
    )


def _host(fleet: Fleet) -> HostView | None:
    host = fleet.host
    if host is None:
        return None
    return HostView(
        total_bytes=host.total_bytes,
        available_bytes=host.available_bytes,
        used_percent=host.used_percent,
        ladder=fleet.ladder.rung.name.lower(),
        because=fleet.ladder.because,
        swap_percent=host.swap_percent,
        rungs=rungs_of(fleet.policy.ladder, host.total_bytes),
    )


def rungs_of(ladder: LadderPolicy, total_bytes: int) -> dict[str, float]:
    """On a small host the floors in bytes are met before the percents are."""
    return {
        rung.name.lower(): round(min(percent, 100.0 - 100.0 * floor / max(total_bytes, 1)), 1)
        for rung, percent, floor in reversed(steps_of(ladder))
    }


def _counts(supervisor: Supervisor) -> dict[str, int]:
    """By state, every state; and by outcome of all the ended that are kept."""
    fleet = supervisor.fleet
    live = Counter(state_word(run.state) for run in fleet.live_runs())
    known = {"queued": fleet.waiting}
    known |= {word: live[word] for word in ("starting", "running", "stopping")}
    known["ended"] = supervisor.outcomes.total()
    return known | supervisor.outcomes


def _heartbeat(fleet: Fleet, each: Heartbeat) -> HeartbeatView:
    return HeartbeatView(
        name=each.name,
        every_s=each.every_s,
        next_in_s=max(0.0, each.next_at - fleet.now),
        beats=each.beats,
        skipped_pressure=each.skipped_pressure,
        skipped_busy=each.skipped_busy,
    )


def breakers(fleet: Fleet, *, all_of_them: bool) -> Iterator[BreakerView]:
    """Those that hold something up, or all whose failures still count."""
    names: dict[str, str] | None = None
    for name, group in fleet.groups.items():
        holds = isinstance(group.breaker, Open | HalfOpen)
        if not holds and not (all_of_them and group.breaker.failed_at):
            continue
        view = breaker_view(fleet, name, group.breaker)
        if holds or view.failures:
            names = last_runs(fleet) if names is None else names
            view.last_run = names.get(name)
            yield view


def breaker_view(fleet: Fleet, group: str, breaker: Breaker) -> BreakerView:
    failures = len(breaker.failed_at)
    match breaker:
        case Open(until_at=until_at):
            left_s = max(0.0, until_at - fleet.now)
            return BreakerView(group=group, state="open", failures=failures, retry_in_s=left_s)
        case HalfOpen(probe=probe):
            return BreakerView(group=group, state="half_open", failures=failures, probe=probe)
        case _:
            since_at = fleet.now - fleet.policy.breaker.window_s
            failures = sum(at > since_at for at in breaker.failed_at)
            return BreakerView(group=group, state="closed", failures=failures)


def last_runs(fleet: Fleet) -> dict[str, str]:
    """By group, the name of the newest that is known; after a restart they are in no order."""
    newest: dict[str, Run] = {}
    for run in fleet.runs.values():
        known = newest.get(run.spec.group)
        if known is None or run.sequence > known.sequence:
            newest[run.spec.group] = run
    return {group: run.spec.name for group, run in newest.items()}


def memory_views(
    fleet: Fleet,
    *,
    cpu_s: Mapping[Attempt, float],
    processes: Mapping[Attempt, int],
    recent_bytes: Callable[[Attempt], tuple[int, ...]] | None = None,
) -> tuple[MemoryView, ...]:
    return tuple(
        MemoryView(
            id=run.id,
            name=run.spec.name,
            group=run.spec.group,
            used_bytes=fleet.demand.used_by(run.id),
            expected_bytes=_expected(fleet, run) or 0,
            limit_bytes=run.limit_bytes,
            soft_limit_bytes=run.soft_limit_bytes,
            peak_bytes=fleet.demand.peak_of(run.id),
            cpu_s=cpu_s.get(run.attempt),
            processes=processes.get(run.attempt),
            recent_bytes=recent_bytes(run.attempt) if recent_bytes else (),
        )
        for run in fleet.live_runs()
    )


def learned_views(fleet: Fleet) -> tuple[LearnedView, ...]:
    known, names = sorted(fleet.groups.items()), last_runs(fleet)
    return tuple(
        _learned(fleet, name, group, names.get(name)) for name, group in known if group.size.ended
    )


def _learned(fleet: Fleet, name: str, group: Group, last_run: str | None) -> LearnedView:
    """Asks the sums, not the model: that one may renew itself when it is asked."""
    size, demand = group.size, fleet.demand
    learned = demand.learned(name)
    largest = max((used for used, _ in size.histogram.sizes()), default=0.0)
    if largest < size.limit_bytes * BIN:
        largest = min(largest, size.limit_bytes)
    return LearnedView(
        group=name,
        attempts=size.ended,
        typical_bytes=demand.typical_bytes(name, size.limit_bytes) if learned else None,
        peak_bytes=int(largest),
        limit_bytes=size.limit_bytes,
        last_run=last_run,
        histogram=tuple((int(used), round(time_s, 3)) for used, time_s in size.histogram.sizes()),
    )


def move_views(clock: Clock, moves: Iterable[Move]) -> tuple[MoveView, ...]:
    return tuple(
        MoveView(
            at=clock.wall(move.at),
            state=move.state,
            attempt=move.attempt,
            because=move.because,
            moves=move.moves,
        )
        for move in moves
    )


def step_views(clock: Clock, steps: Iterable[StepDone], *, of: str) -> tuple[StepView, ...]:
    return tuple(
        StepView(
            step=one.step + 1,
            name=one.name,
            at=clock.wall(one.at),
            attempt=one.attempt,
            exit_code=one.exit_code,
            output_digest=one.output_digest,
            commit=one.commit,
            run=None if one.run == of else one.run,
        )
        for one in steps
    )


def happening(clock: Clock, item: NewsItem) -> Happening:
    run, state = item.change.run, item.change.run.state
    ended = state if isinstance(state, Ended) else None
    return Happening(
        n=item.n,
        at=clock.wall(item.at),
        run=run.id,
        name=run.spec.name,
        state=state_word(state),
        attempt=run.attempts,
        because=item.change.because,
        outcome=str(ended.outcome) if ended else None,
        exit_code=ended.exit_code if ended else None,
    )
