"""The circuit breaker of a group: repeated failures stop it, one probe opens the way again.

Only the agent's own failures count; what paddock stopped and "try later" do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from .policy import BreakerPolicy
from .run import Outcome

FAILURES = frozenset({Outcome.FAILED, Outcome.SPAWN_FAILED, Outcome.MEMORY_LIMIT_EXCEEDED})


@dataclass(frozen=True, slots=True)
class Closed:
    failed_at: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Open:
    until_at: float
    failed_at: tuple[float, ...]
    cooldown_s: float


@dataclass(frozen=True, slots=True)
class HalfOpen:
    failed_at: tuple[float, ...]
    cooldown_s: float
    probe: str | None = None  # the one run that may try


Breaker = Closed | Open | HalfOpen


def after_failure(breaker: Breaker, policy: BreakerPolicy, *, at: float, run: str) -> Breaker:
    if isinstance(breaker, Open):
        return breaker  # one that was already running; the breaker has spoken
    if isinstance(breaker, HalfOpen):
        if breaker.probe != run:
            return breaker
        cooldown_s = min(breaker.cooldown_s * 2, policy.cooldown_max_s)
        return Open(at + cooldown_s, (*breaker.failed_at[1:], at), cooldown_s)
    recent = (*(t for t in breaker.failed_at if 0 <= at - t < policy.window_s), at)
    if len(recent) < policy.failures:
        return Closed(recent)
    return Open(at + policy.cooldown_s, recent[-policy.failures :], policy.cooldown_s)


def after_success(breaker: Breaker, *, run: str) -> Breaker:
    """Only the probe's success closes; a success in normal service forgives nothing."""
    if isinstance(breaker, HalfOpen) and breaker.probe == run:
        return Closed()
    return breaker


def after_nothing(breaker: Breaker, *, run: str) -> Breaker:
    """The attempt ended without a verdict (preempted, cancelled, later): another may probe."""
    if isinstance(breaker, HalfOpen) and breaker.probe == run:
        return HalfOpen(breaker.failed_at, breaker.cooldown_s)
    return breaker


def after_time(breaker: Breaker, *, at: float) -> Breaker:
    if isinstance(breaker, Open) and at >= breaker.until_at:
        return HalfOpen(breaker.failed_at, breaker.cooldown_s)
    return breaker


def with_probe(breaker: Breaker, *, run: str) -> Breaker:
    if isinstance(breaker, HalfOpen):
        return HalfOpen(breaker.failed_at, breaker.cooldown_s, run)
    return breaker


def lets_start(breaker: Breaker) -> bool:
    return isinstance(breaker, Closed) or (isinstance(breaker, HalfOpen) and breaker.probe is None)
