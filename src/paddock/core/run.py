"""What a run is: its specification, the states it can be in, and the moves between them."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from msgspec import Struct


class Priority(IntEnum):
    """Smaller is more urgent, so that runs sort in the order in which they are served."""

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3

    @property
    def word(self) -> str:
        return self.name.lower()


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    MEMORY_LIMIT_EXCEEDED = "memory_limit_exceeded"
    TIMEOUT_EXCEEDED = "timeout_exceeded"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    SPAWN_FAILED = "spawn_failed"
    SKIPPED = "skipped"
    LOST = "lost"


class Complexity(StrEnum):
    """How large a change is expected; it decides the timeout when none is given (RUN-2)."""

    SIMPLE = "simple"
    MEDIUM = "medium"
    COMPLEX = "complex"


class Attempt(NamedTuple):
    """One process life of a run. An event that names an older attempt changes nothing."""

    run: str
    number: int


class Bounds(Struct, frozen=True, kw_only=True):
    """What a project's own file allows its runs, where that is stricter than the host's rules."""

    project: str  # that file: runs with the same one are counted together
    agents: int | None = None  # at once
    waiting: int | None = None
    by_limits: bool = False  # counted with the full limit, whatever was learned


class RunSpec(Struct, frozen=True, kw_only=True):
    """What was asked for, as far as decisions need it; command and environment live elsewhere."""

    id: str
    name: str
    group: str
    limit_bytes: int
    priority: Priority = Priority.NORMAL
    # Only where the driver has no hard wall (ISO-4): sampled use above it stops the run.
    soft_limit_bytes: int | None = None
    complexity: Complexity = Complexity.MEDIUM
    repository_factor: float = 1.0
    simple_s: float | None = None  # what a simple change takes by the project's settings, if said
    hard_timeout_s: float | None = None  # unset: adaptive; `math.inf`: none
    soft_timeout_s: float | None = None  # unset: half of the hard one
    needs: tuple[str, ...] = ()
    retries: int = 0
    heartbeat: str | None = None
    agent: str = ""  # the preset's name; empty: a plain command
    steps: tuple[str, ...] = ()  # their names, in order; each is an attempt of its own
    first_step: int = 0  # those before were done by the run that this one goes on with
    first_in_doubt: bool = False  # and that one may have done this one too
    away: bool = False  # its memory is another machine's: it holds none here
    lacks_program: bool = False  # was not there when it was submitted: nobody is stopped for it
    bounds: Bounds | None = None  # as they stood when it was submitted

    @property
    def sized_as(self) -> str:
        """The group whose sizes admission counts it with; of the empty one nothing is learned."""
        return "" if self.bounds is not None and self.bounds.by_limits else self.group


class Exit(Struct, frozen=True):
    """What is known of the end of an attempt's main process."""

    code: int | None = None
    signal: int | None = None
    oom: bool = False  # from the kernel's counters of this attempt, never from exit 137 alone
    fleet_oom: bool = False  # the fleet's wall was hit, not the attempt's own
    retry_after_s: float | None = None  # a rate limit that named its time: later, not a failure
    session_lost: bool = False  # what it was to go on with is gone: it begins afresh
    peak_bytes: int | None = None
    victim: str | None = None  # which process the kernel killed at the wall, for people
    note: str | None = None  # what else the kernel refused it
    output_digest: str | None = None  # of a step: what it wrote
    commit: str | None = None  # of a step: where its workspace stands
    heard_at: float | None = None  # who is stopped later than that had ended

    def __str__(self) -> str:
        if self.signal is not None:
            return f"signal {self.signal}"
        return f"exit code {self.code}" if self.code is not None else "an unknown exit"


class StepDone(Struct, frozen=True):
    """The checkpoint after a step: kept with the move that it leads to, so it is done once."""

    run: str
    step: int
    name: str
    at: float
    attempt: int
    exit_code: int | None
    output_digest: str | None = None
    commit: str | None = None


class StopPhase(IntEnum):
    """How far a stop has gone. It only ever goes up."""

    ASKED = 0  # for a checkpoint; the agent may still finish by itself
    TOLD = 1  # SIGTERM
    KILLED = 2  # SIGKILL


class Hold(Struct, frozen=True):
    """The memory an attempt holds: its wall, and the size admission counted it with."""

    limit_bytes: int
    expected_bytes: int


