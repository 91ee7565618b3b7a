"""What stands on a terminal after what was written to it: as much of one as tmux uses of an xterm.

tmux writes only what has changed since it last drew, so what is on a screen cannot be read from its
bytes alone. A sign that is not known here is a mistake and no guess.
"""

from __future__ import annotations

import re
from typing import Final

# A control sequence, a title or a name, a choice of characters, one control, or text.
_PIECES: Final = re.compile(
    r"\x1b\[([?>=]?)([0-9;:]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]"
    r"|\x1b[=>78Mc]|([\x00-\x1f\x7f])|([^\x00-\x1f\x7f]+)"
)
_CUT: Final = re.compile(r"\x1b(?:\[[?>=]?[0-9;:]*|\][^\x07\x1b]*|[()])?\Z")


class Drawn:
    def __init__(self, columns: int, rows: int) -> None:
        self._columns, self._rows = columns, rows
        self._cells = [[" "] * columns for _ in range(rows)]
        self._chosen = [False] * rows  # whether a row begins in reverse video
        self._row = self._column = 0
        self._reverse = False
        self._held = b""
        self._rest = ""
        self.changed: set[int] = set()  # rows, since somebody last cleared it

    def row(self, number: int) -> str:
        return "".join(self._cells[number])

    def chosen(self) -> list[str]:
        """The rows that begin in reverse video."""
        return [self.row(number) for number in range(self._rows) if self._chosen[number]]

    def __str__(self) -> str:
        return "\n".join(self.row(number).rstrip() for number in range(self._rows))

    def __contains__(self, text: str) -> bool:
        return any(text in self.row(number) for number in range(self._rows))

    def draw(self, data: bytes) -> None:
        text = self._rest + self._decoded(data)
        cut = _CUT.search(text)
        end = cut.start() if cut else len(text)
        self._rest = text[end:]
        at = 0
        while at < end:
            found = _PIECES.match(text, at, end)
            assert found, f"not known here: {text[at : at + 20]!r}"
            private, numbers, sign, control, words = found.groups()
            if words:
                self._write(words)
            elif control:
                self._control(control)
            elif sign and not private:
                self._do(sign, [int(n or 0) for n in re.split("[;:]", numbers)])
            at = found.end()

    def _decoded(self, data: bytes) -> str:
        """A sign of several bytes may come in two pieces."""
        data = self._held + data
        for kept in range(min(4, len(data) + 1)):
            try:
                text = data[: len(data) - kept].decode()
            except UnicodeDecodeError:
                continue
            self._held = data[len(data) - kept :]
            return text
        raise AssertionError(f"no UTF-8: {data[:20]!r}")

    def _write(self, words: str) -> None:
        for sign in words:
            if self._column >= self._columns:  # the next one goes below
                self._row, self._column = min(self._row + 1, self._rows - 1), 0
            if self._column == 0:
                self._chosen[self._row] = self._reverse
            self._cells[self._row][self._column] = sign
            self._column += 1
        self.changed.add(self._row)

    def _control(self, sign: str) -> None:
        if sign == "\r":
            self._column = 0
        elif sign == "\n":
            assert self._row < self._rows - 1, "it would scroll"
            self._row += 1
        elif sign == "\b":
            self._column = max(0, self._column - 1)

    def _do(self, sign: str, numbers: list[int]) -> None:
        first = max(1, numbers[0])
        match sign:
            case "H":
                self._row, self._column = first - 1, max(1, (*numbers, 1)[1]) - 1
            case "A" | "B":
                self._row += first if sign == "B" else -first
            case "C" | "D":
                self._column += first if sign == "C" else -first
            case "d":
                self._row = first - 1
            case "G":
                self._column = first - 1
            case "K" | "J" | "X":
                self._erase(sign, numbers[0])
            case "m":
                self._style(numbers)
            case "r" | "t" | "h" | "l" | "c" | "q" | "n":
                pass  # bounds, sizes, modes, questions: nothing is drawn
            case _:
                raise AssertionError(f"not known here: {numbers} {sign}")

    def _style(self, numbers: list[int]) -> None:
        if numbers[0] in (38, 48):
            return
        for number in numbers:
            if number in (0, 7, 27):
                self._reverse = number == 7

    def _erase(self, sign: str, how: int) -> None:
        row, column = self._row, self._column
        if sign == "J":
            assert how in (0, 2), how
            for below in range(0 if how == 2 else row + 1, self._rows):
                self._blank(below, 0, self._columns)
        if sign == "X":
            self._blank(row, column, min(self._columns, column + max(1, how)))
        else:
            self._blank(row, 0 if how else column, column + 1 if how == 1 else self._columns)

    def _blank(self, row: int, first: int, end: int) -> None:
        self._cells[row][first:end] = [" "] * (end - first)
        if first == 0:
            self._chosen[row] = False
        self.changed.add(row)
