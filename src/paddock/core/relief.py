"""What is done about pressure: freeze, then stop, then kill; one round at a time."""

from __future__ import annotations

from collections.abc import Sequence

from .fleet import Fleet
from .freezing import freeze, thaw
from .holding import here, hold
from .lifecycle import preempt, stop
from .preemption import as_candidate, leaving
from .pressure import Round, Rung, emergency_bytes, has_eased, rung_of
from .run import Frozen, Outcome, Priority, Run, Running, Starting, StopPhase, Stopping
from .victims import Bytes, Candidate, because, choose


def relieve(fleet: Fleet) -> None:
    """Called with every sample, so each round is judged by what the host says after it."""
    host = fleet.host
    if host is None or host.used_percent is None or host.available_bytes is None:
        return  # nobody is killed on a guess
    if fleet.ladder.rung is Rung.EMERGENCY and not _may_wait(fleet):
        _emergency(fleet)
    elif fleet.ladder.rung < Rung.PREEMPT or has_eased(host, fleet.policy.ladder):
        # With the second only the step's dwell is left, for those who would start.
        (_take_turns if fleet.takes_turns else _all_clear)(fleet)
    else:
        _preempt(fleet)


def _may_wait(fleet: Fleet) -> bool:
    """Bursts that take turns come to the last step by themselves, and standing still ends that: who
    rests gives back at its end. Killed is who does not, or what grows on although all stand still.
    """
    host, policy = fleet.host, fleet.policy.ladder
    assert host is not None and host.available_bytes is not None
    if not fleet.takes_turns:
        return False
    if rung_of(host, policy) < Rung.EMERGENCY:
        return True  # only the step's dwell is left
    if host.available_bytes < emergency_bytes(host.total_bytes, policy) // 2:
        return False
    current = fleet.round
    return current is None or (not current.kill and fleet.now < current.give_up_at)


def _all_clear(fleet: Fleet) -> None:
    fleet.round = None
    for run in list(fleet.pressed):
        thaw(fleet, fleet.runs[run])


def _take_turns(fleet: Fleet) -> None:
    """A second burst is held as soon as it would take the way of the first, and not at the step:
    until then several have begun, and none of them gives back what it has."""
    hold(fleet, give_up_at=fleet.now + fleet.policy.ladder.freeze_round_s)
    if fleet.round is not None and not fleet.round.victims:
        fleet.round = None


def _preempt(fleet: Fleet) -> None:
    """First let some stand still, which may be enough; then stop who must give way."""
    current = fleet.round
    if current is None or current.kill:
        _begin(fleet)
    elif _is_over(fleet, current):
        _stop_some(fleet, current)
    elif current.hold:
        _let_stand(fleet, give_up_at=current.give_up_at)
    elif not _frozen(fleet, current):
        _begin(fleet)


def _begin(fleet: Fleet) -> None:
    """A round, unless somebody's memory is on its way: then it is looked at again."""
    if not leaving(fleet):
        _let_stand(fleet, give_up_at=fleet.now + fleet.policy.ladder.freeze_round_s)


def _is_over(fleet: Fleet, current: Round) -> bool:
    """Standing still that helps may last while bursts go by; nobody stands still for ever. Where
    nobody goes on, nothing goes by. Where bursts take turns the step is no reason to stop anybody
    while somebody goes on, who gives back at its end."""
    assert fleet.host is not None
    policy = fleet.policy.ladder
    if fleet.now < current.give_up_at or leaving(fleet):
        return False
    goes_on = any(isinstance(run.state, Running) and not run.state.frozen for run in here(fleet))
    helps = goes_on and (fleet.takes_turns or rung_of(fleet.host, policy) < Rung.PREEMPT)
    return not helps or fleet.now >= current.give_up_at + policy.longest_hold_s


def _let_stand(fleet: Fleet, *, give_up_at: float) -> None:
    if fleet.overcommitted:
        hold(fleet, give_up_at=give_up_at)
        return
    chosen = {each.run for each in choose(_stoppable(fleet), Bytes(_over_the_step(fleet)))}
    for run in [run for run in fleet.pressed if run not in chosen]:
        thaw(fleet, fleet.runs[run])  # of a hold, or of a round before
    fleet.round = Round(victims=tuple(sorted(chosen)), give_up_at=give_up_at)
    for run in sorted(chosen):
        freeze(fleet, fleet.runs[run], by=Frozen.BY_PRESSURE, because=fleet.ladder.because)


