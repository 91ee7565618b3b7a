"""A fleet that is stepped by hand, with the counting beside it, as in the daemon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from paddock.core.events import Event, Exited, Sampled, Started, Submitted, TimePassed
from paddock.core.fleet import Fleet
from paddock.core.run import Attempt, Exit
from paddock.core.step import step
from paddock.observe.counts import Counts
from tests.kit.factories import a_host, a_policy, a_spec


class SmallFleet:
    def __init__(self, **policy: Any) -> None:
        self.fleet = Fleet(a_policy(**policy))
        self.counts = Counts(self.fleet.runs)
        self.feed(Sampled(0.0, a_host()))

    def feed(self, event: Event) -> None:
        self.counts.heard(event)
        step(self.fleet, event)
        for change in self.fleet.changes:
            self.counts.changed(change)

    def submit(self, name: str, *, at: float, group: str = "g", **more: Any) -> None:
        self.feed(Submitted(at, (a_spec(name, group=group, **more),)))

    def started(self, name: str, *, at: float) -> None:
        self.feed(Started(at, self.fleet.runs[name].attempt))

    def exited(self, name: str, *, at: float, empty: bool = True, **how: Any) -> None:
        self.feed(Exited(at, Attempt(name, 1), Exit(**how), empty=empty))

    def time(self, *, at: float) -> None:
        self.feed(TimePassed(at))

    def look(
        self,
        *,
        at: float,
        used: Mapping[Attempt, int] | None = None,
        used_percent: float | None = 10.0,
    ) -> None:
        self.feed(Sampled(at, a_host(used_percent=used_percent), used or {}))
