"""What an end means, and whether and when a run is tried again."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from .policy import Policy, RetryPolicy
from .run import Exit, Outcome, Run
from .units import format_duration, format_size

TRY_LATER = 75  # EX_TEMPFAIL of sysexits.h
AT_FLEET_WALL = "at the fleet's wall"  # in the reason of every end there
AT_OWN_WALL = "was killed at the memory wall"  # in the reason of a good end after that


@dataclass(frozen=True, slots=True)
class Verdict:
    """How an attempt ended. `later` is no failure: the agent asked to be tried again."""

    outcome: Outcome
    because: str
    later_s: float | None = None
    at_the_wall: bool = False  # the kernel killed for memory: the group's size goes up


@dataclass(frozen=True, slots=True)
class Again:
    delay_s: float
    limit_bytes: int


def judge(run: Run, ended: Exit, policy: Policy) -> Verdict:
    """The verdict on an attempt that ended by itself."""
    if ended.code == 0:
        killed = ended.victim or "one of its commands"
        note = f"; {killed} {AT_OWN_WALL}" if ended.oom else ""
        return Verdict(Outcome.SUCCEEDED, f"exit code 0{note}")
    if ended.fleet_oom and run.losses >= policy.retry.fleet_ooms:
        text = f"killed {AT_FLEET_WALL} {run.losses + 1} times; it does not fit beside others"
        return Verdict(Outcome.MEMORY_LIMIT_EXCEEDED, text, at_the_wall=True)
    if ended.fleet_oom:
        killed = ended.victim or "it"
        text = f"the kernel killed {killed} {AT_FLEET_WALL}, not at its own"
        return Verdict(Outcome.PREEMPTED, text, at_the_wall=True)
    if ended.oom:
        text = f"went over its memory limit of {format_size(run.limit_bytes)}"
        text += f": the kernel killed {ended.victim}" if ended.victim else ""
        return Verdict(Outcome.MEMORY_LIMIT_EXCEEDED, text, at_the_wall=True)
    if ended.session_lost and run.laters < policy.retry.laters:
        text = f"its session is lost, so it begins afresh ({ended})"
        return Verdict(Outcome.PREEMPTED, text, later_s=0.0)
    if ended.code == TRY_LATER or ended.retry_after_s is not None:
        return _later(run, ended, policy.retry)
    note = f"; {ended.note}" if ended.note else ""
    return Verdict(Outcome.FAILED, f"ended with {ended}{note}")


def again(run: Run, verdict: Verdict, policy: Policy, *, permanent: bool = False) -> Again | None:
    """When a run whose attempt ended this way is tried again; None when it is over."""
    limit = run.limit_bytes
    outcome = verdict.outcome
    if verdict.later_s is not None:
        return Again(verdict.later_s, limit)
    if outcome is Outcome.PREEMPTED:
        # Killed at the fleet's wall: give the others a moment, and longer each time.
        delay_s = _backoff(run, policy.retry, nth=run.losses) if verdict.at_the_wall else 0.0
        return Again(delay_s, limit)
    tried, allowed = _budget(run, outcome, policy.retry)
    if permanent or tried >= allowed:
        return None
    if outcome is Outcome.MEMORY_LIMIT_EXCEEDED:
        larger = larger_limit(limit, policy, away=run.spec.away)
        if larger is None:
            return None  # the same size would end the same way
        limit = larger
    return Again(_backoff(run, policy.retry, nth=tried), limit)


def _budget(run: Run, outcome: Outcome, policy: RetryPolicy) -> tuple[int, int]:
    """How often it was tried again for such a reason, and how often it may be."""
    match outcome:
        case Outcome.LOST:
            return run.losses, policy.losses
        case Outcome.SPAWN_FAILED:
            return run.failures, max(policy.spawn_retries, run.spec.retries)
        case Outcome.FAILED | Outcome.MEMORY_LIMIT_EXCEEDED:
            return run.failures, run.spec.retries
        case Outcome.TIMEOUT_EXCEEDED if run.spec.steps:
            return run.failures, run.spec.retries  # it goes on where it was, with a whole timeout
        case _:
            return 0, 0  # cancelled, done, or timed out and it would begin anew: over


def larger_limit(limit_bytes: int, policy: Policy, *, away: bool = False) -> int | None:
    """The next size after an out-of-memory kill; None when there is no larger one."""
    sizing = policy.sizing
    grown = limit_bytes + max(sizing.oom_growth_bytes, int(limit_bytes * sizing.oom_growth))
    largest = grown if away else policy.largest_bytes
    allowed = min(grown, policy.retry.limit_ceiling_bytes, largest)
    return allowed if allowed > limit_bytes else None


def _later(run: Run, ended: Exit, policy: RetryPolicy) -> Verdict:
    if run.laters >= policy.laters:
        return Verdict(Outcome.FAILED, f"asked to be tried later {run.laters} times in a row")
    stated_s = ended.retry_after_s
    if stated_s is not None and stated_s >= 0:
        delay_s = min(stated_s, policy.later_stated_longest_s)
    else:
        delay_s = min(policy.later_s * policy.factor ** min(run.laters, 30), policy.later_longest_s)
    text = f"asked to be tried again in {format_duration(delay_s)} ({ended})"
    return Verdict(Outcome.PREEMPTED, text, later_s=delay_s)


def _backoff(run: Run, policy: RetryPolicy, *, nth: int) -> float:
    delay_s = min(policy.first_s * policy.factor ** min(nth, 30), policy.longest_s)
    draw = zlib.crc32(f"{run.id}/{run.attempts}".encode()) / 2**32
    return delay_s * (1 + policy.jitter * draw)
