"""Every tunable of the core, with its reason. Ranges are checked where config is read."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from .run import Complexity
from .units import GIB, MIB


class Admission(StrEnum):
    LEARNED = "learned"  # a quantile of the fleet's sum, where there is evidence
    GUARANTEED = "guaranteed"  # always the full limit


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderPolicy:
    """Percent of host memory in use, and free bytes: whichever is reached first counts."""

    skip_low: float = 70.0
    queue: float = 80.0
    preempt: float = 85.0
    emergency: float = 95.0
    relief_target: float = 75.0
    # 5 % of a 4 GB host is 200 MB, less than one burst: small hosts need floors in bytes.
    skip_low_free_bytes: int = 640 * MIB
    queue_free_bytes: int = 512 * MIB
    preempt_free_bytes: int = 384 * MIB
    emergency_free_bytes: int = 192 * MIB
    # A step is left this many points lower than it was taken, and only after the dwell.
    hysteresis: float = 3.0
    dwell_s: float = 2.0
    start_dwell_s: float = 1.0  # of the steps at which only starts wait
    # ADM-2: each of these counts as pressure and stops new starts.
    stall_percent: float = 10.0
    swap_percent: float = 50.0
    slowdown: float = 2.0
    # A round waits this long for its memory to come back before the next one is tried.
    freeze_round_s: float = 5.0
    # Bursts of an overcommitted fleet wait for each other, and nobody stands still for longer.
    longest_hold_s: float = 60.0
    kill_round_s: float = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    failures: int = 3
    window_s: float = 60.0
    cooldown_s: float = 60.0
    cooldown_max_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SizingPolicy:
    """Learned sizes (CAP-5)."""

    touches_per_hour: float = 0.001  # risk of touching the fleet wall
    # How long a burst stays up (measured on real agents: 1 to 2 s). It turns touches an hour
    # into a share of time: one touch in 1,000 h of 1 s each is 2.8e-7.
    burst_s: float = 1.0
    evidence: int = 10  # ended attempts of a group before its history counts
    # Agents that start together also install, index and compile together: independence, on which
    # the sum rests, does not hold for the young. They are counted by what the young use.
    young_s: float = 30.0
    half_life_s: float = 24 * 3600.0
    # What nobody has seen yet: one burst to the limit, as if it had happened. It fades as
    # real time is observed, and keeps ten quiet runs from looking like a promise.
    unseen_s: float = 2.0
    # Beyond what the limits alone would allow, agents are let in only while that helps: on a host
    # whose CPUs are the bottleneck one more agent holds memory and makes nobody finish sooner.
    overcommit_slowdown: float = 1.25
    # And step by step, so that what the last ones use is seen before the next ones come.
    overcommit_growth: float = 0.02
    overcommit_growth_least: int = 4
    oom_growth: float = 0.20
    oom_growth_bytes: int = 100 * MIB
    # From one touch in two seconds on a quantile says nothing more: bursts always meet. They take
    # turns then, and nobody waits for the step `preempt` to hold the second (decision 0020).
    turns_per_hour: float = 1800.0

    @property
    def take_turns(self) -> bool:
        return self.touches_per_hour >= self.turns_per_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    first_s: float = 5.0
    factor: float = 2.0
    longest_s: float = 300.0
    jitter: float = 0.2  # spreads a herd; derived from the run, so a step stays deterministic
    later_s: float = 60.0  # exit 75 without a stated time
    later_longest_s: float = 3600.0
    later_stated_longest_s: float = 7 * 24 * 3600.0  # weekly quotas exist; nothing waits for ever
    laters: int = 100  # then it counts as failed: nothing waits for ever
    spawn_retries: int = 2
    fleet_ooms: int = 5  # kills at the fleet's wall, not its own, before that is its end
    losses: int = 3  # an attempt lost to a reboot is tried again this often
    limit_ceiling_bytes: int = 1024 * GIB  # and never above the fleet wall


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeoutPolicy:
    """RUN-1 and RUN-2."""

    simple_s: float = 900.0
    ceiling_s: float = 3600.0
    evidence: int = 10
    kill_grace_s: float = 10.0
    timeout_grace_s: float = 5.0
    checkpoint_grace_s: float = 30.0
    start_s: float = 60.0  # a start that nobody confirms
    kill_again_s: float = 10.0  # a killed attempt that is still there (D state) is killed again


TIMES_SIMPLE: Final = {Complexity.SIMPLE: 1, Complexity.MEDIUM: 2, Complexity.COMPLEX: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    total_bytes: int
    reserve_bytes: int
    admission: Admission = Admission.LEARNED
    max_agents: int | None = None  # None: the two sums alone decide
    max_agents_by: str = ""  # who set it, as part of a sentence
    more_agents_by: str = ""  # what would raise it, likewise
    queue_depth: int = 1000
    free_floor_bytes: int = 512 * MIB  # the least that admission leaves of MemAvailable
    stale_s: float = 30.0  # a host that was not looked at for so long counts as unreadable
    # Waiting this long is worth one priority, so that nothing starves.
    ageing_s: float = 3600.0
    # How far behind a run that does not fit others are looked at, and for how long they may
    # pass it before the door is held for it.
    backfill_depth: int = 16
    backfill_s: float = 600.0
    min_run_s: float = 60.0  # not preempted for another run before this
    max_preemptions: int = 3  # then it is protected
    keep_ended: int = 1000  # ended runs kept in memory; the store has them all
    keep_groups: int = 1000  # groups without runs are forgotten beyond this; likewise
    ladder: LadderPolicy = field(default_factory=LadderPolicy)
    breaker: BreakerPolicy = field(default_factory=BreakerPolicy)
    sizing: SizingPolicy = field(default_factory=SizingPolicy)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    timeouts: TimeoutPolicy = field(default_factory=TimeoutPolicy)

    def __post_init__(self) -> None:
        """Config checks ranges kindly; this only keeps nonsense from hanging or breaking a step."""
        sizing, timeouts = self.sizing, self.timeouts
        above_zero = {
            "total_bytes - reserve_bytes": self.total_bytes - self.reserve_bytes,
            "sizing.touches_per_hour": sizing.touches_per_hour,
            "sizing.burst_s": sizing.burst_s,
            "sizing.unseen_s": sizing.unseen_s,
            "sizing.half_life_s": sizing.half_life_s,
            "sizing.evidence": sizing.evidence,
            "timeouts.kill_again_s": timeouts.kill_again_s,
            "timeouts.start_s": timeouts.start_s,
            "breaker.cooldown_s": self.breaker.cooldown_s,
            "retry.first_s": self.retry.first_s,
        }
        wrong = [name for name, value in above_zero.items() if not 0 < value < math.inf]
        if wrong:
            raise ValueError(f"must be above zero and finite: {', '.join(wrong)}")

    @property
    def wall_bytes(self) -> int:
        """The fleet's own wall: per-agent walls do not compose without it."""
        return self.total_bytes - self.reserve_bytes

    @property
    def largest_bytes(self) -> int:
        """The largest run there can ever be room for: both sums with nobody else there."""
        return min(self.wall_bytes, self.total_bytes - self.floor_bytes)

    @property
    def floor_bytes(self) -> int:
        """What admission leaves free of the host, so that the fleet does not preempt itself.

        A wall of 85 % and a neighbour with 2 % would climb to the preempt step by themselves.
        """
        below_preempt = int(self.total_bytes * (100.0 - self.ladder.preempt) / 100.0)
        return max(self.free_floor_bytes, below_preempt)
