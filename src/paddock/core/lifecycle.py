"""One attempt's way from start to end: starting it, stopping it, and what its end means."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace

from . import breaker as breakers
from .actions import (
    AskCheckpoint,
    KillAttempt,
    TerminateAttempt,
    ThawAttempt,
    WarnAttempt,
)
from .fleet import Fleet
from .retry import Verdict, again, judge
from .run import (
    Attempt,
    Ended,
    Exit,
    Hold,
    Outcome,
    Queued,
    Run,
    Running,
    Starting,
    StopPhase,
    Stopping,
)
from .steps import begun_afresh, has_more, is_doubtful, may_go_on, start_action, step_done
from .submission import cannot_ever_fit
from .timeouts import hard_timeout_s, soft_timeout_s
from .units import format_duration

# -- start --------------------------------------------------------------------------------


def start(fleet: Fleet, run: Run) -> None:
    group = run.spec.group
    breaker = breakers.with_probe(fleet.group(group).breaker, run=run.id)
    fleet.set_breaker(group, breaker)
    hold = Hold(run.limit_bytes, fleet.demand.typical_bytes(run.spec.sized_as, run.limit_bytes))
    attempt = Attempt(run.id, run.attempts + 1)
    give_up_at = fleet.now + fleet.policy.timeouts.start_s
    state = Starting(fleet.now, attempt.number, hold, give_up_at)
    probes = isinstance(breaker, breakers.HalfOpen)
    why = f"it probes for the breaker of {group}" if probes else "there is room for it"
    run = fleet.move(run, state, why, attempts=attempt.number)
    fleet.actions.append(start_action(run, run.limit_bytes))


def started(fleet: Fleet, run: Run) -> None:
    state = run.state
    if not isinstance(state, Starting):
        return  # stopping already, or told twice
    policy = fleet.policy.timeouts
    durations_s = fleet.group(run.spec.group).durations_s
    factor = run.repository_factor
    hard_s = hard_timeout_s(run.spec, policy, durations_s=durations_s, factor=factor)
    soft_s = soft_timeout_s(run.spec, hard_s=hard_s)
    running = Running(
        fleet.now,
        state.attempt,
        state.hold,
        soft_at=None if soft_s is None else fleet.now + soft_s,
        hard_at=None if hard_s is None else fleet.now + hard_s,
    )
    fleet.move(run, running, "the agent runs")


def takes_longer(fleet: Fleet, run: Run, *, because: str) -> None:
    if isinstance(run.state, Starting):
        give_up_at = fleet.now + fleet.policy.timeouts.start_s
        fleet.move(run, replace(run.state, give_up_at=give_up_at), because)


# -- stop ---------------------------------------------------------------------------------


def stop(fleet: Fleet, run: Run, *, outcome: Outcome, because: str, phase: StopPhase) -> None:
    """Begin to stop an attempt, or press harder on one that is being stopped already."""
    state = run.state
    assert isinstance(state, Starting | Running | Stopping)
    if isinstance(state, Stopping):
        if outcome is Outcome.CANCELLED and state.outcome not in (None, Outcome.CANCELLED):
            # A new reason never prolongs a grace, nor rewrites an end the agent chose itself.
            state = replace(state, outcome=outcome, because=because)
            run = fleet.move(run, state, because)
        if phase > state.phase:
            _press(fleet, run, state, phase)
        return
    if isinstance(state, Running) and state.frozen is not None and phase < StopPhase.KILLED:
        fleet.actions.append(ThawAttempt(run.attempt))  # frozen, it could not hear
    _press(fleet, run, _stopping(fleet, state, outcome=outcome, because=because), phase)


def preempt(fleet: Fleet, run: Run, *, because: str, stopped_for: str | None = None) -> None:
    """Ask for a checkpoint and stop it; it comes back to its place in the queue."""
    stop(fleet, run, outcome=Outcome.PREEMPTED, because=because, phase=StopPhase.ASKED)
    stopping = fleet.runs[run.id]
    if stopped_for is not None and isinstance(stopping.state, Stopping):
        fleet.amend(stopping, because, state=replace(stopping.state, stopped_for=stopped_for))


def _stopping(
    fleet: Fleet,
    state: Starting | Running,
    *,
    outcome: Outcome | None,
    because: str,
    ended: Exit | None = None,
) -> Stopping:
    return Stopping(
        since_at=fleet.now,
        attempt=state.attempt,
        hold=state.hold,
        # Later by what it stood still, so that nobody learns a pause as work.
        started_at=state.since_at + state.paused_s if isinstance(state, Running) else None,
        outcome=outcome,
        because=because,
        phase=StopPhase.ASKED,
        deadline_at=fleet.now,
        exit=ended,
    )


def press_harder(fleet: Fleet, run: Run) -> None:
    """The grace of a stopping attempt is over."""
    state = run.state
    assert isinstance(state, Stopping)
    _press(fleet, run, state, StopPhase(min(state.phase + 1, StopPhase.KILLED)))


def _press(fleet: Fleet, run: Run, state: Stopping, phase: StopPhase) -> None:
    phase = max(phase, state.phase)
    grace_s = _grace_s(fleet, state.outcome, phase)
    told = state.told or phase is StopPhase.TOLD
    pressed = replace(state, phase=phase, deadline_at=fleet.now + grace_s, told=told)
    fleet.move(run, pressed, state.because)
    fleet.actions.append(stop_action(run.attempt, pressed))


def stop_action(
    attempt: Attempt, state: Stopping
) -> AskCheckpoint | TerminateAttempt | KillAttempt:
    match state.phase:
        case StopPhase.ASKED:
            return AskCheckpoint(attempt, state.because)
        case StopPhase.TOLD:
            return TerminateAttempt(attempt, state.because)
        case StopPhase.KILLED:
            return KillAttempt(attempt, state.because)


def _grace_s(fleet: Fleet, outcome: Outcome | None, phase: StopPhase) -> float:
    policy = fleet.policy.timeouts
    if phase is StopPhase.KILLED:
        return policy.kill_again_s
    if phase is StopPhase.ASKED:
        return policy.checkpoint_grace_s
    return policy.timeout_grace_s if outcome is Outcome.TIMEOUT_EXCEEDED else policy.kill_grace_s


# -- the timers of a running attempt ------------------------------------------------------


def timer_rang(fleet: Fleet, run: Run) -> None:
    match run.state:
        case Queued():
            ready = replace(run.state, not_before_at=None, awaits_place=False)
            fleet.move(run, ready, "its waiting time is over")
        case Starting():
            text = f"no sign of a start for {format_duration(fleet.policy.timeouts.start_s)}"
            stop(fleet, run, outcome=Outcome.SPAWN_FAILED, because=text, phase=StopPhase.KILLED)
        case Running():
            _timeout(fleet, run, run.state)
        case Stopping():
            press_harder(fleet, run)
        case Ended():
            pass


def _timeout(fleet: Fleet, run: Run, state: Running) -> None:
    if state.hard_at is not None and fleet.now >= state.hard_at:
        taken = format_duration(state.hard_at - state.since_at - state.paused_s)
        text = f"ran into its hard timeout of {taken}"
        stop(fleet, run, outcome=Outcome.TIMEOUT_EXCEEDED, because=text, phase=StopPhase.TOLD)
        return
    fleet.move(run, replace(state, soft_at=None), "soft timeout: asked to wrap up")
    fleet.actions.append(WarnAttempt(run.attempt))


# -- end ----------------------------------------------------------------------------------


def exited(fleet: Fleet, run: Run, ended: Exit, *, empty: bool) -> None:
    """The main process is gone. While others of the attempt live, the memory is still held."""
    state = run.state
    assert isinstance(state, Starting | Running | Stopping)
    if isinstance(state, Stopping) and state.exit is not None:
        ended = state.exit  # what was known first stands; this is news of the strays
    if empty:
        _settle(fleet, run, state, ended)
        return
    if isinstance(state, Stopping):
        reason = state.reason_against(ended)
        outcome = None if _finished(state, judge(run, ended, fleet.policy)) else reason
        _press(fleet, run, replace(state, exit=ended, outcome=outcome), StopPhase.KILLED)
        return
    text = f"the agent ended ({ended}) and left processes behind"
    strays = _stopping(fleet, state, outcome=None, because=text, ended=ended)
    _press(fleet, run, strays, StopPhase.KILLED)


def gone(fleet: Fleet, run: Run, *, reason: str, permanent: bool = False) -> None:
    """Nothing of the attempt is left. Without a known exit or reason, it is lost, not guessed."""
    state = run.state
    assert isinstance(state, Starting | Running | Stopping)
    if isinstance(state, Stopping) and (state.outcome is not None or state.exit is not None):
        _settle(fleet, run, state, state.exit or Exit())
        return
    verdict = Verdict(Outcome.LOST, f"nobody knows how it ended: {reason}")
    # A step is told that it may be done, so it can be tried again.
    conclude(fleet, run, verdict, permanent=permanent and not run.spec.steps)


def spawn_failed(fleet: Fleet, run: Run, *, reason: str, permanent: bool) -> None:
    state = run.state
    if isinstance(state, Stopping) and state.outcome not in (None, Outcome.SPAWN_FAILED):
        conclude(fleet, run, Verdict(state.outcome, state.because))
        return
    verdict = Verdict(Outcome.SPAWN_FAILED, f"could not be started: {reason}")
    conclude(fleet, run, verdict, permanent=permanent)


def _settle(fleet: Fleet, run: Run, state: Starting | Running | Stopping, ended: Exit) -> None:
    verdict = judge(run, ended, fleet.policy)
    reason = state.reason_against(ended) if isinstance(state, Stopping) else None
    if isinstance(state, Stopping) and reason is not None and not _finished(state, verdict):
        verdict = Verdict(reason, state.because)
    if ended.peak_bytes is not None:
        fleet.saw_peak(run, ended.peak_bytes)
    if run.spec.steps and verdict.outcome is Outcome.SUCCEEDED:
        run = step_done(fleet, run, ended)
        if has_more(run) and may_go_on(reason):
            _next_step(fleet, run)
            return
        if has_more(run) and isinstance(state, Stopping) and reason is not None:
            verdict = Verdict(reason, state.because)
    conclude(fleet, run, verdict, ended=ended)


def _next_step(fleet: Fleet, run: Run) -> None:
    """Back to its place in the queue, where whoever is more urgent may go first."""
    ran_s = _ran_s(fleet, run)
    done, names = run.steps_done, run.spec.steps
    text = f"step {names[done - 1]} is done ({done} of {len(names)}); {names[done]} is next"
    verdict = Verdict(Outcome.SUCCEEDED, text)
    # The policy may have changed under it: it would wait for ever.
    too_large = cannot_ever_fit(run.limit_bytes, fleet.policy, away=run.spec.away)
    if too_large:
        _end(fleet, run, Ended(fleet.now, Outcome.REFUSED, f"{text}; {too_large}"))
    else:
        _requeue(fleet, run, verdict, delay_s=0.0)
    _teach(fleet, run, verdict, ran_s=ran_s, wall_bytes=run.limit_bytes)


def _finished(state: Stopping, verdict: Verdict) -> bool:
    """Paddock's reason counts once it told the run to stop. Only asked for a checkpoint, or killed
    without a word (no SIGKILL makes an exit code), a run that comes to a good end has done its
    work, and doing it again would be wrong.
    """
    return not state.told and verdict.outcome is Outcome.SUCCEEDED


def conclude(
    fleet: Fleet, run: Run, verdict: Verdict, *, ended: Exit | None = None, permanent: bool = False
) -> None:
    """The attempt is gone: what its group learns, and whether the run goes on."""
    ran_s, wall_bytes = _ran_s(fleet, run), run.limit_bytes
    if has_more(run):
        step = run.spec.steps[run.steps_done]
        verdict = dataclasses.replace(verdict, because=f"step {step}: {verdict.because}")
    retry = again(run, verdict, fleet.policy, permanent=permanent)
    run = _counted(run, verdict)
    if is_doubtful(run, verdict.outcome, ended):
        run = replace(run, in_doubt=True)
    if ended is not None and ended.session_lost:
        run = begun_afresh(run)
    # The policy may have changed under it: a run that would now wait for ever is over.
    away, policy = run.spec.away, fleet.policy
    too_large = retry and cannot_ever_fit(retry.limit_bytes, policy, away=away)
    if too_large:
        _end(fleet, run, Ended(fleet.now, Outcome.REFUSED, f"{verdict.because}; {too_large}"))
    elif retry is not None:
        _requeue(fleet, replace(run, limit_bytes=retry.limit_bytes), verdict, delay_s=retry.delay_s)
    else:
        how = ended or Exit()
        peak = fleet.demand.peak_of(run.id) or None
        end = Ended(fleet.now, verdict.outcome, verdict.because, how.code, how.signal, peak)
        _end(fleet, run, end)
    _teach(fleet, run, verdict, ran_s=ran_s, wall_bytes=wall_bytes)


def _ran_s(fleet: Fleet, run: Run) -> float | None:
    match run.state:
        case Running(since_at=since_at, paused_s=paused_s):
            return fleet.now - since_at - paused_s
        case Stopping(started_at=float(since_at)):
            return fleet.now - since_at
        case _:
            return None


def _counted(run: Run, verdict: Verdict) -> Run:
    if verdict.later_s is not None:
        return replace(run, laters=run.laters + 1)
    match verdict.outcome:
        case Outcome.PREEMPTED if verdict.at_the_wall:
            return replace(run, losses=run.losses + 1)
        case Outcome.PREEMPTED:
            return replace(run, preemptions=run.preemptions + 1)
        case Outcome.LOST:
            return replace(run, losses=run.losses + 1)
        case Outcome.FAILED | Outcome.SPAWN_FAILED | Outcome.MEMORY_LIMIT_EXCEEDED:
            return replace(run, failures=run.failures + 1, laters=0)
        case Outcome.TIMEOUT_EXCEEDED if run.spec.steps:
            return replace(run, failures=run.failures + 1, laters=0)
        case _:
            return run


def _requeue(fleet: Fleet, run: Run, verdict: Verdict, *, delay_s: float) -> None:
    not_before_at = fleet.now + delay_s if delay_s > 0 else None
    fleet.move(run, Queued(fleet.now, not_before_at, because=verdict.because), verdict.because)


def end_queued(fleet: Fleet, run: Run, *, outcome: Outcome, because: str) -> None:
    """A run that never got to start, or waits to start again, is over."""
    _end(fleet, run, Ended(fleet.now, outcome, because))


def _end(fleet: Fleet, run: Run, ended: Ended) -> None:
    fleet.move(run, ended, ended.because)
    release_dependents(fleet, run.id, ended.outcome)


def release_dependents(fleet: Fleet, need: str, outcome: Outcome) -> None:
    """Those that waited for this run go on, or are skipped with everything behind them."""
    ended = [(need, outcome)]
    while ended:
        name, outcome = ended.pop()
        for dependent in list(fleet.dependents.get(name, ())):
            run = fleet.runs[dependent]
            assert isinstance(run.state, Queued)
            if outcome is Outcome.SUCCEEDED:
                unmet = run.state.unmet - {name}
                text = f"{fleet.name_of(name)} succeeded"
                fleet.move(run, replace(run.state, unmet=unmet), text)
                continue
            text = f"it needs {fleet.name_of(name)}, which ended as {outcome}"
            fleet.move(run, Ended(fleet.now, Outcome.SKIPPED, text), text)
            ended.append((dependent, Outcome.SKIPPED))


def _teach(
    fleet: Fleet, run: Run, verdict: Verdict, *, ran_s: float | None, wall_bytes: int
) -> None:
    """Breaker, learned size and learned duration of the group."""
    name = run.spec.group
    group = fleet.group(name)
    breaker = group.breaker
    failed = verdict.later_s is None and verdict.outcome in breakers.FAILURES
    # A start that is tried again is no failure yet: its driver may be at fault.
    waits = run.id in fleet.runs and isinstance(fleet.runs[run.id].state, Queued)
    if failed and not (waits and verdict.outcome is Outcome.SPAWN_FAILED):
        breaker = breakers.after_failure(breaker, fleet.policy.breaker, at=fleet.now, run=run.id)
    elif verdict.outcome is Outcome.SUCCEEDED:
        breaker = breakers.after_success(breaker, run=run.id)
    else:
        breaker = breakers.after_nothing(breaker, run=run.id)
    fleet.set_breaker(name, breaker)
    if verdict.at_the_wall and not run.spec.away:
        group.size.out_of_memory(fleet.policy.sizing)
    if ran_s is not None and not run.spec.away:
        group.size.saw_end(wall_bytes)
        if verdict.outcome is Outcome.SUCCEEDED:
            fleet.pace.saw(ran_s, group.durations_s, at=fleet.now)
            group.durations_s.append(ran_s)
    fleet.relearn(name)
