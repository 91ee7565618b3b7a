"""What is done about pressure: freeze, then stop, then kill; one round at a time."""

from __future__ import annotations

from collections.abc import Sequence

from .fleet import Fleet
from .freezing import freeze, thaw
from .lifecycle import preempt, stop
from .preemption import as_candidate, leaving
from .pressure import Round, Rung, rung_of
from .run import Frozen, Outcome, Priority, Run, Running, Starting, StopPhase, Stopping
from .victims import Bytes, Candidate, because, choose


def relieve(fleet: Fleet) -> None:
    """Called with every sample, so each round is judged by what the host says after it."""
    host = fleet.host
    if host is None or host.used_percent is None or host.available_bytes is None:
        return  # nobody is killed on a guess
    if fleet.ladder.rung < Rung.PREEMPT:
        _all_clear(fleet)
    elif fleet.ladder.rung is Rung.EMERGENCY:
        _emergency(fleet)
    else:
        _preempt(fleet)


def _all_clear(fleet: Fleet) -> None:
    fleet.round = None
    for run in list(fleet.pressed):
        thaw(fleet, fleet.runs[run])


def _preempt(fleet: Fleet) -> None:
    """First freeze who would be stopped, which may be enough; then stop them with their work."""
    current = fleet.round
    if current is not None and not current.kill:
        victims = [run for run in _still(fleet, current) if isinstance(run.state, Running)]
        if victims and fleet.now < current.give_up_at:
            return
        if victims:
            _stop_frozen(fleet, victims)
            return
    if leaving(fleet):
        return  # somebody's memory is on its way; look again when it is back
    candidates = [
        as_candidate(fleet, run)
        for run in fleet.live_runs()
        if isinstance(run.state, Running) and run.priority is not Priority.CRITICAL
    ]
    candidates = [each for each in candidates if each.used_bytes > 0]
    policy = fleet.policy.ladder
    target = policy.preempt - policy.hysteresis
    need = _over_bytes(fleet, target=target, free_bytes=policy.queue_free_bytes)
    chosen = choose(candidates, Bytes(need))
    fleet.round = Round(
        victims=tuple(c.run for c in chosen), give_up_at=fleet.now + policy.freeze_round_s
    )
    for victim in chosen:
        run = fleet.runs[victim.run]
        freeze(fleet, run, by=Frozen.BY_PRESSURE, because=fleet.ladder.because)


def _stop_frozen(fleet: Fleet, frozen: Sequence[Run]) -> None:
    victims = [as_candidate(fleet, run) for run in frozen]
    spared = _spared(fleet, victims)
    for victim in victims:
        text = because(victim, cause=fleet.ladder.because, spared=spared)
        run = fleet.runs[victim.run]
        preempt(fleet, run, because=text)
    fleet.round = None


def _emergency(fleet: Fleet) -> None:
    """Kill down to the relief target; whoever is being stopped goes first, and at once."""
    current = fleet.round
    if (
        current is not None
        and current.kill
        and fleet.now < current.give_up_at
        and _still(fleet, current)
    ):
        return
    policy = fleet.policy.ladder
    floor = policy.skip_low_free_bytes
    need = _over_bytes(fleet, target=policy.relief_target, free_bytes=floor)
    victims: list[Candidate] = []
    for run in fleet.live_runs():
        # One killed in an earlier round and still there is stuck in the kernel: look elsewhere.
        if need <= 0 or not isinstance(run.state, Stopping) or run.state.phase is StopPhase.KILLED:
            continue
        victims.append(as_candidate(fleet, run))
        need -= fleet.demand.used_by(run.id)
    if need > 0:
        dying = bool(victims) or _anybody_just_killed(fleet)
        victims += choose(_killable(fleet, dying=dying), Bytes(need))
    spared = _spared(fleet, victims)
    for victim in victims:
        text = because(victim, cause=fleet.ladder.because, spared=spared)
        run = fleet.runs[victim.run]
        stop(fleet, run, outcome=Outcome.PREEMPTED, because=text, phase=StopPhase.KILLED)
    fleet.round = Round(
        victims=tuple(v.run for v in victims),
        give_up_at=fleet.now + policy.kill_round_s,
        kill=True,
    )


def _killable(fleet: Fleet, *, dying: bool) -> list[Candidate]:
    """Who frees something; the critical only when nobody else is left and the host is still at the
    last step. From below it to the relief target is no way worth one of them. Nor are they taken
    together with the last other one: `dying` is one whose memory is on its way, and may be enough.
    """
    assert fleet.host is not None
    live = [run for run in fleet.live_runs() if isinstance(run.state, Starting | Running)]
    candidates = [as_candidate(fleet, run) for run in live]
    useful = [candidate for candidate in candidates if candidate.used_bytes > 0]
    lesser = [each for each in useful if each.priority is not Priority.CRITICAL]
    if lesser or dying or rung_of(fleet.host, fleet.policy.ladder) < Rung.EMERGENCY:
        return lesser
    return useful


def _anybody_just_killed(fleet: Fleet) -> bool:
    """For whatever reason, and not so long ago that it must be stuck in the kernel."""
    since_at = fleet.now - fleet.policy.ladder.kill_round_s
    killed = (fleet.runs[run].state for run in fleet.stopping)
    return any(state.since_at > since_at for state in killed)


def _still(fleet: Fleet, current: Round) -> list[Run]:
    return [fleet.runs[run] for run in current.victims if run in fleet.live]


def _spared(fleet: Fleet, victims: Sequence[Candidate]) -> list[Candidate]:
    taken = {victim.run for victim in victims}
    return [as_candidate(fleet, run) for run in fleet.live_runs() if run.id not in taken]


def _over_bytes(fleet: Fleet, *, target: float, free_bytes: int) -> float:
    """What must come free to be under the target and above its floor."""
    host = fleet.host
    assert host is not None and host.used_percent is not None and host.available_bytes is not None
    over = host.total_bytes * (host.used_percent - target) / 100
    return max(over, free_bytes - host.available_bytes)
