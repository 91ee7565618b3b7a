"""How a long story is kept short: its beginning and its end stay, the middle becomes a count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from paddock.ports import Move

HEAD: Final = 400
TAIL: Final = 500
# Folded this many at a time, so that most moves cost one insert. At most HEAD + TAIL + STRIDE
# lines are kept.
STRIDE: Final = 100
LONGEST: Final = HEAD + TAIL + STRIDE


def fold_until(number: int) -> int | None:
    """After the move of this number: the last move that goes into the line HEAD + 1, if any."""
    if number < LONGEST or number % STRIDE:
        return None
    return number - TAIL


def tell(moves: Sequence[Move]) -> tuple[Move, ...]:
    return tuple(_told(move) if move.moves > 1 else move for move in moves)


def _told(move: Move) -> Move:
    text = f"{move.moves:,} moves from here on are not kept one by one"
    return Move(move.at, move.state, move.attempt, text, move.moves)
