"""One event in, actions out: the only way a fleet changes.

Deterministic, and touches nothing but the fleet it is handed: no clock, no I/O, no logging. What
changed is in `fleet.changes` until the next step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, assert_never, cast, get_args

from msgspec.structs import replace

from . import breaker as breakers
from . import places
from .actions import Action, Refuse
from .events import (
    AttemptLost,
    BreakerReset,
    CancelRequested,
    CheckpointDeclined,
    CheckpointWritten,
    Emptied,
    Event,
    Exited,
    FreezeRequested,
    HeartbeatDeclared,
    HeartbeatRemoved,
    Host,
    LimitPassed,
    Noticed,
    PlacesFreed,
    PolicyChanged,
    PriorityChanged,
    RepositoryWeighed,
    Sampled,
    SpawnFailed,
    Started,
    StartPutOff,
    StartTakesLonger,
    StopFound,
    Submitted,
    ThawRequested,
    TimePassed,
)
from .fleet import Fleet
from .freezing import freeze, thaw
from .lifecycle import (
    end_queued,
    exited,
    gone,
    press_harder,
    spawn_failed,
    started,
    stop,
    takes_longer,
    timer_rang,
)
from .policy import Policy
from .pressure import climb
from .relief import relieve
from .run import (
    Attempt,
    Ended,
    Frozen,
    Outcome,
    Priority,
    Queued,
    Run,
    Running,
    Starting,
    StopPhase,
    Stopping,
)
from .scheduling import schedule
from .submission import cannot_ever_fit, declare_heartbeat, heartbeat_due, submit
from .timers import TimerKind
from .units import format_size


def step(fleet: Fleet, event: Event) -> list[Action]:
    fleet.changes = []
    fleet.actions = []
    fleet.steps_done = []
    if fleet.now < event.at < math.inf:
        fleet.now = event.at
    _handle(fleet, event)
    _time_passed(fleet)
    schedule(fleet)
    return fleet.actions


AttemptEvent = (
    Started
    | SpawnFailed
    | StartPutOff
    | StartTakesLonger
    | RepositoryWeighed
    | Exited
    | Emptied
    | AttemptLost
    | StopFound
    | LimitPassed
    | Noticed
    | CheckpointWritten
    | CheckpointDeclined
)
Request = CancelRequested | PriorityChanged | FreezeRequested | ThawRequested
FleetEvent = (
    Submitted
    | Sampled
    | TimePassed
    | PlacesFreed
    | BreakerReset
    | HeartbeatDeclared
    | HeartbeatRemoved
    | PolicyChanged
)


# By class: to find out that a struct is none of fifteen takes `isinstance` 7 us.
_OF_ATTEMPTS: Final = frozenset(get_args(AttemptEvent))
_REQUESTS: Final = frozenset(get_args(Request))


def _handle(fleet: Fleet, event: Event) -> None:
    if type(event) in _OF_ATTEMPTS:
        _of_attempt(fleet, cast(AttemptEvent, event))
    elif type(event) in _REQUESTS:
        _request(fleet, cast(Request, event))
    else:
        _of_fleet(fleet, cast(FleetEvent, event))


def _of_fleet(fleet: Fleet, event: FleetEvent) -> None:
    match event:
        case Submitted():
            submit(fleet, event.specs, event.known)
        case Sampled():
            _sampled(fleet, event.host, event.used)
        case TimePassed():
            pass  # due timers ring after every event
        case PlacesFreed():
            places.freed(fleet, event.count)
        case BreakerReset():
            _reset_breaker(fleet, event.group)
        case HeartbeatDeclared():
            declare_heartbeat(fleet, event.template, every_s=event.every_s)
        case HeartbeatRemoved():
            _remove_heartbeat(fleet, event.name)
        case PolicyChanged():
            _change_policy(fleet, event.policy)
        case _:
            assert_never(event)


def _of_attempt(fleet: Fleet, event: AttemptEvent) -> None:
    run = _live(fleet, event.attempt)
    if run is None:
        return  # an older attempt, or one that is over: it changes nothing
    match event:
        case Started() | SpawnFailed() | StartPutOff() | StartTakesLonger() | RepositoryWeighed():
            _of_start(fleet, run, event)
        case Exited():
            exited(fleet, run, event.exit, empty=event.empty)
        case Emptied():
            gone(fleet, run, reason="its processes are gone, and no exit was seen")
        case AttemptLost():
            gone(fleet, run, reason=event.reason, permanent=event.permanent)
        case StopFound():
            because, killed = event.because, StopPhase.KILLED
            stop(fleet, run, outcome=event.outcome, because=because, phase=killed)
        case LimitPassed():
            _over_limit(fleet, run, event.reason)
        case Noticed():
            fleet.amend(run, event.note)
        case CheckpointWritten() | CheckpointDeclined():
            _wait_no_longer(fleet, run)
        case _:
            assert_never(event)


Beginning = Started | SpawnFailed | StartPutOff | StartTakesLonger | RepositoryWeighed


def _of_start(fleet: Fleet, run: Run, event: Beginning) -> None:
    match event:
        case Started():
            started(fleet, run)
        case SpawnFailed():
            spawn_failed(fleet, run, reason=event.reason, permanent=event.permanent)
        case StartPutOff():
            _put_off(fleet, run, event)
        case StartTakesLonger():
            takes_longer(fleet, run, because=event.because)
        case RepositoryWeighed():
            _weighed(fleet, run, event.factor)


def _put_off(fleet: Fleet, run: Run, event: StartPutOff) -> None:
    if not isinstance(run.state, Starting):
        gone(fleet, run, reason=event.reason)  # it was stopped meanwhile
        return
    places.put_off(fleet, run, event)


def _weighed(fleet: Fleet, run: Run, factor: float) -> None:
    """Before it runs: a timeout that has begun stays what it is."""
    if isinstance(run.state, Starting) and factor > run.repository_factor:
        text = f"a large repository: a timeout that nobody set is {factor:g} times as long"
        fleet.amend(run, text, repository_factor=factor)


def _wait_no_longer(fleet: Fleet, run: Run) -> None:
    if isinstance(run.state, Stopping) and run.state.phase is StopPhase.ASKED:
        press_harder(fleet, run)


def _live(fleet: Fleet, attempt: Attempt) -> Run | None:
    run = fleet.runs.get(attempt.run)
    if run is None or not run.live or run.attempts != attempt.number:
        return None
    return run


def _over_limit(fleet: Fleet, run: Run, because: str) -> None:
    outcome = Outcome.MEMORY_LIMIT_EXCEEDED
    stop(fleet, run, outcome=outcome, because=because, phase=StopPhase.TOLD)


def _sampled(fleet: Fleet, host: Host, used: Mapping[Attempt, int]) -> None:
    fleet.demand.stride.look(at=fleet.now)
    for attempt, used_bytes in used.items():
        run = _live(fleet, attempt)
        if run is None or run.spec.away:
            continue
        fleet.sample(run, max(0, used_bytes))
        soft = run.soft_limit_bytes
        if soft is not None and used_bytes > soft and not isinstance(run.state, Stopping):
            text = f"used {format_size(used_bytes)}, over its soft limit of {format_size(soft)}"
            _over_limit(fleet, run, text)
    fleet.looked(_readable(_paced(fleet, host)))
    before = fleet.ladder.rung
    assert fleet.host is not None
    fleet.ladder = climb(fleet.ladder, fleet.host, fleet.policy.ladder, at=fleet.now)
    if fleet.ladder.rung != before:
        fleet.stir()
    relieve(fleet)


def _paced(fleet: Fleet, host: Host) -> Host:
    """What the runs themselves tell; an empty host is not slow, whatever the last ones took."""
    slowdown = fleet.pace.slowdown(fleet.now) if fleet.here else 1.0
    return host if slowdown <= host.slowdown else replace(host, slowdown=slowdown)


def _readable(host: Host) -> Host:
    """A figure that is no number counts as one that could not be read: fail closed."""
    figures = (host.used_percent, host.available_bytes)
    if all(figure is None or math.isfinite(figure) for figure in figures):
        return host
    return replace(host, used_percent=None, available_bytes=None)


def _time_passed(fleet: Fleet) -> None:
    for timer in fleet.due():
        match timer.kind:
            case TimerKind.RUN:
                timer_rang(fleet, fleet.runs[timer.key])
            case TimerKind.BREAKER:
                breaker = breakers.after_time(fleet.group(timer.key).breaker, at=fleet.now)
                fleet.set_breaker(timer.key, breaker)
            case TimerKind.HEARTBEAT:
                heartbeat_due(fleet, timer.key)
            case TimerKind.WAKE:
                fleet.stir()
            case _:
                assert_never(timer.kind)


def _request(fleet: Fleet, event: Request) -> None:
    run = fleet.runs.get(event.run)
    if run is None or isinstance(run.state, Ended):
        because = "there is no such run" if run is None else "it has already ended"
        fleet.actions.append(Refuse(event.run, because))
        return
    match event:
        case CancelRequested(refused=str(why)):
            _refuse(fleet, run, why)
        case CancelRequested():
            _cancel(fleet, run, force=event.force)
        case PriorityChanged():
            _set_priority(fleet, run, event.priority)
        case FreezeRequested():
            _freeze(fleet, run)
        case ThawRequested():
            _thaw(fleet, run)
        case _:
            assert_never(event)


def _refuse(fleet: Fleet, run: Run, why: str) -> None:
    """As if it had never been taken; nobody has begun it."""
    if isinstance(run.state, Queued):
        end_queued(fleet, run, outcome=Outcome.REFUSED, because=why)
    else:
        stop(fleet, run, outcome=Outcome.REFUSED, because=why, phase=StopPhase.KILLED)


def _cancel(fleet: Fleet, run: Run, *, force: bool) -> None:
    if isinstance(run.state, Queued):
        end_queued(fleet, run, outcome=Outcome.CANCELLED, because="cancelled while it waited")
        return
    phase = StopPhase.KILLED if force else StopPhase.TOLD
    text = "killed on request" if force else "cancelled on request"
    stop(fleet, run, outcome=Outcome.CANCELLED, because=text, phase=phase)


def _freeze(fleet: Fleet, run: Run) -> None:
    if not isinstance(run.state, Running):
        fleet.actions.append(Refuse(run.id, "only a running run can be frozen"))
        return
    freeze(fleet, run, by=Frozen.BY_USER)


def _thaw(fleet: Fleet, run: Run) -> None:
    if not isinstance(run.state, Running) or run.state.frozen is None:
        fleet.actions.append(Refuse(run.id, "it is not frozen"))
        return
    thaw(fleet, run)


def _set_priority(fleet: Fleet, run: Run, priority: Priority) -> None:
    if run.priority is priority:
        return
    text = f"priority changed from {run.priority.word} to {priority.word}"
    if isinstance(run.state, Queued):
        fleet.move(run, run.state, text, priority=priority, tag=0)
    else:
        fleet.amend(run, text, priority=priority, tag=1)  # should it come back: at the head


def _reset_breaker(fleet: Fleet, group: str) -> None:
    if group not in fleet.groups:
        fleet.actions.append(Refuse(group, "there is no such group"))
        return
    fleet.set_breaker(group, breakers.Closed())


def _remove_heartbeat(fleet: Fleet, name: str) -> None:
    if fleet.heartbeats.pop(name, None) is None:
        fleet.actions.append(Refuse(name, "there is no heartbeat of that name"))


def _change_policy(fleet: Fleet, policy: Policy) -> None:
    """Running attempts keep their walls; what waits and could now wait for ever is refused."""
    fleet.policy = policy
    fleet.demand.set_policy(policy.sizing)
    fleet.stir()
    for group in fleet.groups:
        fleet.relearn(group)
    for run in [r for r in fleet.runs.values() if isinstance(r.state, Queued)]:
        # A need that went may have taken this one along.
        problem = cannot_ever_fit(run.limit_bytes, policy, away=run.spec.away)
        if problem is not None and fleet.runs.get(run.id) is run:
            end_queued(fleet, run, outcome=Outcome.REFUSED, because=problem)
