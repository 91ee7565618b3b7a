"""The last lines of what an agent wrote, safe to show. Lines have numbers that stay theirs."""

from __future__ import annotations

from typing import Final

from paddock.client.faces import Cleaner

LONGEST_LINE: Final = 4096  # a longer one is shown as several
MOST_CHARACTERS: Final = 16 << 20  # whatever the lines are like
SLACK: Final = 4  # cut off when a quarter too many are there: one by one would move all of them


class LogBuffer:
    def __init__(self, most_lines: int) -> None:
        self.most_lines = most_lines
        self.changes = 0  # counts up
        self._lines: list[str] = []
        self._first = 0  # the number of the first that is held
        self._rest = ""  # of a line that has no end yet
        self._size = 0
        self._cleaner = Cleaner(colours=True)

    @property
    def begin(self) -> int:
        """The number of the first line; `end` is that after the last."""
        return max(self._first, self.end - self.most_lines)

    @property
    def end(self) -> int:
        return self._first + len(self._lines) + bool(self._rest)

    def line(self, number: int) -> str:
        at = number - self._first
        return self._lines[at] if at < len(self._lines) else self._rest

    def clear(self) -> None:
        self._first, self._rest, self._size = self.end, "", 0
        self._lines.clear()
        self._cleaner = Cleaner(colours=True)
        self.changes += 1

    def feed(self, data: bytes) -> None:
        *whole, rest = (self._rest + self._cleaner.text(data)).split("\n")
        while len(rest) > LONGEST_LINE:
            whole.append(rest[:LONGEST_LINE])
            rest = rest[LONGEST_LINE:]
        self._rest = rest
        for line in whole:
            self._add(line)
        self._forget()
        self.changes += 1

    def note(self, text: str) -> None:
        """A line of ours among theirs: output that is not kept any more."""
        if self._rest:
            self._add(self._rest)
            self._rest = ""
        self._add(text)
        self.changes += 1

    def find(self, text: str, start: int, *, forward: bool) -> int | None:
        """The number of the nearest line that has it, from that one on; capitals count only where
        there are some."""
        wanted = text if _has_capitals(text) else text.casefold()
        numbers = range(start, self.end) if forward else range(start, self.begin - 1, -1)
        for number in numbers:
            line = self.line(number)
            if wanted in (line if wanted is text and _has_capitals(text) else line.casefold()):
                return number
        return None

    def _add(self, line: str) -> None:
        for begin in range(0, len(line) or 1, LONGEST_LINE):
            piece = line[begin : begin + LONGEST_LINE]
            self._lines.append(piece)
            self._size += len(piece)

    def _forget(self) -> None:
        over = len(self._lines) - self.most_lines
        if over > self.most_lines // SLACK:
            self._drop(over)
        while self._size > MOST_CHARACTERS and self._lines:
            self._drop(max(1, len(self._lines) // SLACK))

    def _drop(self, count: int) -> None:
        self._size -= sum(map(len, self._lines[:count]))
        del self._lines[:count]
        self._first += count


def _has_capitals(text: str) -> bool:
    return text != text.lower()
