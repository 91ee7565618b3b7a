"""How much of a resource is promised over time, on a grid: add some, find where room is short."""

from __future__ import annotations

BLOCK_SHIFT = 6
BLOCK = 1 << BLOCK_SHIFT


class Ledger:
    """Amounts per cell of the grid.

    Cells live in blocks of 64. A promise over whole blocks is noted once per block (`_whole`), and
    each block knows a roof over its cells (`_top`), so 5,000 cells cost 80 steps and not 5,000. A
    roof may be too high after something was taken back: then the cells are looked at.
    """

    def __init__(self) -> None:
        self._cells: list[int] = []  # without what is promised to the whole block
        self._whole: list[int] = []
        self._top: list[int] = []  # at least the highest cell of the block, everything included

    def add(self, start: int, end: int, amount: int) -> None:
        """Promise `amount` in the cells [start, end); a negative one is taken back."""
        if start >= end:
            return
        self._grow(end)
        first, last = start >> BLOCK_SHIFT, (end - 1) >> BLOCK_SHIFT
        if first == last:
            self._add_within(first, start, end, amount)
            return
        self._add_within(first, start, (first + 1) << BLOCK_SHIFT, amount)
        self._add_within(last, last << BLOCK_SHIFT, end, amount)
        if last - first > 1:
            whole, top = self._whole, self._top
            whole[first + 1 : last] = [held + amount for held in whole[first + 1 : last]]
            top[first + 1 : last] = [held + amount for held in top[first + 1 : last]]

    def last_above(self, start: int, end: int, room: int) -> int:
        """The last cell in [start, end) that holds more than `room` (≥ 0), or -1."""
        if start >= end:
            return -1
        first, last = start >> BLOCK_SHIFT, (end - 1) >> BLOCK_SHIFT
        top = self._top
        if max(top[first : last + 1], default=0) <= room:
            return -1
        for block in range(min(last, len(top) - 1), first - 1, -1):
            if top[block] > room:
                low = max(start, block << BLOCK_SHIFT)
                high = min(end, (block + 1) << BLOCK_SHIFT)
                found = self._last_within(low, high, room - self._whole[block])
                if found >= 0:
                    return found
        return -1

    def at(self, cell: int) -> int:
        block = cell >> BLOCK_SHIFT
        return self._cells[cell] + self._whole[block] if block < len(self._whole) else 0

    def _last_within(self, low: int, high: int, room: int) -> int:
        span = self._cells[low:high]
        if max(span) <= room:
            return -1
        return high - 1 - next(i for i, held in enumerate(reversed(span)) if held > room)

    def _add_within(self, block: int, start: int, end: int, amount: int) -> None:
        span = [held + amount for held in self._cells[start:end]]
        self._cells[start:end] = span
        self._top[block] = max(self._top[block], max(span) + self._whole[block])

    def _grow(self, end: int) -> None:
        blocks = (end + BLOCK - 1) >> BLOCK_SHIFT
        more = blocks - len(self._top)
        if more > 0:
            more = max(more, len(self._top))  # doubling keeps the cost of growth small
            self._cells.extend([0] * (more << BLOCK_SHIFT))
            self._whole.extend([0] * more)
            self._top.extend([0] * more)
