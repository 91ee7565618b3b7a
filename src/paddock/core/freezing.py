"""Attempts that stand still: by a user's wish, or to gain time under pressure."""

from __future__ import annotations

from msgspec.structs import replace

from .actions import FreezeAttempt, ThawAttempt
from .fleet import Fleet
from .run import Frozen, Run, Running
from .units import format_duration


def freeze(fleet: Fleet, run: Run, *, by: Frozen, because: str = "", briefly: bool = False) -> None:
    """`briefly`: it goes on in a second or two, so its memory is not pushed out for that."""
    state = run.state
    if not isinstance(state, Running) or state.frozen in (by, Frozen.BY_USER):
        return  # what the user froze, only the user thaws
    frozen_at = state.frozen_at if state.frozen else fleet.now
    text = f"frozen by {by}: {because}" if because else f"frozen by {by}"
    fleet.move(run, replace(state, frozen=by, frozen_at=frozen_at), text)
    reclaim = by is Frozen.BY_PRESSURE and not briefly
    fleet.actions.append(FreezeAttempt(run.attempt, reclaim=reclaim))


def thaw(fleet: Fleet, run: Run) -> None:
    """Its timers move on by the time it stood still. Where bursts take turns so does when it was
    seen to grow: it goes on with that."""
    state = run.state
    if not isinstance(state, Running) or state.frozen is None:
        return
    pause_s = fleet.now - state.frozen_at
    thawed = replace(
        state,
        frozen=None,
        frozen_at=0.0,
        paused_s=state.paused_s + pause_s,
        soft_at=None if state.soft_at is None else state.soft_at + pause_s,
        hard_at=None if state.hard_at is None else state.hard_at + pause_s,
    )
    if fleet.takes_turns:
        fleet.demand.stood_still(run.id, pause_s)
    fleet.move(run, thawed, f"thawed after {format_duration(pause_s)}")
    fleet.actions.append(ThawAttempt(run.attempt))
