"""The past as the API tells it, version 1. Keys are only ever added; times are those of the wall.

What nobody could tell, or nobody saw, is null and never zero.
"""

from __future__ import annotations

import msgspec


class HistoryPoint(msgspec.Struct, kw_only=True):
    """One span. Levels are averages over the seconds that were seen, `_max` the highest."""

    at: float  # its beginning
    seconds: float  # of it that a daemon saw
    memory_percent: float | None = None  # of the host
    memory_percent_max: float | None = None
    available_min_bytes: int | None = None
    total_bytes: int | None = None
    cpu_percent: float | None = None  # of all cores, whoever used them
    cores: int | None = None
    stall_percent: float | None = None  # PSI memory full
    ladder: str = "calm"  # the highest step
    ladder_s: dict[str, float] = {}  # seconds on each
    agents: float | None = None
    agents_max: int = 0
    most_agents: int | None = None  # that were allowed
    used_bytes: float | None = None  # by all agents
    used_max_bytes: int = 0
    expected_bytes: float | None = None  # that admission counted with
    expected_max_bytes: int = 0
    limits_bytes: float | None = None  # all walls together
    wall_bytes: int | None = None  # the fleet's
    pressed_s: float = 0.0  # agent-seconds above 85 % of the own limit
    frozen_s: float = 0.0  # agent-seconds
    waiting: float | None = None
    waiting_max: int = 0
    submitted: int = 0
    starts: int = 0
    ends: dict[str, int] = {}  # by outcome
    preemptions: int = 0
    ooms: int = 0  # at an agent's own wall
    fleet_ooms: int = 0
    freezes: int = 0  # by pressure
    quota_refusals: int = 0  # runs that ended, or were not taken, for a limit that all share
    wait_p50_s: float | None = None  # queued
    wait_p95_s: float | None = None
    start_p95_s: float | None = None  # from being let in to being at work
    workspace_bytes: int | None = None
    unused_workspace_bytes: int | None = None  # of them, in those that no run has
    log_bytes: int | None = None
    disk_bytes: int | None = None  # of the file system that holds paddock's state
    disk_free_bytes: int | None = None


class GroupHistory(msgspec.Struct, kw_only=True):
    """One group over the whole time that was asked for."""

    group: str
    days: int  # on which it was at work
    first_at: float
    last_at: float  # the beginning of its last span
    agent_s: float  # seconds of all its agents together
    used_bytes: float | None = None  # of one agent, on average
    used_max_bytes: int = 0
    expected_bytes: float | None = None
    limits_bytes: float | None = None
    limit_bytes: int | None = None  # of its newest attempt
    limit_max_bytes: int = 0
    attempts: int = 0
    ends: dict[str, int] = {}
    preemptions: int = 0
    ooms: int = 0
    fleet_ooms: int = 0
    frozen_s: float = 0.0
    # How many attempts had a peak, a run time or a wait of at most so much: (value, count).
    peaks: tuple[tuple[float, int], ...] = ()
    run_times: tuple[tuple[float, int], ...] = ()
    waits: tuple[tuple[float, int], ...] = ()
    # Of the run times, those that began while all cores were in use.
    crowded_run_times: tuple[tuple[float, int], ...] = ()
    last_run: str | None = None  # the name of its newest that is known


class LedgerView(msgspec.Struct, kw_only=True):
    """An alert (pressure, memory, breaker, disk, quota, quiet, queue, storm) and what followed it,
    or a daemon's life."""

    kind: str
    subject: str
    at: float
    until_at: float | None = None  # null: still so
    verdict: str = ""  # of an alert: true, false, unknown; of a daemon: stopped
    facts: dict[str, float] = {}
    because: str = ""


class HistoryView(msgspec.Struct, kw_only=True):
    since_at: float
    until_at: float
    step_s: int
    points: tuple[HistoryPoint, ...] = ()  # in order; spans that nobody saw are not there
    groups: tuple[GroupHistory, ...] = ()
    ledger: tuple[LedgerView, ...] = ()
