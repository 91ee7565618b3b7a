"""Agents over time: memory and cores of each, and the host's memory, sampled from outside.

Reads what the kernel counts for each attempt's cgroup, so that neither the sampler nor paddock
itself is in the figures. Without cgroups the processes are added up.
"""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from paddock.host.probe import probe_for_this_machine
from paddock.rescue.agents import Yard
from paddock.rescue.records import Records

from .ceiling import Ceiling
from .pen import Pen
from .tally import Tally
from .waiting import CpuWait

MIB: Final = 1024.0 * 1024
_TICK_S: Final = 1 / os.sysconf("SC_CLK_TCK")
TALLY_S: Final = 0.1  # what goes with a cgroup is looked at more often: 60 µs each
TALLY_SHARE: Final = 0.05  # of the time, at most


@dataclass(slots=True)
class Seen:
    """What was seen of one run. Times count from when watching began."""

    memory: list[tuple[float, float]] = field(default_factory=list)  # MiB, without page cache
    cpu_s: float = 0.0  # as last seen

    @property
    def peak_mib(self) -> float:
        return max((value for _, value in self.memory), default=0.0)


@dataclass(slots=True)
class Watched:
    runs: dict[str, Seen] = field(default_factory=lambda: defaultdict(Seen))
    host: list[tuple[float, float]] = field(default_factory=list)  # MiB in use
    swap_percent: float = 0.0  # the most
    least_free_mib: float = float("inf")
    cpu_wait: CpuWait = field(default_factory=CpuWait)
    tally: Tally = field(default_factory=Tally)


class Watcher:
    """Samples in a thread of its own, while the `with` lasts."""

    def __init__(self, pen: Pen, *, every_s: float, ceiling: Ceiling | None = None) -> None:
        self.found = Watched()
        self._yard = Yard(Records(str(pen.places.state)))
        self._every_s = every_s
        self._ceiling = ceiling
        self._probe = probe_for_this_machine()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="bench watcher", daemon=True)

    def __enter__(self) -> Watched:
        self._thread.start()
        return self.found

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        began = time.monotonic()
        due = began
        while not self._over.is_set():
            if time.monotonic() >= due:
                self._look(time.monotonic() - began)
                due = max(due + self._every_s, time.monotonic())
            rest_s = max(TALLY_S, self._count() / TALLY_SHARE)
            self._over.wait(max(0.0, min(rest_s, due - time.monotonic())))
        self._count()

    def _count(self) -> float:
        """And how long that took."""
        began = time.monotonic()
        self.found.tally.look(self._yard.home)
        return time.monotonic() - began

    def _look(self, at_s: float) -> None:
        for agent in self._yard.agents(thorough=False):
            seen = self.found.runs[agent.facts.run]
            seen.memory.append((at_s, agent.used_bytes / MIB))
            pids = agent.pids()
            seen.cpu_s = max(seen.cpu_s, sum(map(_cpu_of, pids)) * _TICK_S)
            self.found.cpu_wait.look(pids)
        self._look_at_host(at_s)

    def _look_at_host(self, at_s: float) -> None:
        if self._ceiling is not None:
            used = self._ceiling.used_bytes()
            free = self._ceiling.limit_bytes - used
        else:
            memory = self._probe.read().memory
            free = memory.available_bytes or 0
            used = memory.total_bytes - free
            self.found.swap_percent = max(self.found.swap_percent, memory.swap_percent)
        self.found.host.append((at_s, used / MIB))
        self.found.least_free_mib = min(self.found.least_free_mib, free / MIB)


def oom_kills() -> int:
    """On this host since it came up, by anybody's wall or by none."""
    text = Path("/proc/vmstat").read_text(encoding="ascii")
    return next((int(line.split()[1]) for line in text.splitlines() if "oom_kill " in line), 0)


def _cpu_of(pid: int) -> int:
    """Ticks of it and of the children it has waited for."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - quicker
            fields = file.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return sum(map(int, fields[11:15]))
