"""A fault: what is done, and what may differ after it. Everything else must be as without it."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.chaos.errands import Errand
    from tests.chaos.scene import Scene

Undo = Callable[[], None]


class NotDone(Exception):
    """There was nothing to do it to: no daemon just then, no keeper."""


class May(enum.Flag):
    """What may come of a run because of a fault, and is counted."""

    NOTHING = 0
    BE_LOST = enum.auto()  # its end is not known, and is said to be `lost`; it is not run again
    RUN_AGAIN = enum.auto()  # it was stopped under pressure, and goes on later
    LACK_ROOM = enum.auto()  # output had nowhere to go, and is counted
    FAIL_AT_WORK = enum.auto()  # its workspace is on a disk that takes nothing
    END_EARLY = enum.auto()  # the last of its output died with the pipe that nobody held

    @property
    def words(self) -> str:
        return ", ".join(_WORDS[one] for one in May if one in self) or "nothing"


_WORDS = {
    May.BE_LOST: "the end of what ran then may be `lost`",
    May.RUN_AGAIN: "a run may be stopped and run again",
    May.LACK_ROOM: "output may be missing, and is counted; work that could not be saved on its "
    "branch stays in its workspace",
    May.FAIL_AT_WORK: "an agent that works in a workspace there may fail",
    May.END_EARLY: "the last output of what ended then may be missing",
}


@dataclass(frozen=True)
class Fault:
    """`do` is done in the middle of a round, and undone at its end at the latest; `agents` are runs
    that misbehave among the others. `alone`: with no other `do` beside it."""

    name: str
    about: str
    may: May = May.NOTHING
    do: Callable[[Scene], Undo | None] | None = None
    agents: Callable[[Scene, str], Errand] | None = None
    alone: bool = False
