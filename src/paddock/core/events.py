"""What can happen to a fleet, in the past tense. Every event carries its own time.

Times are seconds on one clock that never goes back; whoever feeds `step` sees to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from .policy import Policy
from .run import Attempt, Exit, Outcome, Priority, RunSpec


class Host(Struct, frozen=True):
    """The host at one tick. `used_percent` None means that it could not be read."""

    available_bytes: int | None
    used_percent: float | None
    total_bytes: int
    swap_percent: float = 0.0
    memory_stall_percent: float = 0.0  # PSI memory full, avg10
    pageouts_rising: bool = False
    slowdown: float = 1.0  # completion time against what is usual


class Submitted(Struct, frozen=True):
    """One submission, taken whole or refused whole.

    `known` tells the outcome of needs that ended so long ago that the fleet forgot them.
    """

    at: float
    specs: tuple[RunSpec, ...]
    known: Mapping[str, Outcome] = {}


class Started(Struct, frozen=True):
    at: float
    attempt: Attempt


class SpawnFailed(Struct, frozen=True):
    at: float
    attempt: Attempt
    reason: str
    permanent: bool = False  # "command not found" will not mend itself


class StartPutOff(Struct, frozen=True):
    """Nobody was asked to start it: that it starts could not be remembered, or it has no place.
    It was no attempt, and the next one has its number."""

    at: float
    attempt: Attempt
    reason: str
    retry_s: float = 0.0  # not before that
    awaits_place: bool = False  # or when a place has come free


class PlacesFreed(Struct, frozen=True):
    """There may be room for so many of those that wait for a place to work in."""

    at: float
    count: int


class StartTakesLonger(Struct, frozen=True):
    """It is being prepared, and somebody is at it: the patience begins anew."""

    at: float
    attempt: Attempt
    because: str


class RepositoryWeighed(Struct, frozen=True):
    """How large it is was known only after it had been fetched: so much more time it gets."""

    at: float
    attempt: Attempt
    factor: float


class Exited(Struct, frozen=True):
    """The main process ended; `empty` says whether no other process of the attempt is left."""

    at: float
    attempt: Attempt
    exit: Exit
    empty: bool = True


class Emptied(Struct, frozen=True):
    """The last process of an attempt is gone, and its memory with it."""

    at: float
    attempt: Attempt


class AttemptLost(Struct, frozen=True):
    """The attempt is gone and nobody knows how it ended (reboot, keeper killed)."""

    at: float
    attempt: Attempt
    reason: str
    permanent: bool = False  # it may have done its work: trying again could do it twice


class StopFound(Struct, frozen=True):
    """A daemon that died before it could remember had begun to kill this attempt, and why."""

    at: float
    attempt: Attempt
    outcome: Outcome
    because: str


class Sampled(Struct, frozen=True):
    """One look at the host and at the agents; agents that are not named use what they used."""

    at: float
    host: Host
    used: Mapping[Attempt, int] = {}


class LimitPassed(Struct, frozen=True):
    """The driver saw a wall reached without a kill: a throttle dwell, or an escape (ISO-8)."""

    at: float
    attempt: Attempt
    reason: str


class Noticed(Struct, frozen=True):
    """Something about an attempt that people should read in its story; it decides nothing."""

    at: float
    attempt: Attempt
    note: str


class CheckpointWritten(Struct, frozen=True):
    at: float
    attempt: Attempt


class CheckpointDeclined(Struct, frozen=True):
    """The agent knows nothing of checkpoints: waiting for one would only keep the memory."""

    at: float
    attempt: Attempt


class TimePassed(Struct, frozen=True):
    at: float


class CancelRequested(Struct, frozen=True):
    at: float
    run: str
    force: bool = False
    refused: str | None = None  # taken back, because it could not be remembered: why


class PriorityChanged(Struct, frozen=True):
    at: float
    run: str
    priority: Priority


class FreezeRequested(Struct, frozen=True):
    at: float
    run: str


class ThawRequested(Struct, frozen=True):
    at: float
    run: str


class BreakerReset(Struct, frozen=True):
    at: float
    group: str


class HeartbeatDeclared(Struct, frozen=True):
    """A periodic run. `template.id` names it; each beat is a run of its own."""

    at: float
    template: RunSpec
    every_s: float


class HeartbeatRemoved(Struct, frozen=True):
    at: float
    name: str


class PolicyChanged(Struct, frozen=True):
    at: float
    policy: Policy


Event = (
    Submitted
    | Started
    | SpawnFailed
    | StartPutOff
    | StartTakesLonger
    | PlacesFreed
    | RepositoryWeighed
    | Exited
    | Emptied
    | AttemptLost
    | StopFound
    | Sampled
    | LimitPassed
    | Noticed
    | CheckpointWritten
    | CheckpointDeclined
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

# How an attempt comes to its end; what each says counts only after the ones before it.
OF_AN_END: Final = (Exited, Emptied, AttemptLost)
