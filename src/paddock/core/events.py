"""What can happen to a fleet, in the past tense. Every event carries its own time.

Times are seconds on one clock that never goes back; whoever feeds `step` sees to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .policy import Policy
from .run import Attempt, Exit, Outcome, Priority, RunSpec


@dataclass(frozen=True, slots=True)
class Host:
    """The host at one tick. `used_percent` None means that it could not be read."""

    available_bytes: int | None
    used_percent: float | None
    total_bytes: int
    swap_percent: float = 0.0
    memory_stall_percent: float = 0.0  # PSI memory full, avg10
    pageouts_rising: bool = False
    slowdown: float = 1.0  # completion time against an idle host


@dataclass(frozen=True, slots=True)
class Submitted:
    """One submission, taken whole or refused whole.

    `known` tells the outcome of needs that ended so long ago that the fleet forgot them.
    """

    at: float
    specs: tuple[RunSpec, ...]
    known: Mapping[str, Outcome] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    at: float
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class SpawnFailed:
    at: float
    attempt: Attempt
    reason: str
    permanent: bool = False  # "command not found" will not mend itself


@dataclass(frozen=True, slots=True)
class StartPutOff:
    """Nobody was asked to start it: that it starts could not be remembered."""

    at: float
    attempt: Attempt
    reason: str


@dataclass(frozen=True, slots=True)
class Exited:
    """The main process ended; `empty` says whether no other process of the attempt is left."""

    at: float
    attempt: Attempt
    exit: Exit
    empty: bool = True


@dataclass(frozen=True, slots=True)
class Emptied:
    """The last process of an attempt is gone, and its memory with it."""

    at: float
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class AttemptLost:
    """The attempt is gone and nobody knows how it ended (reboot, keeper killed)."""

    at: float
    attempt: Attempt
    reason: str
    permanent: bool = False  # it may have done its work: trying again could do it twice


@dataclass(frozen=True, slots=True)
class StopFound:
    """A daemon that died before it could remember had begun to kill this attempt, and why."""

    at: float
    attempt: Attempt
    outcome: Outcome
    because: str


@dataclass(frozen=True, slots=True)
class Sampled:
    """One look at the host and at the agents; agents that are not named use what they used."""

    at: float
    host: Host
    used: Mapping[Attempt, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LimitPassed:
    """The driver saw a wall reached without a kill: a throttle dwell, or an escape (ISO-8)."""

    at: float
    attempt: Attempt
    reason: str


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something about an attempt that people should read in its story; it decides nothing."""

    at: float
    attempt: Attempt
    note: str


@dataclass(frozen=True, slots=True)
class CheckpointWritten:
    at: float
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class TimePassed:
    at: float


@dataclass(frozen=True, slots=True)
class CancelRequested:
    at: float
    run: str
    force: bool = False
    refused: str | None = None  # taken back, because it could not be remembered: why


@dataclass(frozen=True, slots=True)
class PriorityChanged:
    at: float
    run: str
    priority: Priority


@dataclass(frozen=True, slots=True)
class FreezeRequested:
    at: float
    run: str


@dataclass(frozen=True, slots=True)
class ThawRequested:
    at: float
    run: str


@dataclass(frozen=True, slots=True)
class BreakerReset:
    at: float
    group: str


@dataclass(frozen=True, slots=True)
class HeartbeatDeclared:
    """A periodic run. `template.id` names it; each beat is a run of its own."""

    at: float
    template: RunSpec
    every_s: float


@dataclass(frozen=True, slots=True)
class HeartbeatRemoved:
    at: float
    name: str


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    at: float
    policy: Policy


Event = (
    Submitted
    | Started
    | SpawnFailed
    | StartPutOff
    | Exited
    | Emptied
    | AttemptLost
    | StopFound
    | Sampled
    | LimitPassed
    | Noticed
    | CheckpointWritten
    | TimePassed
    | CancelRequested
    | PriorityChanged
    | FreezeRequested
    | ThawRequested
    | BreakerReset
    | HeartbeatDeclared
    | HeartbeatRemoved
    | PolicyChanged
)
