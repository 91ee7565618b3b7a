"""What a step leaves behind: a run that left one state and entered another."""

from __future__ import annotations

from typing import NamedTuple

from .run import Run, State


class ForbiddenMove(Exception):
    """A move that is not in ALLOWED_MOVES: a bug in paddock, never the user's fault."""


class Change(NamedTuple):
    """One state left and one entered: what is remembered, and what the story tells."""

    run: Run
    before: State | None
    because: str
