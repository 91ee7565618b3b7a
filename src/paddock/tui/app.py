"""`paddock top` as a textual app: it has a client and the main screen, and little else."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App
from textual.binding import Binding

from paddock.client import AsyncClient

from .board import Board
from .cells import Glyphs, glyphs


class Top(App[None]):
    TITLE = "paddock top"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [Binding("ctrl+c,ctrl+q", "quit", show=False, priority=True)]

    def __init__(self, client: AsyncClient, *, log_lines: int, signs: Glyphs | None = None) -> None:
        """Closes the client when it ends."""
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"
        self.client = client
        self.board = Board(self.client, log_lines=log_lines, signs=signs or glyphs())

    def on_mount(self) -> None:
        self.push_screen(self.board)

    async def on_unmount(self) -> None:
        await self.client.close()
