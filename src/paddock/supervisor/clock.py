"""The fleet's time: never goes back, goes on while the machine sleeps, and knows no clock steps.

Within one boot it is the kernel's time since boot plus a constant, and the constant is remembered:
a daemon that starts again an hour after somebody set the clock by an hour finds no timeout passed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def since_boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def this_boot() -> str:
    return BOOT_ID.read_text(encoding="ascii").strip()


@dataclass(frozen=True, slots=True)
class Clock:
    boot: str
    zero_at: float  # the fleet's time when the machine booted
    ticks: Callable[[], float] = since_boot_s
    wall_now: Callable[[], float] = time.time

    def now(self) -> float:
        return self.zero_at + self.ticks()

    def wall(self, at: float) -> float:
        """What the clock on the wall said at a time of the fleet's, as far as it says now."""
        return self.wall_now() - (self.now() - at)

    @property
    def remembered(self) -> str:
        """What the store keeps of it."""
        return f"{self.boot} {self.zero_at!r}"


def continue_clock(
    remembered: str,
    last_at: float,
    *,
    boot: str | None = None,
    ticks: Callable[[], float] = since_boot_s,
    wall_now: Callable[[], float] = time.time,
) -> tuple[Clock, bool]:
    """The clock of this boot, and whether it is the boot of the last daemon.

    After a reboot the wall clock tells how long the machine was off; if it was set back meanwhile,
    the fleet's time stands still instead.
    """
    boot = this_boot() if boot is None else boot
    before, _, zero = remembered.partition(" ")
    if before == boot and zero:
        known_zero = max(float(zero), last_at - ticks())
        return Clock(boot, known_zero, ticks, wall_now), True
    fresh_zero = max(last_at, wall_now()) - ticks()
    return Clock(boot, fresh_zero, ticks, wall_now), before in (boot, "")
