"""A widget that is drawn line by line, from pieces of text with a look. Only what shows is made."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Final

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from .cells import Line, Look

# The terminal's own colours, so that it looks at home in any; and readable with none at all.
LOOKS: Final[dict[Look, Style]] = {
    "plain": Style(),
    "dim": Style(dim=True),
    "bold": Style(bold=True),
    "good": Style(color="green"),
    "busy": Style(color="cyan"),
    "warn": Style(color="yellow"),
    "bad": Style(color="red", bold=True),
    "head": Style(bold=True, underline=True),
    "chosen": Style(reverse=True),
    "found": Style(reverse=True, bold=True),
    "gone": Style(reverse=True, bold=True, color="red"),
}


class Lined(Widget):
    """Not an ABC: textual has a metaclass of its own. The type checker holds it all the same."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - as textual calls it
        super().__init__(id=id)
        self._made: Sequence[Line] | None = None
        self._made_for = Size(0, 0)

    @abstractmethod
    def lines(self, width: int, height: int) -> Sequence[Line]: ...

    def redraw(self) -> None:
        self.forget()
        self.refresh()

    def forget(self) -> None:
        """What was made is not what is true any more."""
        self._made = None

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if self._made is None or self._made_for != self.size:
            self._made, self._made_for = self.lines(width, height), self.size
        if y >= len(self._made):
            return Strip.blank(width)
        pieces = [Segment(text, LOOKS[look]) for text, look in self._made[y] if text]
        return Strip(pieces).adjust_cell_length(width)
