"""What a scrape of one replica is answered with: of the leader's fleet, and of itself."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from paddock import __version__
from paddock.cluster.client import Object
from paddock.cluster.quantities import NoQuantity
from paddock.cluster.quota import Line, all_lines
from paddock.cluster.room import cluster_policy
from paddock.core.fleet import Fleet
from paddock.observe.counts import Counts
from paddock.observe.own import of_this_process
from paddock.observe.reading import Aside, Reading
from paddock.storage.agent_runs import AgentRunStore
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.steady import Steady

NOT_COUNTED: Final = "metrics leave out what they cannot count"
MOST_LINES: Final = 50  # of quotas: each is a series

log = logging.getLogger("paddock.controller")


class Observing:
    """Counts begin with a term: Prometheus knows what to make of one that falls to 0."""

    def __init__(self) -> None:
        self._started_at = round(time.time(), 2)
        self.quotas: Callable[[], Iterable[Object]] = tuple
        self._supervisor: Supervisor | None = None
        self._store: AgentRunStore | None = None
        self._counts = Counts({})
        self._steady = Steady(log)

    def lead(self, supervisor: Supervisor, store: AgentRunStore) -> None:
        """From before anything is done: also what ended while nobody led is counted."""
        self._supervisor, self._store = supervisor, store
        self._counts = Counts(supervisor.fleet.runs)
        guarded = self._steady.guarded
        supervisor.on_change.append(guarded(NOT_COUNTED, self._counts.changed))
        supervisor.on_event.append(guarded(NOT_COUNTED, self._counts.heard))

    def rest(self) -> None:
        """It leads no more, and knows nothing any more of who runs."""
        self._supervisor = self._store = None
        self.quotas = tuple

    def page(self, *, leads: bool) -> bytes:
        supervisor, own = self._supervisor, of_this_process()
        zero_at = 0.0 if supervisor is None else supervisor.clock.wall(0.0)
        reading = Reading(
            version=__version__,
            started_at=self._started_at,
            fleet=Fleet(cluster_policy()) if supervisor is None else supervisor.fleet,
            counts=self._counts,
            wall=lambda at: round(zero_at + at, 1),
            aside=Aside(
                own_cpu_s=own.cpu_s,
                own_bytes=own.resident_bytes,
                own_descriptors=own.descriptors,
            ),
            store_trouble=self._in_trouble(),
            leads=leads and supervisor is not None,
            lines=self._lines(),
        )
        return reading.controllers_page().text()

    def _in_trouble(self) -> bool:
        if self._supervisor is None or self._store is None:
            return False
        return self._supervisor.trouble is not None or self._store.untaken > 0

    def _lines(self) -> Mapping[str, float]:
        """By resource, of that quota which is the fullest."""
        found: dict[str, float] = {}
        try:
            lines: list[Line] = all_lines(self.quotas())
        except (NoQuantity, KeyError, TypeError, AttributeError) as error:
            self._steady.failed("metrics leave quotas out", error)
            return {}
        for line in lines:
            if line.hard > 0 and (line.resource in found or len(found) < MOST_LINES):
                used = float(line.used / line.hard)
                found[line.resource] = max(used, found.get(line.resource, 0.0))
        return found
