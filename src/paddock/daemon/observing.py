"""What a scrape is answered with: all that the daemon's rooms know, gathered when it is asked for.

Counting costs a few additions at each change; all else is looked at only here. Files are read and
the page is written in a thread, the fleet is looked at in the loop.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from paddock import __version__
from paddock.config.places import Places
from paddock.core.run import Attempt
from paddock.daemon.weighing import Scales
from paddock.host.cgroups import cgroups_above
from paddock.host.pressure import read_cpus
from paddock.logs.free_room import Space, space_of
from paddock.logs.output import OutputStore
from paddock.observe.counts import Counts
from paddock.observe.own import of_this_process
from paddock.observe.reading import Aside, CpuUse, Reading
from paddock.ports import Driver
from paddock.supervisor.grounds import Grounds
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.steady import Steady
from paddock.workspaces.errors import WorkspaceError

CLUSTER: Final = "kubernetes"
NOT_COUNTED: Final = "metrics leave out what they cannot count"

log = logging.getLogger("paddock.metrics")


class Observing:
    def __init__(
        self,
        supervisor: Supervisor,
        output: OutputStore,
        places: Places,
        *,
        grounds: Grounds | None = None,
    ) -> None:
        self._supervisor = supervisor
        self._output = output
        self._places = places
        self._room = None if grounds is None else grounds.room
        self._started_at = round(time.time(), 2)
        self.counts = Counts(supervisor.fleet.runs)
        self.ready_checks: Mapping[str, int] = {}
        self._cpu_s: dict[Attempt, float] = {}
        self.scales = Scales()
        # One for whoever asks: a second scrape at the same moment gets the same page.
        self._making: asyncio.Task[bytes] | None = None
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="metrics")
        guarded = Steady(log).guarded
        supervisor.on_change.append(guarded(NOT_COUNTED, self.counts.changed))
        supervisor.on_event.append(guarded(NOT_COUNTED, self.counts.heard))
        if grounds is not None:
            grounds.on_made = guarded(NOT_COUNTED, self.counts.workspace_made)

    async def page(self) -> bytes:
        if self._making is None or self._making.done():
            self._making = asyncio.get_running_loop().create_task(self._make())
        return await asyncio.shield(self._making)

    def close(self) -> None:
        self.scales.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _make(self) -> bytes:
        loop = asyncio.get_running_loop()
        aside, cpus, taken = await loop.run_in_executor(self._threads, self._look_aside)
        self.scales.weigh_if_due(taken)
        page = self._reading(aside, cpus).page()
        return await loop.run_in_executor(self._threads, page.text)

    def _reading(self, aside: Aside, cpus: float | None) -> Reading:
        supervisor, intake = self._supervisor, self._output.intake
        zero_at = supervisor.clock.wall(0.0)
        return Reading(
            version=__version__,
            started_at=self._started_at,
            fleet=supervisor.fleet,
            counts=self.counts,
            # Rounded: it is reckoned anew each time, and must not look as if it had moved.
            wall=lambda at: round(zero_at + at, 1),
            aside=aside,
            store_trouble=supervisor.trouble is not None,
            cpu=self._cpu(cpus),
            host_cpus=cpus,
            output=intake.counted,
            written=intake.written,
            drivers={name: one.guarantees for name, one in self._used_drivers()},
            ready_checks=self.ready_checks,
            news_missed=supervisor.news.missed,
            most_workspaces=None if self._room is None else self._room.most,
            weights=self.scales.weights,
        )

    def _cpu(self, host_cpus: float | None) -> dict[Attempt, CpuUse]:
        """Who has no CPU wall may use the whole host; pods have another one."""
        found: dict[Attempt, CpuUse] = {}
        for name, driver in self._supervisor.drivers.items():
            limits, all_of_it = driver.cpu_limits(), host_cpus if name != CLUSTER else None
            for attempt, used_s in driver.cpu_s().items():
                # Added up from processes it falls when one goes; to Prometheus that is a restart.
                at_least = self._cpu_s.get(attempt, 0.0)
                found[attempt] = CpuUse(max(used_s, at_least), limits.get(attempt, all_of_it))
        self._cpu_s = {attempt: use.seconds for attempt, use in found.items()}
        return found

    def _used_drivers(self) -> list[tuple[str, Driver]]:
        """The pretend one promises nothing that anybody could rely on."""
        drivers = self._supervisor.drivers
        default = self._supervisor.default_driver
        return [(name, one) for name, one in drivers.items() if name != "fake" or name == default]

    # -- in the thread --------------------------------------------------------------------

    def _look_aside(self) -> tuple[Aside, float | None, dict[str, Path]]:
        """With how many cores there are, and where the workspaces of runs are."""
        states, taken = self._look_at_workspaces()
        own = of_this_process()
        found = Aside(
            disks=self._disks(),
            workspaces=states,
            own_cpu_s=own.cpu_s,
            own_bytes=own.resident_bytes,
            own_descriptors=own.descriptors,
        )
        return found, read_cpus(Path("/"), cgroups_above("cpu")), taken

    def _look_at_workspaces(self) -> tuple[Counter[str], dict[str, Path]]:
        if self._room is None:
            return Counter(), {}
        try:
            states = Counter(record.state.value for record in self._room.records())
            occupied = self._room.occupied()
        except (WorkspaceError, OSError):
            return Counter(), {}
        return states, {path.name: path for path, is_taken in occupied.items() if is_taken}

    def _disks(self) -> dict[str, Space]:
        places = {"state": self._places.state}
        if self._room is not None:
            places["workspaces"] = self._room.top
        found = {name: space_of(place) for name, place in places.items()}
        return {name: space for name, space in found.items() if space is not None}
