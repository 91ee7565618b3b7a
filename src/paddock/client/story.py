"""The moves of a run as people read them: who stopped it and why, said once."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.wire.views import MoveView

STILL_THERE = "it is still there: pressed harder"
BACK = "stopped, and back in the queue"


def story_of(moves: Sequence[MoveView], outcome: str | None) -> list[str]:
    """A sentence for each move; `outcome` is the run's, if it has ended."""
    return [_sentence(moves, at, outcome) + _folded(moves[at]) for at in range(len(moves))]


def _sentence(moves: Sequence[MoveView], at: int, outcome: str | None) -> str:
    move, before = moves[at], moves[at - 1] if at else None
    is_known = before is not None and before.state == "stopping" and _same(before, move)
    if move.state == "stopping":
        return STILL_THERE if is_known else f"{_who(moves[at:], outcome)}: {move.because}"
    if not is_known:
        return move.because
    return BACK if move.state == "queued" else outcome or move.because


def _same(stop: MoveView, move: MoveView) -> bool:
    """What a step ended with begins with its name."""
    return move.because == stop.because or move.because.endswith(f": {stop.because}")


def _who(moves: Sequence[MoveView], outcome: str | None) -> str:
    """Only a stop that people asked for ends as cancelled; all others are paddock's own."""
    follows = next((move.state for move in moves if move.state != "stopping"), None)
    if follows is None:
        return "is being stopped"
    by_people = follows == "ended" and outcome == "cancelled"
    return "a user stopped it" if by_people else "paddock stopped it"


def _folded(move: MoveView) -> str:
    return f" (and {move.moves - 1} moves more, not kept)" if move.moves > 1 else ""
