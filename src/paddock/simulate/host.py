"""The pretend host: its memory, its kernel's last word, and how fast work goes on its CPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from paddock.core.events import Host

SMOOTHED_OVER = 10  # ticks, like the kernel's avg10


@dataclass(slots=True)
class Machine:
    total_bytes: int
    cpus: float
    wall_bytes: int  # of the fleet
    other_bytes: int  # what everybody else on the host uses
    used_bytes: int = 0  # by agents
    cpu_demand: float = 0.0
    peak_bytes: int = 0
    slowdown: float = 1.0  # smoothed
    # Work done in a second: everybody slows down alike when the CPUs are oversubscribed.
    rate: float = 1.0

    def grow(self, grown_bytes: int, *, cpus: float) -> None:
        self.used_bytes += grown_bytes
        self.cpu_demand += cpus
        self.rate = 1.0 if self.cpu_demand <= self.cpus else self.cpus / self.cpu_demand
        if self.used_bytes > self.peak_bytes:
            self.peak_bytes = self.used_bytes

    @property
    def over_wall(self) -> bool:
        return self.used_bytes > self.wall_bytes

    @property
    def out_of_memory(self) -> bool:
        return self.used_bytes + self.other_bytes > self.total_bytes

    def look(self) -> Host:
        """What paddock sees at a tick."""
        self.slowdown += (1 / self.rate - self.slowdown) / SMOOTHED_OVER
        available = max(0, self.total_bytes - self.used_bytes - self.other_bytes)
        return Host(
            available_bytes=available,
            used_percent=100.0 * (1 - available / self.total_bytes),
            total_bytes=self.total_bytes,
            slowdown=self.slowdown,
        )


# A neighbour who takes memory at a time and gives it back: (at, share of the host's memory).
Neighbour = Sequence[tuple[float, float]]

QUIET: Neighbour = ((0.0, 0.02),)
# Two waves that rise over a minute; the second takes what the host keeps free of agents and more,
# so that every step of the ladder is really climbed.
ROUGH: Neighbour = (
    (0.0, 0.02),
    (240.0, 0.30),
    (420.0, 0.05),
    *((600.0 + 3.0 * i, 0.30 + 0.03 * i) for i in range(20)),
    (780.0, 0.02),
)
