"""The log of the chosen agent: the end of it while it is followed, or wherever one has scrolled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import ClassVar, Final

from rich.cells import chop_cells, set_cell_size
from rich.console import Console
from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding
from textual.strip import Strip

from paddock.client.faces import safe

from .cells import Line, fit, width
from .lined import LOOKS, Lined
from .log_buffer import LogBuffer
from .picture import Agent
from .wheel import Wheeled

_ESCAPES: Final = re.compile(r"\x1b\[[0-9;:]*m")
SIDEWAYS: Final = 20
_CONSOLE: Final = Console(width=10_000)  # for styles by name, of which there are none


@lru_cache(2048)
def plain(line: str) -> str:
    """Without colours, and with blanks for tabs."""
    return _ESCAPES.sub("", line).replace("\r", "").expandtabs(8)


@lru_cache(2048)
def coloured(line: str) -> Text:
    return Text.from_ansi(line.replace("\r", "").expandtabs(8), end="")


class LogView(Wheeled, Lined, can_focus=True):
    BINDINGS: ClassVar = [
        Binding("up,k", "scroll(-1)", show=False),
        Binding("down,j", "scroll(1)", show=False),
        Binding("pageup,ctrl+b", "page(-1)", show=False),
        Binding("pagedown,ctrl+f,space", "page(1)", show=False),
        Binding("home,g", "top", show=False),
        Binding("end,G", "follow(True)", show=False),
        Binding("left", "sideways(-1)", show=False),
        Binding("right", "sideways(1)", show=False),
    ]

    def __init__(self, buffer: LogBuffer) -> None:
        super().__init__(id="log")
        self.agent: Agent | None = None
        self.follows = True
        self.wraps = False
        self.search = ""
        self._buffer = buffer
        self._top = 0  # number of the first line that shows, while it is not followed
        self._left = 0
        self._seen = -1
        self._found: int | None = None  # the line that a search stands on, until one scrolls
        self.went_round = False  # the last search went on at the other end

    # -- what it is told ------------------------------------------------------------------

    def show(self, agent: Agent | None) -> None:
        other = (agent and agent.run.id) != (self.agent and self.agent.run.id)
        self.agent = agent
        if other:
            self.follows, self._left, self._found = True, 0, None
        self.redraw()

    def fed(self) -> None:
        if self._seen != self._buffer.changes:
            self._seen = self._buffer.changes
            self.redraw()

    def find(self, text: str) -> bool:
        """The newest line that has it; False: none."""
        self.search, self._found = text, None
        return self.next_match(forward=False, start=self._buffer.end - 1) if text else True

    def next_match(self, *, forward: bool, start: int | None = None) -> bool:
        """From the line it stands on; at the end it goes on at the other one."""
        buffer = self._buffer
        if start is None:
            here = self._shown_from() if self._found is None else self._found
            start = max(buffer.begin, here + 1) if forward else here - 1
        found = buffer.find(self.search, start, forward=forward) if self.search else None
        self.went_round = found is None
        if found is None and self.search:
            end = buffer.begin if forward else buffer.end - 1
            found = buffer.find(self.search, end, forward=forward)
        if found is not None:
            self.follows, self._found, self._top = False, found, self._top_for(found)
        self.redraw()
        return found is not None

    def _top_for(self, found: int) -> int:
        """A third of the room is for what stands before it."""
        top, room = found, max(0, (self.size.height - 1) // 3)
        while top > self._buffer.begin and room >= (rows := self._rows(top - 1)):
            top, room = top - 1, room - rows
        return min(top, self._last_top())

    def _rows(self, number: int) -> int:
        return self._rows_of(number) if self.wraps else 1

    # -- moving ---------------------------------------------------------------------------

    def action_follow(self, on: bool) -> None:  # noqa: FBT001 - as bindings call it
        if not on:
            self._top = self._shown_from()
        self.follows, self._found = on, None
        self.redraw()

    def action_top(self) -> None:
        self.follows, self._top, self._found = False, self._buffer.begin, None
        self.redraw()

    def action_scroll(self, by: int) -> None:
        self._top = max(self._buffer.begin, self._shown_from() + by)
        self._found = None
        # At its end it is followed again, as a terminal would do.
        self.follows = by > 0 and self._top >= self._last_top()
        self.redraw()

    def action_page(self, by: int) -> None:
        self.action_scroll(by * max(1, self.size.height - 2))

    def action_sideways(self, by: int) -> None:
        self._left = max(0, self._left + by * SIDEWAYS)
        self.redraw()

    def _last_top(self) -> int:
        """Where the first line is when the last one shows."""
        begin, room = self._buffer.begin, max(1, self.size.height - 1)
        if not self.wraps:
            return max(begin, self._buffer.end - room)
        number = self._buffer.end
        while number > begin and room > 0:
            number -= 1
            room -= self._rows_of(number)
        return number + (room < 0)

    def _rows_of(self, number: int) -> int:
        return max(1, -(-width(plain(self._buffer.line(number))) // max(1, self.size.width)))

    def _shown_from(self) -> int:
        if self.follows:
            return self._last_top()
        return max(
            self._buffer.begin, min(self._top, max(self._buffer.begin, self._buffer.end - 1))
        )

    # -- drawing --------------------------------------------------------------------------

    def lines(self, width: int, height: int) -> Sequence[Line]:
        """Only the title: the rest has colours of its own, see `render_line`."""
        self._strips = list(self._log_strips(width, height - 1))
        return [self._title(width)]

    def render_line(self, y: int) -> Strip:
        drawn = super().render_line(0)
        if y == 0:
            return drawn
        return self._strips[y - 1] if y <= len(self._strips) else Strip.blank(self.size.width)

    def _title(self, room: int) -> Line:
        if self.agent is None:
            return [(fit("Log", room), "head")]
        buffer, run = self._buffer, self.agent.run
        state = "following" if self.follows and run.state != "ended" else ""
        if not self.follows:
            here = self._shown_from() if self._found is None else max(buffer.begin, self._found)
            line = here - buffer.begin + 1
            state = f"line {line} of {buffer.end - buffer.begin}, F follows"
        if self.search:
            state += f"  /{safe(self.search)}  n N next, previous"
        left = f"Log of {safe(run.name)} ({run.id})  {safe(run.sentence)}"
        state = fit(state, min(width(state), room // 2))
        left = fit(left, room - width(state) - 1)
        return [(left, "head"), (" ", "head"), (state, "head")]

    def _log_strips(self, room: int, height: int) -> Iterator[Strip]:
        buffer = self._buffer
        if buffer.begin == buffer.end and self.agent is not None:
            empty = "It has written nothing." if self.agent.run.state != "queued" else "It waits."
            yield Strip([Segment(fit(empty, room), LOOKS["dim"])])
            return
        number = self._shown_from()
        while height > 0 and number < buffer.end:
            for strip in self._strips_of(buffer.line(number), room):
                if height > 0:
                    yield strip
                height -= 1
            number += 1

    def _strips_of(self, line: str, room: int) -> Iterator[Strip]:
        text = self._text(line)
        if self.wraps:
            at = 0
            for part in chop_cells(text.plain, room) or [""]:
                yield _strip(text[at : at + len(part)] if part else Text(""), room)
                at += len(part)
            return
        yield _strip(_without(text, self._left), room)

    def _text(self, line: str) -> Text:
        if not self.search:
            return coloured(line)
        text = coloured(line).copy()
        exact = self.search != self.search.lower()
        flags = 0 if exact else re.IGNORECASE
        for match in re.finditer(re.escape(self.search), text.plain, flags):
            text.stylize(LOOKS["found"], match.start(), match.end())
        return text


def _without(text: Text, cells: int) -> Text:
    """Scrolled sideways."""
    if not cells:
        return text
    return text[len(set_cell_size(text.plain, cells)) :] if width(text.plain) > cells else Text("")


def _strip(text: Text, room: int) -> Strip:
    return Strip(text.render(_CONSOLE)).adjust_cell_length(room)
