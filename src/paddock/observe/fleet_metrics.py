"""The metrics of the daemon, the host, the fleet as a whole, and its queue."""

from __future__ import annotations

from typing import Final

from paddock.core.pressure import Rung

from .metric import MOST_AGENTS, QUEUE_BUCKETS_S, Metric, counter, gauge, times

LADDER: Final = {
    Rung.CALM: "calm",
    Rung.SKIP_LOW: "skips low priority",
    Rung.QUEUE: "starts nothing",
    Rung.PREEMPT: "preempts",
    Rung.EMERGENCY: "kills",
}
SECTIONS: Final[dict[str, tuple[Metric, ...]]] = {
    "The daemon": (
        gauge(
            "paddock_build_info",
            "state",
            "Always 1; the label says which version answers.",
            "the package",
            "version",
        ),
        gauge(
            "paddock_start_time_seconds",
            "seconds",
            "When this daemon was started; all counters began at 0 then.",
            "the daemon",
        ),
        gauge(
            "paddock_store_trouble",
            "state",
            "1 while the store cannot be written: nothing new is taken, what runs goes on. "
            "Of controllers it is the API server.",
            "the store",
        ),
        gauge(
            "paddock_leader",
            "state",
            "In a cluster: 1 of the controller that leads, 0 of one that waits for its turn.",
            "the lease",
        ),
        counter(
            "process_cpu_seconds_total",
            "seconds",
            "What the daemon used of the cores, with commands that it ran.",
            "/proc/self/stat",
        ),
        gauge(
            "process_resident_memory_bytes",
            "bytes",
            "What the daemon itself holds.",
            "/proc/self/statm",
        ),
        gauge(
            "process_open_fds",
            "things",
            "Descriptors that the daemon has open.",
            "/proc/self/fd",
        ),
    ),
    "The host": (
        gauge(
            "paddock_host_memory_size_bytes",
            "bytes",
            "Memory that counts: RAM, or less where a cgroup says so.",
            "the eyes",
        ),
        gauge(
            "paddock_host_memory_available_bytes",
            "bytes",
            "What is available of it; missing while it cannot be read.",
            "the eyes",
        ),
        gauge(
            "paddock_host_memory_used_ratio",
            "ratio",
            "The use that the ladder goes by; missing while it cannot be read.",
            "the eyes",
        ),
        gauge(
            "paddock_host_memory_stalled_ratio",
            "ratio",
            "Of the last 10 s, the part in which all tasks waited for memory (PSI full).",
            "the eyes",
        ),
        gauge("paddock_host_swap_used_ratio", "ratio", "How full the swap is.", "the eyes"),
        gauge(
            "paddock_host_cpus",
            "cores",
            "Cores that paddock can use, with a quota taken into account.",
            "/proc and cgroups",
        ),
        gauge(
            "paddock_pressure_step",
            "state",
            f"The ladder: {', '.join(f'{rung:d} {what}' for rung, what in LADDER.items())}.",
            "the ladder",
        ),
        gauge(
            "paddock_containment",
            "state",
            "1 where the driver keeps the promise: memory_wall, fleet_wall, whole_tree, freeze.",
            "the drivers",
            "driver",
            "promise",
        ),
        gauge(
            "paddock_disk_size_bytes",
            "bytes",
            "The file system of the place: state (store and output) or workspaces.",
            "statvfs",
            "place",
        ),
        gauge(
            "paddock_disk_free_bytes",
            "bytes",
            "What paddock can still write there.",
            "statvfs",
            "place",
        ),
    ),
    "The fleet": (
        gauge(
            "paddock_fleet_memory_limit_bytes",
            "bytes",
            "The wall around all agents.",
            "the policy",
        ),
        gauge(
            "paddock_fleet_memory_used_bytes",
            "bytes",
            "What all agents use, page cache left out.",
            "the eyes",
        ),
        gauge(
            "paddock_fleet_memory_expected_bytes",
            "bytes",
            "What admission counts for those at work.",
            "admission",
        ),
        gauge(
            "paddock_agents",
            "agents",
            "Attempts by state: starting, running, frozen, stopping.",
            "the fleet",
            "state",
        ),
        gauge(
            "paddock_agents_limit",
            "agents",
            "How many may be at work at once; missing where only memory decides.",
            "the policy",
        ),
        gauge(
            "paddock_agents_without_series",
            "agents",
            f"Agents at work beyond the oldest {MOST_AGENTS:,}, which have no series of their own.",
            "the fleet",
        ),
        gauge(
            "paddock_quota_used_ratio",
            "ratio",
            "Use of what is limited: memory (of the fleet's wall), agents, queue, workspaces; in a "
            "cluster the lines of its quotas, as in limits.memory.",
            "the fleet",
            "resource",
        ),
    ),
    "The queue": (
        gauge(
            "paddock_queue_length",
            "runs",
            "Runs that could start if there were room.",
            "the queue",
            "priority",
        ),
        gauge(
            "paddock_runs_waiting",
            "runs",
            "All that wait, also for other runs or for their time.",
            "the fleet",
        ),
        gauge("paddock_queue_limit", "runs", "How many may wait.", "the policy"),
        times(
            "paddock_queue_wait_seconds",
            QUEUE_BUCKETS_S,
            "From entering the queue to a start, with what it waited for others or for its time.",
            "changes",
            "priority",
        ),
    ),
}
