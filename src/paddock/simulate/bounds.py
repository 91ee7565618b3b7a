"""The time that no scheduler can beat on a given host, however much it knows."""

from __future__ import annotations

from collections.abc import Sequence

from paddock.simulate.trace import Plan, in_order_of_needs


def lower_bound_s(plans: Sequence[Plan], *, capacity_bytes: int, cpus: float) -> float:
    """The largest of memory-seconds / capacity, CPU-seconds / cores and the longest chain of runs.

    Counts only what each run cannot avoid: its last attempt, without any that fail before it.
    """
    lives = [plan.last_life for plan in plans]
    memory_s = sum(life.byte_seconds for life in lives) / capacity_bytes
    cpu_s = sum(life.cpu_seconds for life in lives) / cpus
    return max(memory_s, cpu_s, longest_chain_s(plans))


def longest_chain_s(plans: Sequence[Plan]) -> float:
    """When the last run ends if nothing ever waits for memory or CPU."""
    ends_at: dict[str, float] = {}
    for plan in in_order_of_needs(plans):
        starts_at = max((ends_at[need] for need in plan.needs), default=plan.submit_at)
        ends_at[plan.name] = max(starts_at, plan.submit_at) + plan.last_life.duration_s
    return max(ends_at.values(), default=0.0)
