"""How many agents a host can safely hold: CAP-1 and CAP-2 as pure functions.

Does not admit anything: the maximum's floor is one even where one cannot fit, and admission
still does its own sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from .units import GIB, format_size

DEFAULT_AGENT_BYTES: Final = 4 * GIB
MATRIX_GIB: Final = (16, 32, 64, 128, 1536)

# CAP-2: (size, reserve) in GiB, joined by straight lines; half below the first, and in the
# proportion of the last above it.
_RESERVE_GIB: Final = ((16, 8), (32, 16), (64, 32), (128, 80), (1536, 232))
_SMALLEST_NOMINAL: Final = 8 * GIB
# Firmware and the kernel keep this much of a nominal size for themselves at most.
_KEPT_BY_FIRMWARE_PERCENT: Final = 4
_LARGE_HOST: Final = 128 * GIB
_RECOMMENDED_PERCENT: Final = 92


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """The sum for one host. `total_bytes` is what the host counts as, not what was measured."""

    measured_bytes: int
    total_bytes: int
    host_reserve_bytes: int
    per_agent_bytes: int
    max_agents: int
    recommended_agents: int

    @property
    def fleet_bytes(self) -> int:
        """What all agents share: the fleet's wall."""
        return self.total_bytes - self.host_reserve_bytes

    @property
    def fits(self) -> bool:
        """Whether even one agent fits: the maximum is never below one, this can be false."""
        return self.per_agent_bytes <= self.fleet_bytes


def nominal_total(measured_bytes: int) -> int:
    """The size the host was sold as, where it was measured within 4 % below it."""
    nominal = _SMALLEST_NOMINAL
    while nominal < measured_bytes:
        nominal = _next_nominal(nominal)
    within = measured_bytes * 100 >= nominal * (100 - _KEPT_BY_FIRMWARE_PERCENT)
    return nominal if within else measured_bytes


def host_reserve(total_bytes: int) -> int:
    """What the host keeps for itself (CAP-2)."""
    total = nominal_total(total_bytes)
    points = [(size * GIB, reserve * GIB) for size, reserve in _RESERVE_GIB]
    if total < points[0][0]:
        return total // 2
    for (size, reserve), (next_size, next_reserve) in pairwise(points):
        if total <= next_size:
            rise = (total - size) * (next_reserve - reserve) // (next_size - size)
            return reserve + rise
    largest, its_reserve = points[-1]
    return total * its_reserve // largest


def max_agents(total_bytes: int, *, reserve_bytes: int, per_agent_bytes: int) -> int:
    """CAP-1. Never below one, even where one cannot fit."""
    if per_agent_bytes < 1:
        raise ValueError(f"an agent needs a size above zero, not {format_size(per_agent_bytes)}")
    return max(1, (total_bytes - reserve_bytes) // per_agent_bytes)


def recommended_agents(total_bytes: int, *, reserve_bytes: int, per_agent_bytes: int) -> int:
    """The maximum; on large hosts a little less, for the daemons and caches they gather."""
    most = max_agents(total_bytes, reserve_bytes=reserve_bytes, per_agent_bytes=per_agent_bytes)
    if total_bytes <= _LARGE_HOST:
        return most
    return max(1, (most * _RECOMMENDED_PERCENT + 50) // 100)


def default_limit(total_bytes: int, *, reserve_bytes: int, wanted_bytes: int) -> int:
    """The limit of an agent that asked for none: what is wanted, or what fits the fleet's wall."""
    _check_reserve(total_bytes, reserve_bytes)
    return min(wanted_bytes, total_bytes - reserve_bytes)


def capacity(
    measured_bytes: int, *, per_agent_bytes: int, reserve_bytes: int | None = None
) -> Capacity:
    """The whole sum for a host of which `measured_bytes` were measured (or described)."""
    if measured_bytes < 1:
        raise ValueError(f"a host needs a size above zero, not {format_size(measured_bytes)}")
    total = nominal_total(measured_bytes)
    reserve = host_reserve(total) if reserve_bytes is None else reserve_bytes
    _check_reserve(total, reserve)
    return Capacity(
        measured_bytes=measured_bytes,
        total_bytes=total,
        host_reserve_bytes=reserve,
        per_agent_bytes=per_agent_bytes,
        max_agents=max_agents(total, reserve_bytes=reserve, per_agent_bytes=per_agent_bytes),
        recommended_agents=recommended_agents(
            total, reserve_bytes=reserve, per_agent_bytes=per_agent_bytes
        ),
    )


def matrix(per_agent_bytes: int) -> tuple[Capacity, ...]:
    """The decision matrix: the sum for the usual sizes of hosts."""
    return tuple(capacity(gib * GIB, per_agent_bytes=per_agent_bytes) for gib in MATRIX_GIB)


def _next_nominal(nominal: int) -> int:
    """8, 16, 24, 32, 48, 64, 96, 128 …: from 16 on, each power of two and half as much again."""
    if nominal < 16 * GIB:
        return 16 * GIB
    power = 1 << (nominal.bit_length() - 1)
    return power * 3 // 2 if nominal == power else power * 2


def _check_reserve(total_bytes: int, reserve_bytes: int) -> None:
    if reserve_bytes < 0:
        raise ValueError(f"the host's reserve cannot be negative: {format_size(reserve_bytes)}")
    if reserve_bytes >= total_bytes:
        raise ValueError(
            f"a reserve of {format_size(reserve_bytes)} leaves nothing of "
            f"{format_size(total_bytes)} for agents; reserve less than the total"
        )
