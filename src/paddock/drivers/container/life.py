"""One attempt as the driver knows it, from the order to start it until it is forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from paddock.cgroups.group import Walls
from paddock.core.events import Event
from paddock.core.run import Attempt, Exit
from paddock.drivers.container.naming import Box
from paddock.drivers.container.tether import Tether
from paddock.drivers.draining import Drain
from paddock.drivers.watched import Watched
from paddock.ports import Stop

Tell = Callable[[Event], None]


class Phase(Enum):
    STARTING = "its container is being made"
    BEGUN = "the shim was told to go, or an earlier daemon told it"
    OVER = "nothing of it is left, and that was told"


@dataclass(slots=True, eq=False)
class Life:
    attempt: Attempt
    container: str
    box: Box
    tell: Tell
    limit_bytes: int = 0
    phase: Phase = Phase.STARTING
    asked: Walls = Walls()  # noqa: RUF009 - frozen
    tether: Tether | None = None  # None: not there yet, not any more, or in a virtual machine
    watched: Watched | None = None  # its cgroup, while it is tethered
    drain: Drain | None = None  # also of one that is over, until its FIFO is empty
    started: bool = False  # told
    exit: Exit | None = None  # of the main process
    exit_told: bool = False
    empty: bool = False
    asked_bytes: int = 0  # what the engine says it uses, where no cgroup can be seen
    peak_bytes: int = 0  # as sampled
    stop: Stop | None = None  # why it is being killed
    killing: bool = False
    paused: bool = False  # by the engine
    stands: bool = False  # still, as far as anybody wants it to
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)  # of standing still and going on
    forgotten: bool = False  # nobody listens any more; cleared away once it is over
    undrained_since: float | None = None

    @property
    def is_over(self) -> bool:
        return self.phase is Phase.OVER

    def untie(self) -> None:
        """Of its container: it is over, or for the next daemon."""
        for tie in (self.tether, self.watched):
            if tie is not None:
                tie.close()
        self.tether = self.watched = None