def _stoppable(fleet: Fleet) -> list[Candidate]:
    candidates = [
        as_candidate(fleet, run)
        for run in here(fleet)
        if isinstance(run.state, Running) and run.priority is not Priority.CRITICAL
    ]
    return [each for each in candidates if each.used_bytes > 0]


def _over_the_step(fleet: Fleet) -> float:
    policy = fleet.policy.ladder
    target = policy.preempt - policy.hysteresis
    return _over_bytes(fleet, target=target, free_bytes=policy.queue_free_bytes)


def _stop_some(fleet: Fleet, current: Round) -> None:
    """As many as are needed, of those who stood still for it; of an overcommitted fleet, in which
    nearly all did, rather who goes on and gives nothing back."""
    frozen = _frozen(fleet, current)
    candidates = _stoppable(fleet)
    if frozen and not fleet.overcommitted:
        candidates = [as_candidate(fleet, run) for run in frozen]
    victims = choose(candidates, Bytes(_over_the_step(fleet)))
    spared = _spared(fleet, victims)
    for victim in victims:
        text = because(victim, cause=fleet.ladder.because, spared=spared)
        preempt(fleet, fleet.runs[victim.run], because=text)
    fleet.round = None


def _emergency(fleet: Fleet) -> None:
    """Kill down to the relief target; whoever is being stopped goes first, and at once."""
    current = fleet.round
    if current and current.kill and fleet.now < current.give_up_at and _still(fleet, current):
        return
    policy = fleet.policy.ladder
    floor = policy.skip_low_free_bytes
    need = _over_bytes(fleet, target=policy.relief_target, free_bytes=floor)
    victims: list[Candidate] = []
    for run in here(fleet):
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
    gone = tuple(victim.run for victim in victims)
    fleet.round = Round(gone, give_up_at=fleet.now + policy.kill_round_s, kill=True)


def _killable(fleet: Fleet, *, dying: bool) -> list[Candidate]:
    """Who frees something; the critical only when nobody else is left and the host is still at the
    last step. From below it to the relief target is no way worth one of them. Nor are they taken
    together with the last other one: `dying` is one whose memory is on its way, and may be enough.
    """
    assert fleet.host is not None
    live = [run for run in here(fleet) if isinstance(run.state, Starting | Running)]
    useful = [each for run in live if (each := as_candidate(fleet, run)).used_bytes > 0]
    lesser = [each for each in useful if each.priority is not Priority.CRITICAL]
    if lesser or dying or rung_of(fleet.host, fleet.policy.ladder) < Rung.EMERGENCY:
        return lesser
    return useful


def _anybody_just_killed(fleet: Fleet) -> bool:
    """For whatever reason, and not so long ago that it must be stuck in the kernel."""
    since_at = fleet.now - fleet.policy.ladder.kill_round_s
    killed = (fleet.runs[run].state for run in fleet.stopping)
    return any(state.since_at > since_at for state in killed)


def _frozen(fleet: Fleet, current: Round) -> list[Run]:
    return [run for run in _still(fleet, current) if isinstance(run.state, Running)]


def _still(fleet: Fleet, current: Round) -> list[Run]:
    return [fleet.runs[run] for run in current.victims if run in fleet.live]


def _spared(fleet: Fleet, victims: Sequence[Candidate]) -> list[Candidate]:
    taken = {victim.run for victim in victims}
    return [as_candidate(fleet, run) for run in here(fleet) if run.id not in taken]


def _over_bytes(fleet: Fleet, *, target: float, free_bytes: int) -> float:
    """What must come free to be under the target and above its floor."""
    host = fleet.host
    assert host is not None and host.used_percent is not None and host.available_bytes is not None
    over = host.total_bytes * (host.used_percent - target) / 100
    return max(over, free_bytes - host.available_bytes)
