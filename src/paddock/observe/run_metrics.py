"""The metrics of runs and attempts, of agents at work, of what they write and where they work."""

from __future__ import annotations

from typing import Final

from .metric import AGENT, CLONE_BUCKETS_S, RUN_BUCKETS_S, Metric, counter, gauge, times

SECTIONS: Final[dict[str, tuple[Metric, ...]]] = {
    "Runs and attempts": (
        counter(
            "paddock_runs_submitted_total", "runs", "Runs that were taken.", "changes", "group"
        ),
        counter(
            "paddock_runs_ended_total",
            "runs",
            "Runs that ended, by how.",
            "changes",
            *("group", "outcome"),
        ),
        counter(
            "paddock_attempts_started_total",
            "times",
            "Attempts that were let start.",
            "changes",
            "group",
        ),
        times(
            "paddock_attempt_duration_seconds",
            RUN_BUCKETS_S,
            "How long attempts ran, without what they stood frozen.",
            "changes",
            "group",
        ),
        counter(
            "paddock_timeouts_total",
            "times",
            "Timeouts that came: soft (asked to wrap up) and hard (stopped).",
            "changes",
            "kind",
        ),
        counter(
            "paddock_limit_hits_total",
            "times",
            "Walls that were met: memory (its own), fleet, pids, and watched (stopped by paddock).",
            "changes and ends",
            "limit",
        ),
        counter(
            "paddock_oom_kills_total",
            "times",
            "Attempts of which the kernel killed a process for memory.",
            "ends",
            "group",
        ),
        gauge(
            "paddock_last_oom_timestamp_seconds",
            "seconds",
            "When that last happened; missing where it has not.",
            "ends",
            "group",
        ),
        counter(
            "paddock_preemptions_total",
            "times",
            "Attempts stopped to come back later: for pressure, or for a priority above theirs.",
            "changes",
            "cause",
        ),
        gauge(
            "paddock_breaker_state",
            "state",
            "0 closed, 1 half open (one may try), 2 open (nothing of the group starts).",
            "the groups",
            "group",
        ),
        gauge(
            "paddock_breakers_open", "things", "Breakers that are open or half open.", "the groups"
        ),
    ),
    "Agents at work": (
        gauge(
            "paddock_agent_memory_bytes",
            "bytes",
            "What it uses, page cache left out.",
            "the eyes",
            *AGENT,
        ),
        gauge("paddock_agent_memory_limit_bytes", "bytes", "Its wall.", "the fleet", *AGENT),
        gauge(
            "paddock_agent_memory_peak_bytes",
            "bytes",
            "The most it was seen to use in this attempt.",
            "the eyes",
            *AGENT,
        ),
        counter(
            "paddock_agent_cpu_seconds_total",
            "seconds",
            "What its present attempt used of the cores.",
            "its cgroup, or /proc",
            *AGENT,
        ),
        gauge(
            "paddock_agent_cpu_limit_cores",
            "cores",
            "Its CPU wall; all cores of the host where it has none.",
            "its cgroup",
            *AGENT,
        ),
        counter(
            "paddock_agent_output_bytes_total",
            "bytes",
            "What its present attempt wrote.",
            "the logs",
            *AGENT,
        ),
        gauge(
            "paddock_agent_last_output_timestamp_seconds",
            "seconds",
            "When it last wrote; when it started, if it never did.",
            "the logs",
            *AGENT,
        ),
        gauge(
            "paddock_agent_start_time_seconds",
            "seconds",
            "When its present attempt began to run.",
            "the fleet",
            *AGENT,
        ),
        gauge(
            "paddock_agent_frozen",
            "state",
            "1 while it is held where it is, by a user or by pressure.",
            "the fleet",
            *AGENT,
        ),
        gauge(
            "paddock_agent_workspace_bytes",
            "bytes",
            "Its workspace on the disk, weighed every five minutes while somebody scrapes.",
            "du",
            *AGENT,
        ),
    ),
    "Output": (
        counter(
            "paddock_output_bytes_total", "bytes", "What all agents wrote and is kept.", "the logs"
        ),
        counter(
            "paddock_output_discarded_bytes_total",
            "bytes",
            "What they wrote while the disk was too full to keep it.",
            "the logs",
        ),
        counter(
            "paddock_buffer_overflows_total",
            "times",
            "What ran full: a log (rotated), its packing (held: the agent waits), the disk "
            "(discarded), a reader of events (missed).",
            "the logs and the news",
            "kind",
        ),
        counter(
            "paddock_ready_checks_total",
            "times",
            "Looks for a ready marker: ready, not_yet, failed.",
            "ready markers",
            "result",
        ),
    ),
    "Workspaces": (
        gauge(
            "paddock_workspaces",
            "things",
            "Workspaces by state: making, slot, taken, idle, going.",
            "their records",
            "state",
        ),
        gauge("paddock_workspaces_limit", "things", "How many there may be.", "the settings"),
        times(
            "paddock_workspace_prepare_seconds",
            CLONE_BUCKETS_S,
            "How long runs waited for theirs; fetched says whether a clone or a fetch was in it.",
            "workspaces",
            "fetched",
        ),
    ),
}
