"""How large the workspaces of live runs are: weighed aside and seldom, while somebody scrapes."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from paddock.host.usage import sizes_of
from paddock.supervisor.steady import Steady

WEIGH_EVERY_S: Final = 300.0
REST: Final = 10  # times what a round took, before the next
NOT_WEIGHED: Final = "workspaces are not weighed for the metrics"

log = logging.getLogger("paddock.metrics")


class Scales:
    """Those that are new are weighed soon, all of them every few minutes."""

    def __init__(self, *, every_s: float = WEIGH_EVERY_S) -> None:
        self.weights: Mapping[str, int] = {}  # by run
        self._every_s = every_s
        self._due_at = 0.0  # for all of them
        self._rest_until = 0.0
        self._steady = Steady(log)
        self._round: asyncio.Task[None] | None = None

    def weigh_if_due(self, taken: Mapping[str, Path]) -> None:
        """`taken`: where the workspace of each run is. In the loop; returns at once."""
        now = time.monotonic()
        busy = self._round is not None and not self._round.done()
        if busy or now < self._rest_until:
            return
        is_due = now >= self._due_at
        wanted = {run: path for run, path in taken.items() if is_due or run not in self.weights}
        if wanted:
            self._due_at = now + self._every_s if is_due else self._due_at
            self._round = asyncio.get_running_loop().create_task(self._weigh(wanted, taken))

    def close(self) -> None:
        if self._round is not None:
            self._round.cancel()

    async def _weigh(self, wanted: Mapping[str, Path], taken: Mapping[str, Path]) -> None:
        began, sizes = time.monotonic(), {}
        with self._steady.turn(NOT_WEIGHED):
            sizes = dict(await sizes_of(list(wanted.values())))
        now = time.monotonic()
        self._rest_until = now + REST * (now - began)
        known = {run: weight for run, weight in self.weights.items() if run in taken}
        found = {run: sizes[path] for run, path in wanted.items() if path in sizes}
        self.weights = known | found
