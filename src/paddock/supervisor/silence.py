"""While the machines that runs live on do not answer: those are left as they are, and told so.

Nobody here knows whether they go on. To guess would lose some, or start some a second time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from paddock.core.events import Event, Noticed, StartTakesLonger
from paddock.core.fleet import Fleet
from paddock.core.run import Starting
from paddock.core.units import format_duration

AGAIN_S: Final = 20.0  # well within the patience with a start


class Silence:
    """`since_at` is by the clock on the wall, None while somebody answers."""

    def __init__(
        self,
        fleet: Fleet,
        post: Callable[[Event], None],
        wall_now: Callable[[], float] = time.time,
    ) -> None:
        self._fleet, self._post, self._wall_now = fleet, post, wall_now
        self.since_at: float | None = None
        self.because = ""
        self._told_at = 0.0

    @property
    def sentence(self) -> str:
        """Empty while somebody answers."""
        if self.since_at is None:
            return ""
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.since_at))
        return f"the cluster does not answer since {at}"

    def goes_on(self, because: str) -> None:
        """May be told as often as somebody has asked in vain."""
        now, self.because = self._wall_now(), because
        if self.since_at is None:
            self.since_at = now
            self._tell(f"{self.sentence} ({because}); it is taken for alive until that answers")
        if abs(now - self._told_at) >= AGAIN_S:
            self._told_at = now
            for run in list(self._fleet.live_runs()):
                if run.spec.away and isinstance(run.state, Starting):
                    self._post(StartTakesLonger(0.0, run.attempt, self.sentence))

    def is_over(self) -> None:
        if self.since_at is not None:
            lasted = format_duration(max(0.0, self._wall_now() - self.since_at))
            self.since_at, self._told_at = None, 0.0
            self._tell(f"the cluster answers again, after {lasted}")

    def _tell(self, note: str) -> None:
        for run in list(self._fleet.live_runs()):
            if run.spec.away:
                self._post(Noticed(0.0, run.attempt, note))
