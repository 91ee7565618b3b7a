"""The table of agents: one line each, one of them chosen. The choice stays with the agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.geometry import Region
from textual.message import Message

from .cells import Glyphs, Line, fit
from .lined import Lined
from .ordering import Wish, listed
from .picture import Agent, Picture
from .rows import heading, row
from .wheel import Wheeled


class Agents(Wheeled, Lined, can_focus=True):
    BINDINGS: ClassVar = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup,ctrl+b", "page(-1)", show=False),
        Binding("pagedown,ctrl+f", "page(1)", show=False),
        Binding("home,g", "move(-1000000)", show=False),
        Binding("end,G", "move(1000000)", show=False),
    ]

    @dataclass
    class Chosen(Message):
        """Another agent is chosen, or none."""

        run: str | None

    def __init__(self, picture: Picture, signs: Glyphs) -> None:
        super().__init__(id="agents")
        self.wish = Wish()
        self._picture = picture
        self._signs = signs
        self._listed: list[Agent] = []
        self._at = 0  # of the one chosen
        self._chosen: str | None = None
        self._top = 0

    @property
    def chosen(self) -> Agent | None:
        return self._listed[self._at] if self._chosen is not None else None

    @property
    def count(self) -> int:
        return len(self._listed)

    def show(self) -> None:
        """What the picture holds now. An agent that is gone hands the choice to whoever stands
        in its place."""
        self._listed = listed(self._picture.agents, self.wish)
        places = {agent.run.id: at for at, agent in enumerate(self._listed)}
        self._choose(places.get(self._chosen or "", self._at))
        self.redraw()

    def want(self, wish: Wish) -> None:
        self.wish = wish
        self.show()

    def action_move(self, by: int) -> None:
        before = self._at
        self._choose(self._at + by)
        if self._top <= self._at < self._top + max(1, self.size.height - 1):
            self._redraw_rows(before, self._at)
        else:
            self.redraw()

    def _redraw_rows(self, *places: int) -> None:
        """A step down a long table draws two rows, not all of them."""
        self.forget()
        width = self.size.width
        self.refresh(*(Region(0, at - self._top + 1, width, 1) for at in places))

    def action_page(self, by: int) -> None:
        self.action_move(by * max(1, self.size.height - 2))

    def action_scroll(self, by: int) -> None:
        """The list follows who is chosen."""
        self.action_move(by)

    def on_click(self, event: events.Click) -> None:
        if 1 <= event.y <= len(self._listed) - self._top:
            self._choose(self._top + event.y - 1)
            self.redraw()

    def _choose(self, at: int) -> None:
        self._at = max(0, min(at, len(self._listed) - 1))
        before = self._chosen
        self._chosen = self._listed[self._at].run.id if self._listed else None
        if self._chosen != before:
            self.post_message(self.Chosen(self._chosen))

    def lines(self, width: int, height: int) -> Sequence[Line]:
        rows = max(1, height - 1)
        self._top = max(
            min(self._top, self._at, max(0, len(self._listed) - rows)), self._at - rows + 1
        )
        shown = self._listed[self._top : self._top + rows]
        now, signs = self._picture.now, self._signs
        return [
            heading(width, self.wish, signs=signs),
            *(
                row(agent, width, now=now, signs=signs, chosen=agent.run.id == self._chosen)
                for agent in shown
            ),
            *([] if shown else self._nobody(width)),
        ]

    def _nobody(self, room: int) -> list[Line]:
        if self._picture.status is None:
            return []
        if self.wish.text:
            return [
                [(fit(f"Nobody fits the filter {self.wish.text!r}. Esc clears it.", room), "dim")]
            ]
        hint = "No agents. Start one: paddock submit --name hello -- echo hello"
        return [[(fit(hint, room), "dim")]]
