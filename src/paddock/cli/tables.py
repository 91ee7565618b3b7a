"""Plain text columns, fitted to the terminal. No library: `paddock status` must be quick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .printing import paint

GAP: Final = "  "
LEAST: Final = 8  # a column is not cut below this
_ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class Column:
    head: str
    right: bool = False
    # When the table is too wide, the one with the highest number is cut first; 0 never.
    gives_way: int = 0


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    colour: str | None = None


Row = Sequence[Cell | str]


def table(
    columns: Sequence[Column], rows: Sequence[Row], *, width: int | None = None, colour: bool
) -> Iterator[str]:
    """A head and a line a row. Cells must be safe already; without a width nothing is cut."""
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    lines = [[Cell(column.head, "bold") for column in columns], *cells]
    widths = _fitted(columns, _widths(lines, len(columns)), width)
    for line in lines:
        parts = [
            _cell(cell, room, column, colour=colour)
            for cell, room, column in zip(line, widths, columns, strict=True)
        ]
        yield GAP.join(parts).rstrip()


def shown_width(text: str) -> int:
    """Columns on a terminal: wide signs take two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(sign) else 1 + (east_asian_width(sign) in "WF") for sign in text)


def cut(text: str, room: int) -> str:
    """The text, or as much as fits with an ellipsis at its end."""
    if shown_width(text) <= room:
        return text
    kept, left = "", room - 1
    for sign in text:
        left -= shown_width(sign)
        if left < 0:
            break
        kept += sign
    return kept.rstrip() + _ELLIPSIS if room > 0 else ""


def _widths(lines: list[list[Cell]], count: int) -> list[int]:
    return [max(shown_width(line[index].text) for line in lines) for index in range(count)]


def _fitted(columns: Sequence[Column], widths: list[int], width: int | None) -> list[int]:
    if width is None:
        return widths
    over = sum(widths) + len(GAP) * (len(widths) - 1) - width
    giving = sorted(
        (index for index, column in enumerate(columns) if column.gives_way),
        key=lambda index: -columns[index].gives_way,
    )
    for index in giving:
        given = max(0, min(over, widths[index] - LEAST))
        widths[index] -= given
        over -= given
    return widths


def _cell(cell: Cell, room: int, column: Column, *, colour: bool) -> str:
    text = cut(cell.text, room)
    padding = " " * (room - shown_width(text))
    painted = paint(text, cell.colour, on=colour)
    return padding + painted if column.right else painted + padding