class Queued(Struct, frozen=True):
    since_at: float
    not_before_at: float | None = None
    unmet: frozenset[str] = frozenset()
    because: str = ""
    passed_since_at: float | None = None  # first in line since then, and others went past it
    awaits_place: bool = False  # to work in: there was memory, and no workspace

    @property
    def ready(self) -> bool:
        return self.not_before_at is None and not self.unmet

    @property
    def deadline_at(self) -> float | None:
        return self.not_before_at


class Starting(Struct, frozen=True):
    since_at: float
    attempt: int
    hold: Hold
    give_up_at: float

    @property
    def deadline_at(self) -> float | None:
        return self.give_up_at


class Frozen(StrEnum):
    BY_USER = "user"
    BY_PRESSURE = "pressure"


class Running(Struct, frozen=True):
    since_at: float
    attempt: int
    hold: Hold
    soft_at: float | None = None  # None once told, or when there is none
    hard_at: float | None = None
    frozen: Frozen | None = None
    frozen_at: float = 0.0
    paused_s: float = 0.0  # stood still so far

    @property
    def deadline_at(self) -> float | None:
        if self.frozen is not None:
            return None  # a frozen run does not age; the timers are moved on when it thaws
        known = [at for at in (self.soft_at, self.hard_at) if at is not None]
        return min(known, default=None)


class Stopping(Struct, frozen=True):
    """Holds its memory until the last process is gone."""

    since_at: float
    attempt: int
    hold: Hold
    started_at: float | None  # None: it never reported that it runs
    outcome: Outcome | None  # paddock's reason; None when the agent ended by itself
    because: str
    phase: StopPhase
    deadline_at: float
    exit: Exit | None = None
    stopped_for: str | None = None  # the run that will get its memory
    told: bool = False  # SIGTERM was sent: a good end may be an answer to it

    def reason_against(self, ended: Exit) -> Outcome | None:
        """Paddock's. None for one that had ended before it was stopped, however late its end was
        understood; but what somebody asked for stands."""
        had_ended = ended.heard_at is not None and ended.heard_at < self.since_at
        asked_for = self.outcome in (Outcome.CANCELLED, Outcome.REFUSED)
        return None if had_ended and not asked_for else self.outcome


class Ended(Struct, frozen=True):
    since_at: float
    outcome: Outcome
    because: str
    exit_code: int | None = None
    signal: int | None = None  # that ended the last attempt
    peak_bytes: int | None = None  # of the last attempt, as far as it was seen

    @property
    def deadline_at(self) -> float | None:
        return None


State = Queued | Starting | Running | Stopping | Ended
Live = Starting | Running | Stopping

ALLOWED_MOVES: Final = MappingProxyType(
    {
        Queued: frozenset({Queued, Starting, Ended}),
        Starting: frozenset({Starting, Running, Stopping, Queued, Ended}),
        Running: frozenset({Running, Stopping, Queued, Ended}),
        Stopping: frozenset({Stopping, Queued, Ended}),
        Ended: frozenset[type[State]](),
    }
)


class Run(Struct, frozen=True):
    """A run with its present state and the little history that decisions need."""

    spec: RunSpec
    state: State
    priority: Priority
    enqueued_at: float
    sequence: int  # order of submission, for ever
    tag: int  # place among the groups of its priority; kept when it comes back (see queue)
    limit_bytes: int  # grows after an out-of-memory kill
    attempts: int = 0
    failures: int = 0
    laters: int = 0
    losses: int = 0
    preemptions: int = 0
    steps_done: int = 0
    in_doubt: bool = False  # how an attempt at the present step ended is not known
    tries_before: int = 0  # what had gone wrong when the present step began
    repository_factor: float = 1.0  # where its size was found out after the fetch
    peak_bytes: int = 0  # the largest of all attempts that are over, as far as it was seen

    @property
    def id(self) -> str:
        return self.spec.id

    @property
    def attempt(self) -> Attempt:
        """The attempt that is or was last under way."""
        return Attempt(self.spec.id, self.attempts)

    @property
    def soft_limit_bytes(self) -> int | None:
        """Grows with the hard one."""
        soft = self.spec.soft_limit_bytes
        return None if soft is None else soft * self.limit_bytes // self.spec.limit_bytes

    @property
    def live(self) -> bool:
        return isinstance(self.state, Live)


def outcome_of(run: Run) -> Outcome | None:
    """None as long as it has not ended."""
    return run.state.outcome if isinstance(run.state, Ended) else None
