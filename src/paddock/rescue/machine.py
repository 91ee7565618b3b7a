"""This machine, as relief sees it and acts on it; and what is done so that we last until then."""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Sequence

from paddock.cgroups.files import write

from .agents import Agent, Yard
from .killing import kill_now
from .memory import Gauge, Reading
from .records import note_killed, own_records

PREEMPTED, CANCELLED = "preempted", "cancelled"
MCL_CURRENT = 1
LAST_TO_DIE = "-1000"


class Machine:
    """What is needed is found when it is made; acting then opens few files and grows little."""

    def __init__(self, state: str, *, thorough: bool = False) -> None:
        self.yard = Yard(own_records(state))
        self._thorough = thorough
        self._gauge = Gauge(self.yard.where)

    def look(self) -> Reading:
        return self._gauge.look()

    def agents(self) -> list[Agent]:
        before = self.yard.where
        found = self.yard.agents(thorough=self._thorough)
        if self.yard.where != before:  # a daemon has moved in, or a new one elsewhere
            self._gauge = Gauge(self.yard.where)
        return found

    def kill(self, victims: Sequence[Agent], reasons: Sequence[str]) -> list[str]:
        for victim, reason in zip(victims, reasons, strict=True):
            tell_daemon(self.yard, victim, outcome=PREEMPTED, because=reason)
        return kill_now(self.yard, victims)

    def rest(self, seconds: float) -> None:
        time.sleep(seconds)

    def now(self) -> float:
        return time.monotonic()

    def prepare(self) -> None:
        """One whole look, so that all code and buffers are there; then they are kept there."""
        self.look()
        self.agents()
        keep_in_memory()


def tell_daemon(yard: Yard, agent: Agent, *, outcome: str, because: str) -> None:
    said = {"outcome": outcome, "because": because, "at": time.time()}
    note_killed(yard.records, agent.key, said)


def keep_in_memory() -> None:
    """Best effort, and nothing is said when it is refused: without rights to it everything works
    as well, only slower on a machine that has begun to drop our pages."""
    with contextlib.suppress(OSError):
        write("/proc/self/oom_score_adj", LAST_TO_DIE)
    try:
        ctypes.CDLL(None).mlockall(MCL_CURRENT)
    except (OSError, AttributeError):
        return
