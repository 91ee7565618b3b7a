"""The last line: the keys that matter, or what was just done, or why it was not."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from .cells import Line, Look, fit, width
from .lined import Lined

SAID_S: Final = 6.0
# The most important first: what does not fit is left out.
KEYS: Final = (
    ("F1", "Help"),
    ("q", "Quit"),
    ("Enter", "Log"),
    ("/", "Filter"),
    ("F6", "Sort"),
    ("F9", "Kill"),
    ("F7/F8", "Priority"),
    ("z", "Freeze"),
    ("r", "Retry"),
    ("d", "Details"),
    ("b", "Breakers"),
    ("e", "Ended"),
    ("F", "Follow"),
    ("F3", "Search"),
    ("w", "Wrap"),
)

LOG_KEYS: Final = (
    ("Esc", "Back"),
    ("F1", "Help"),
    ("q", "Quit"),
    ("/", "Search"),
    ("n/N", "Next/Previous"),
    ("F", "Follow"),
    ("g/G", "Top/End"),
    ("w", "Wrap"),
    ("F9", "Kill"),
    ("d", "Details"),
    ("z", "Freeze"),
    ("r", "Retry"),
)


class Foot(Lined):
    def __init__(self) -> None:
        super().__init__(id="foot")
        self.about = ""  # what is in force: a filter
        self._said: tuple[str, Look] | None = None
        self._until = 0.0
        self._keys: tuple[tuple[str, str], ...] = KEYS

    def show_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        self._keys = tuple(keys)
        self.redraw()

    def say(self, text: str, look: Look = "plain") -> None:
        self._said, self._until = (text, look), time.monotonic() + SAID_S
        self.set_timer(SAID_S + 0.05, self.redraw)
        self.redraw()

    def lines(self, width: int, height: int) -> Sequence[Line]:
        del height
        if self._said is not None and time.monotonic() < self._until:
            text, look = self._said
            return [[(fit(f" {text}", width), look)]]
        return [keys(width, self.about, self._keys)]


def keys(room: int, about: str = "", names: Sequence[tuple[str, str]] = KEYS) -> Line:
    line: Line = []
    if about:
        about = fit(about, min(width(about), room // 2))
        line, room = [(about, "found"), (" ", "plain")], room - width(about) - 1
    for key, does in names:
        taken = len(key) + len(does) + 2
        if taken > room:
            break
        line += [(key, "chosen"), (f"{does}  ", "plain")]
        room -= taken
    return line
