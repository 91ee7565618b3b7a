"""Text that the mouse's wheel moves as the keys do."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from textual import events

LINES: Final = 3  # a notch


class Wheeled:
    @abstractmethod
    def action_scroll(self, by: int) -> None: ...

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.action_scroll(LINES)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.action_scroll(-LINES)
