"""The moves of a run as people read them: who stopped it and why, said once."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.wire.views import MoveView

# A stop goes from asking to SIGTERM to SIGKILL, from any of them on and perhaps past one: the third
# press kills, and every one after it kills again.
PRESSED = (
    "it is still there: pressed harder",
    "it is still there: killed (SIGKILL)",
    "it is still there: killed once more",
)
LEFT_BEHIND = " and left processes behind"
BACK = "stopped, and back in the queue"


def story_of(moves: Sequence[MoveView], outcome: str | None) -> list[str]:
    """A sentence for each move; `outcome` is the run's, if it has ended."""
    return [_sentence(moves, at, outcome) + _folded(moves[at]) for at in range(len(moves))]


def _sentence(moves: Sequence[MoveView], at: int, outcome: str | None) -> str:
    move, before = moves[at], moves[at - 1] if at else None
    is_known = before is not None and before.state == "stopping" and _same(before, move)
    if move.state == "stopping":
        return _pressed(moves[:at], move) if is_known else _stopped(moves[at:], outcome)
    if not is_known:
        return move.because
    return BACK if move.state == "queued" else outcome or move.because


def _same(stop: MoveView, move: MoveView) -> bool:
    """What a step ended with begins with its name."""
    return move.because == stop.because or move.because.endswith(f": {stop.because}")


def _pressed(before: Sequence[MoveView], move: MoveView) -> str:
    times = 0
    for other in reversed(before):
        if other.state != "stopping" or not _same(other, move):
            break
        times += 1
    return PRESSED[min(times, len(PRESSED)) - 1]


def _stopped(moves: Sequence[MoveView], outcome: str | None) -> str:
    because = moves[0].because
    if because.endswith(LEFT_BEHIND):
        return f"{because}: they are killed"  # it ended by itself, and nobody stopped it
    return f"{_who(moves, outcome)}: {because}"


def _who(moves: Sequence[MoveView], outcome: str | None) -> str:
    """Only a stop that people asked for ends as cancelled; all others are paddock's own."""
    follows = next((move.state for move in moves if move.state != "stopping"), None)
    if follows is None:
        return "is being stopped"
    by_people = follows == "ended" and outcome == "cancelled"
    return "a user stopped it" if by_people else "paddock stopped it"


def _folded(move: MoveView) -> str:
    return f" (and {move.moves - 1} moves more, not kept)" if move.moves > 1 else ""
