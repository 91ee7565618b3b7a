"""All agents in one table."""

from __future__ import annotations

import time

from nicegui import ui

from .feed import Feed
from .parts import EVERY_S, AgentsTable, heading
from .rows import row_of


class Agents:
    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._note = heading("Agents")
        self._table = AgentsTable()
        self.refresh()
        ui.timer(EVERY_S, self.refresh)

    def refresh(self) -> None:
        feed, now = self._feed, time.time()
        rows = [row_of(run, cpu=feed.cpu.get(run.id), now=now) for run in feed.runs]
        known = {run.id for run in feed.runs}
        rows += [row_of(run, cpu=None, now=now) for run in feed.ended if run.id not in known]
        self._table.show(rows)
        self._note.set_text(f"{len(feed.runs)} at work or waiting")
