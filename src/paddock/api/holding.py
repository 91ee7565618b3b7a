"""What is held in memory for those who read output: so much for all of them together.

Each holds two pieces: one that it has not taken yet, and the next. The first readers get large
ones; the more is held, the smaller they become. Two records for each of as many readers as there
can be are set aside, so that nobody waits for others to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

HELD_BYTES: Final = 16 << 20  # by all together, should none of them take anything
PIECE_BYTES: Final = 64 * 1024
RECORD_BYTES: Final = 4 * 1024
PIECES: Final = 2
MOST_READERS: Final = 1024 + 64  # as many as there are connections, see `accepting`
PART: Final = 16  # one of them gets at most such a part of what is left


class Purse:
    def __init__(self, held_bytes: int = HELD_BYTES) -> None:
        set_aside = PIECES * RECORD_BYTES * MOST_READERS
        self._left_bytes = max(0, held_bytes - set_aside)

    @contextmanager
    def share(self) -> Iterator[Share]:
        share = Share(self)
        try:
            yield share
        finally:
            share.set_piece(0)

    def take(self, more_bytes: int) -> None:
        self._left_bytes -= more_bytes

    def largest_piece(self) -> int:
        part = self._left_bytes // (PIECES * PART)
        return max(RECORD_BYTES, min(PIECE_BYTES, part))


class Share:
    """What one reader has of it."""

    def __init__(self, purse: Purse) -> None:
        self._purse = purse
        self._taken_bytes = 0  # beyond what is set aside for it

    def next_piece(self) -> int:
        """How large it may be. It counts from now on, and the last one no longer."""
        self.set_piece(0)
        piece_bytes = self._purse.largest_piece()
        self.set_piece(piece_bytes)
        return piece_bytes

    def set_piece(self, piece_bytes: int) -> None:
        """As large as it turned out to be."""
        taken = PIECES * max(0, piece_bytes - RECORD_BYTES)
        self._purse.take(taken - self._taken_bytes)
        self._taken_bytes = taken
