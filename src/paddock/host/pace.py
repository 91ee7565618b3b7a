"""How soon to look at the host again: by how long what is left could last (as earlyoom does)."""

from __future__ import annotations

from typing import Final

from paddock.core.policy import LadderPolicy
from paddock.core.pressure import emergency_bytes

# Bursts of real agents' tools were measured at up to 3 GB/s.
GROWTH_BYTES_PER_S: Final = 3_000_000_000
SHORTEST_S: Final = 0.05
LONGEST_S: Final = 1.0
# Of one core, for looking. A look at the host took 0.5 ms on a 2-core machine.
MOST_OF_A_CORE: Final = 0.02


def next_look_s(
    available_bytes: int | None,
    total_bytes: int,
    *,
    look_cost_s: float = 0.0,
    at_once: int = 1,
    ladder: LadderPolicy = LadderPolicy(),  # noqa: B008 - frozen
) -> float:
    """The rest between two looks: no longer than the fastest growth needs to the emergency step,
    of so many agents at once.

    Costly looks are fewer, but never so few that a burst of a second goes unseen. Memory that could
    not be read may be nearly gone, so it is tried again soon.
    """
    until_emergency_s = 0.0
    if available_bytes is not None:
        left = available_bytes - emergency_bytes(total_bytes, ladder)
        until_emergency_s = left / (at_once * GROWTH_BYTES_PER_S)
    affordable_s = look_cost_s * (1 / MOST_OF_A_CORE - 1)
    return min(LONGEST_S, max(SHORTEST_S, until_emergency_s, affordable_s))
