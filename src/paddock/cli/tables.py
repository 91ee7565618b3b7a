"""Plain text columns, fitted to the terminal. No library: `paddock status` must be quick."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from .printing import paint

GAP: Final = "  "
UNDER: Final = "    "
LEAST: Final = 8  # a column is not cut below this while another way is left
_ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class Column:
    head: str
    right: bool = False
    # When the table is too wide, the one with the highest number is cut first; 0 never.
    gives_way: int = 0
    least: int = LEAST  # it is not cut below this before others are left out
    keeps_end: bool = False  # of a path the end says most: it is cut in front
    # When cutting is not enough, the one with the highest number is left out first; 0 never.
    leaves: int = 0
    below: bool = False  # where the table is too wide, it stands under its row, whole


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
    widths = _widths(lines, len(columns))
    under = [i for i, column in enumerate(columns) if column.below]
    if width is None or _over(dict(enumerate(widths)), width) <= 0:
        under = []
    rooms = _fitted(columns, {i: w for i, w in enumerate(widths) if i not in under}, width)
    for number, line in enumerate(lines):
        parts = [
            _cell(line[index], room, columns[index], colour=colour) for index, room in rooms.items()
        ]
        yield GAP.join(parts).rstrip()
        if number and width is not None:
            yield from _under([line[index] for index in under], width, colour=colour)


def _under(cells: Sequence[Cell], width: int, *, colour: bool) -> Iterator[str]:
    indent = UNDER if width > 4 * len(UNDER) else ""
    for cell in cells:
        for part in fold(cell.text, width - len(indent)) if cell.text else ():
            yield indent + paint(part, cell.colour, on=colour)


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


def cut_front(text: str, room: int) -> str:
    """The text, or as much of its end as fits."""
    return cut(text[::-1], room)[::-1]


def fold(text: str, room: int | None) -> list[str]:
    """The text in lines that fit; of a word that does not, such as a path, the end is kept."""
    if room is None or shown_width(text) <= room:
        return [text]
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if shown_width(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(cut_front(word, room))
    return [line for line in lines if line] or [""]


def _widths(lines: list[list[Cell]], count: int) -> list[int]:
    return [max(shown_width(line[index].text) for line in lines) for index in range(count)]


def _fitted(columns: Sequence[Column], widths: dict[int, int], width: int | None) -> dict[int, int]:
    """The columns that are shown, with their room: no line is ever wider than the terminal."""
    rooms = dict(widths)
    if width is None:
        return rooms
    going = sorted((i for i in rooms if columns[i].leaves), key=lambda i: -columns[i].leaves)
    for index in going:
        if _over(_cut_to(columns, rooms, width), width) <= 0:
            break
        del rooms[index]
    rooms = _cut_to(columns, rooms, width)
    if _over(rooms, width) > 0:
        rooms = _cut_to(columns, rooms, width, least=LEAST)
    while _over(rooms, width) > 0 and len(rooms) > 1:
        rooms.popitem()
    return {index: min(room, width) for index, room in rooms.items()}


def _over(rooms: dict[int, int], width: int) -> int:
    return sum(rooms.values()) + len(GAP) * (len(rooms) - 1) - width


def _cut_to(
    columns: Sequence[Column], rooms: dict[int, int], width: int, *, least: int | None = None
) -> dict[int, int]:
    """As far as cutting helps."""
    found, over = dict(rooms), _over(rooms, width)
    giving = sorted((i for i in rooms if columns[i].gives_way), key=lambda i: -columns[i].gives_way)
    for index in giving:
        bottom = columns[index].least if least is None else least
        given = max(0, min(over, found[index] - bottom))
        found[index] -= given
        over -= given
    return found


def _cell(cell: Cell, room: int, column: Column, *, colour: bool) -> str:
    text = (cut_front if column.keeps_end else cut)(cell.text, room)
    padding = " " * (room - shown_width(text))
    painted = paint(text, cell.colour, on=colour)
    return padding + painted if column.right else painted + padding
