"""What fleets are made of that get into trouble: specs, ends, hosts, policies."""

from __future__ import annotations

from hypothesis import strategies as st

from paddock.core.events import (
    Host,
)
from paddock.core.policy import Admission, Policy
from paddock.core.run import (
    Bounds,
    Exit,
    Priority,
)
from paddock.core.units import GIB
from tests.kit.factories import a_policy, a_spec, with_parts

MEMORY = st.sampled_from(["1G", "2G", "3G", "5G", "8G", "12G"])
GROUPS = st.sampled_from(["a", "b", "c"])
PRIORITIES = st.sampled_from(Priority)
EXITS = st.one_of(
    st.just(Exit(0)),
    st.just(Exit(1)),
    st.just(Exit(75)),
    st.just(Exit(None, signal=9)),
    st.just(Exit(None, signal=9, oom=True)),
    st.just(Exit(None, signal=9, oom=True, fleet_oom=True)),
    st.just(Exit(1, retry_after_s=7.0)),
    st.just(Exit(1, session_lost=True)),
    st.just(Exit(0, oom=True)),
)
# One project that changes its mind, and one that does not.
BOUNDS = (
    Bounds(project="strict", agents=1, waiting=6),
    Bounds(project="strict", agents=2, by_limits=True),
    Bounds(project="mild", agents=2, by_limits=True),
)
PICK = st.integers(0, 10_000)
SPECS = st.builds(
    a_spec,
    memory=MEMORY,
    priority=PRIORITIES,
    group=GROUPS,
    retries=st.integers(0, 2),
    steps=st.sampled_from([(), (), ("one", "two"), ("one", "two", "three")]),
    soft_limit_bytes=st.sampled_from([None, None, 2 * GIB]),
    away=st.sampled_from([False, False, False, False, True]),
    bounds=st.sampled_from([None, None, None, *BOUNDS]),
)
HOSTS = st.builds(
    lambda percent, free_gib, stall: Host(
        _free_bytes(percent, free_gib), percent, 16 * GIB, memory_stall_percent=stall
    ),
    st.sampled_from([20.0, 50.0, 72.0, 81.0, 86.0, 86.0, 96.0, None]),
    st.sampled_from([None, None, 0.1, 3.0]),
    st.sampled_from([0.0, 0.0, 30.0]),
)


def _free_bytes(percent: float | None, free_gib: float | None) -> int | None:
    if free_gib is not None:
        return int(free_gib * GIB)
    return None if percent is None else int(16 * GIB * (100 - percent) / 100)


def a_small_policy(
    admission: Admission,
    agents: int | None,
    times_s: tuple[float, float],
    keep_ended: int,
    touches_per_hour: float,
) -> Policy:
    """Small numbers, so that a short life gets everywhere."""
    min_run_s, ageing_s = times_s
    policy = a_policy(
        admission=admission,
        max_agents=agents,
        min_run_s=min_run_s,
        ageing_s=ageing_s,
        keep_ended=keep_ended,
        backfill_s=120.0,
        queue_depth=24,
    )
    sizing = {"evidence": 2, "touches_per_hour": touches_per_hour}
    return with_parts(policy, sizing=sizing, timeouts={"evidence": 3}, breaker={"failures": 2})


POLICIES = st.builds(
    a_small_policy,
    st.sampled_from(Admission),
    st.sampled_from([None, 4, 2]),
    st.tuples(st.sampled_from([0.0, 60.0]), st.sampled_from([3600.0, 600.0, 0.0])),
    st.sampled_from([3, 1000]),
    st.sampled_from([0.001, 0.001, 1800.0]),
)
