"""What a step asks for, in the imperative. Every action can be repeated without harm."""

from __future__ import annotations

from msgspec import Struct

from .run import Attempt


class StartAttempt(Struct, frozen=True):
    attempt: Attempt
    limit_bytes: int
    resume: bool = False  # an earlier attempt may have left a checkpoint
    step: int | None = None  # which, of a run in steps
    in_doubt: bool = False  # an earlier attempt may have done that step


class WarnAttempt(Struct, frozen=True):
    """Soft timeout: SIGUSR1 where it does no harm, and the file."""

    attempt: Attempt


class AskCheckpoint(Struct, frozen=True):
    attempt: Attempt
    because: str


class TerminateAttempt(Struct, frozen=True):
    attempt: Attempt
    because: str


class KillAttempt(Struct, frozen=True):
    """Everything of the attempt, at once; also strays after the main process ended."""

    attempt: Attempt
    because: str


class FreezeAttempt(Struct, frozen=True):
    attempt: Attempt
    reclaim: bool = False  # also push out what can be pushed out


class ThawAttempt(Struct, frozen=True):
    attempt: Attempt


class Refuse(Struct, frozen=True):
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
