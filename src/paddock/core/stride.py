"""How much one attempt takes between two looks, by what was seen lately."""

from __future__ import annotations

import math
from typing import Final

from .units import MIB

# Until something was seen: bursts of real agents' tools at 2 GB/s, and a look every 100 ms.
FIRST_SPEED: Final = 1920 * MIB
FIRST_LOOK_S: Final = 0.1
LEAST: Final = 64 * MIB
MOST: Final = 192 * MIB
LONGEST_LOOK_S: Final = 0.25  # rarer looks are made only where much is left
FADES_S: Final = 3.0  # of growing: half of what was seen before counts no more
A_STEP: Final = 16 * MIB  # less is no growth
SETTLES: Final = 5  # looks, until one that was late counts no more


class Stride:
    """The fastest growth that was seen, and how long looks are apart.

    Memory can be slow to take: where a hypervisor must find it first, a guest was seen to touch 0.4
    GB/s and not 2.4. And looks can be late, on a busy machine by as much as they are apart.
    """

    __slots__ = ("_at", "_elapsed_s", "_grown", "_look_s", "_speed")

    def __init__(self) -> None:
        self._at = -math.inf
        self._elapsed_s = math.inf  # from the look before to this one
        self._grown = 0  # the most that anybody took in it
        self._look_s = FIRST_LOOK_S
        self._speed = float(FIRST_SPEED)

    def look(self, *, at: float) -> None:
        """A look begins; what the one before has seen is kept."""
        if at <= self._at:
            return
        self._keep()
        self._elapsed_s, self._at, self._grown = at - self._at, at, 0
        short_s = min(self._elapsed_s, LONGEST_LOOK_S)
        self._look_s = max(short_s, self._look_s + (short_s - self._look_s) / SETTLES)

    def grew(self, grown_bytes: int) -> None:
        """An attempt took so much since the last look."""
        if grown_bytes > self._grown:
            self._grown = grown_bytes
            self._speed = max(self._speed, grown_bytes / self._elapsed_s)

    def _keep(self) -> None:
        """Fast at once, slow only when it lasts. Looks that are far apart, or in which nobody grew,
        say nothing of how slow it is."""
        if self._grown > A_STEP and self._elapsed_s <= LONGEST_LOOK_S:
            slower = self._speed - self._grown / self._elapsed_s
            self._speed -= slower * (1 - 0.5 ** (self._elapsed_s / FADES_S))

    @property
    def bytes_per_s(self) -> float:
        return self._speed

    @property
    def size_bytes(self) -> int:
        return int(min(max(self._speed * self._look_s, LEAST), MOST))
