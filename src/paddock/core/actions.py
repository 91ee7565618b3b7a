"""What a step asks for, in the imperative. Every action can be repeated without harm."""

from __future__ import annotations

from dataclasses import dataclass

from .run import Attempt


@dataclass(frozen=True, slots=True)
class StartAttempt:
    attempt: Attempt
    limit_bytes: int
    resume: bool = False  # an earlier attempt may have left a checkpoint


@dataclass(frozen=True, slots=True)
class WarnAttempt:
    """Soft timeout: SIGUSR1 where it does no harm, and the file."""

    attempt: Attempt


@dataclass(frozen=True, slots=True)
class AskCheckpoint:
    attempt: Attempt
    because: str


@dataclass(frozen=True, slots=True)
class TerminateAttempt:
    attempt: Attempt
    because: str


@dataclass(frozen=True, slots=True)
class KillAttempt:
    """Everything of the attempt, at once; also strays after the main process ended."""

    attempt: Attempt
    because: str


@dataclass(frozen=True, slots=True)
class FreezeAttempt:
    attempt: Attempt
    reclaim: bool = False  # also push out what can be pushed out


@dataclass(frozen=True, slots=True)
class ThawAttempt:
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class Refuse:
    """A request that was not taken: nothing of it is kept, and the sentence says why."""

    what: str
    because: str


Action = (
    StartAttempt
    | WarnAttempt
    | AskCheckpoint
    | TerminateAttempt
    | KillAttempt
    | FreezeAttempt
    | ThawAttempt
    | Refuse
)
