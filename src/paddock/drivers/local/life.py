"""One attempt as the driver knows it, from the order to start it until it is forgotten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from signal import SIGUSR2
from typing import Any

from paddock.core.events import Event
from paddock.core.run import Attempt, Exit, Outcome
from paddock.drivers.attempts import heeds
from paddock.drivers.draining import Drain
from paddock.ports import Stop

Tell = Callable[[Event], None]


class Phase(Enum):
    WAITING = "no keeper has been asked to start it"
    ASKED = "a keeper was asked, and has not answered"
    KEPT = "a keeper has it"
    ORPHANED = "its keeper is dead, or it is known only from what a dead one wrote"
    OVER = "nothing of it is left, and that was told"


@dataclass(slots=True, eq=False)
class Life:
    attempt: Attempt
    mark: str
    tell: Tell
    limit_bytes: int = 0  # 0: not known
    phase: Phase = Phase.WAITING
    # What the keeper is asked for, until it has answered: holds the environment, so no longer.
    order: dict[str, Any] | None = field(default=None, repr=False)
    pid: int = 0
    start: int = 0
    drain: Drain | None = None  # also of one that is over, until its FIFO is empty
    spare_fifo: str = ""  # the keeper's own descriptor of it, should its name be gone
    started: bool = False  # told
    exit: Exit | None = None  # of the main process
    exit_told: bool = False
    empty: bool = False
    peak_bytes: int = 0  # as sampled
    stop: Stop | None = None  # why it is being killed
    frozen: bool = False
    kept: bool = False  # the living keeper knows it
    kill_heard: bool = True  # by the keeper
    facts: Callable[[], str] | None = None  # for rescues, until they are written
    has_facts: bool = False  # written
    has_signs: bool = False  # files beside its output, by which it is spoken to
    forgotten: bool = False  # nobody listens any more; cleared away once it is over
    missed: int = 0  # looks in a row that found none of its processes
    undrained_since: float | None = None

    @property
    def is_over(self) -> bool:
        return self.phase is Phase.OVER

    @property
    def has_keeper(self) -> bool:
        return self.phase in (Phase.ASKED, Phase.KEPT)

    def heeds(self) -> bool | None:
        """Whether it wants to be asked for checkpoints."""
        return heeds(self.pid, SIGUSR2)


def stop_in(told: object) -> Stop | None:
    """Why somebody else was killing it, if they said so and we know the word."""
    if not isinstance(told, dict):
        return None
    try:
        outcome = Outcome(told["outcome"])
    except (KeyError, ValueError):
        return None
    return Stop(outcome, str(told.get("because", "")))
