"""A question in the middle of the screen: a few answers, each with its key. Esc means no."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from .cells import Line, Look, fit, width
from .lined import Lined


@dataclass(frozen=True, slots=True)
class Answer:
    key: str
    text: str
    gives: str


class _Box(Lined):
    def __init__(self, title: str, answers: Sequence[Answer], at: int) -> None:
        super().__init__(id="box")
        self.at = at
        self._title, self._answers = title, answers

    def lines(self, width: int, height: int) -> Sequence[Line]:
        rows = max(1, height - 2)
        top = max(0, self.at - rows + 1)
        lines: list[Line] = [[(fit(self._title, width), "bold")], []]
        for number, one in list(enumerate(self._answers))[top : top + rows]:
            look: Look = "chosen" if number == self.at else "plain"
            lines.append([(fit(f" {one.key}  {one.text}", width), look)])
        return lines


class Ask(ModalScreen[str | None]):
    """Gives what the answer gives; None: it was left without one."""

    CSS = """
    Ask { align: center middle; background: transparent; }
    #box { background: ansi_default; border: heavy ansi_default; padding: 0 1; }
    """
    BINDINGS: ClassVar = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("enter", "take", show=False),
        Binding("escape,q", "leave", show=False),
    ]

    def __init__(self, title: str, answers: Sequence[Answer], *, at: int = 0) -> None:
        super().__init__()
        self._answers = answers
        self._box = _Box(title, answers, at)
        longest = max([width(title), *(width(one.text) + len(one.key) + 3 for one in answers)])
        self._room = longest + 4, len(answers) + 4

    def compose(self) -> ComposeResult:
        yield self._box

    def on_mount(self) -> None:
        self.on_resize()

    def on_resize(self) -> None:
        cells, rows = self._room
        self._box.styles.width = min(cells, self.app.size.width)
        self._box.styles.height = min(rows, self.app.size.height)

    def on_key(self, event: events.Key) -> None:
        for answer in self._answers:
            if answer.key in (event.character, event.key):
                event.stop()
                event.prevent_default()
                self.dismiss(answer.gives)
                return

    def action_move(self, by: int) -> None:
        self._box.at = (self._box.at + by) % len(self._answers)
        self._box.redraw()

    def action_take(self) -> None:
        self.dismiss(self._answers[self._box.at].gives)

    def action_leave(self) -> None:
        self.dismiss(None)
