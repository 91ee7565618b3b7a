"""A page of text over the whole screen, to scroll and to leave: help, and all about one agent."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import Screen

from paddock.client import ClientError
from paddock.client.faces import safe

from .cells import Line, fit, width
from .lined import Lined
from .wheel import Wheeled

Load = Callable[[], Coroutine[Any, Any, Sequence[Line]]]


class _Sheet(Lined):
    def __init__(self, title: str) -> None:
        super().__init__(id="sheet")
        self._title = title
        self.text: Sequence[Line] = ()
        self.top = 0

    def lines(self, width: int, height: int) -> Sequence[Line]:
        folded = [piece for line in self.text for piece in fold(line, width)]
        self.top = max(0, min(self.top, len(folded) - height + 2))
        rest = len(folded) - self.top - height + 2
        more = f"{rest} more line{'s'[: rest != 1]}: j, Space" if rest > 0 else ""
        shown: list[Line] = [[(fit(self._title, width), "head")]]
        shown += folded[self.top : self.top + height - 2]
        shown += [[] for _ in range(height - 1 - len(shown))]
        return [*shown, [(fit(f"q, Esc: back   {more}", width), "dim")]]


class Page(Wheeled, Screen[None]):
    CSS = "Page { background: ansi_default; color: ansi_default; } #sheet { height: 1fr; }"
    BINDINGS: ClassVar = [
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("pageup,ctrl+b", "page(-1)", show=False),
        Binding("pagedown,ctrl+f,space", "page(1)", show=False),
        Binding("home,g", "scroll(-1000000)", show=False),
        Binding("end,G", "scroll(1000000)", show=False),
        Binding("escape,q,enter,d,f1,question_mark,h", "leave", show=False),
    ]

    def __init__(self, title: str, load: Load) -> None:
        super().__init__()
        self._sheet = _Sheet(title)
        self._load = load

    def compose(self) -> ComposeResult:
        yield self._sheet

    async def on_mount(self) -> None:
        self.run_worker(self._fill())

    async def _fill(self) -> None:
        try:
            self._sheet.text = await self._load()
        except (ClientError, OSError) as error:
            self._sheet.text = [[(safe(str(error)), "bad")]]
        self._sheet.redraw()

    def action_scroll(self, by: int) -> None:
        self._sheet.top = max(0, self._sheet.top + by)
        self._sheet.redraw()

    def action_page(self, by: int) -> None:
        self.action_scroll(by * max(1, self._sheet.size.height - 3))

    def action_leave(self) -> None:
        self.dismiss(None)


def fold(line: Line, room: int) -> list[Line]:
    """A line in as many as it takes; a name in front (a piece of its own) indents the rest."""
    indent = width(line[0][0]) if len(line) > 1 else 0
    if indent >= room // 2:
        indent = 0
    rows: list[Line] = [[]]
    left = room
    for text, look in line:
        for word in _words(text, max(8, room - indent)):
            if width(word.rstrip()) > left and rows[-1]:
                rows.append([(" " * indent, "plain")] if indent else [])
                left = room - indent
                word = word.lstrip()
            rows[-1].append((word, look))
            left -= width(word)
    return rows


def _words(text: str, room: int) -> list[str]:
    """With the blanks after them; what is longer than a row in pieces."""
    words = []
    for word in text.replace(" ", " \0").split("\0"):
        while width(word) > room:
            head = fit(word, room, more="")[:room]
            words.append(head)
            word = word[len(head) :]
        words.append(word)
    return words
