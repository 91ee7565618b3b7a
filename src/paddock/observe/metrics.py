"""The table of metrics: the endpoint, the reference page, the rules and the dashboard come from it.

Names and units are as Prometheus' conventions want them: base units, `_total` for what only grows,
`_ratio` for 0 to 1, `_timestamp_seconds` for a time of day. Every label has a bound.
"""

from __future__ import annotations

from typing import Final

from . import fleet_metrics, run_metrics
from .metric import Metric

SECTIONS: Final = {**fleet_metrics.SECTIONS, **run_metrics.SECTIONS}
# What controllers in a cluster serve; of agents' use the kubelet tells, of a host there is none.
OF_CONTROLLERS: Final = frozenset(
    {
        *("paddock_build_info", "paddock_start_time_seconds", "paddock_store_trouble"),
        *("process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds"),
        *("paddock_leader", "paddock_agents", "paddock_quota_used_ratio"),
        *("paddock_queue_length", "paddock_runs_waiting", "paddock_queue_limit"),
        *("paddock_queue_wait_seconds", "paddock_runs_submitted_total"),
        *("paddock_runs_ended_total", "paddock_attempts_started_total"),
        *("paddock_attempt_duration_seconds", "paddock_timeouts_total"),
        *("paddock_limit_hits_total", "paddock_oom_kills_total"),
        *("paddock_last_oom_timestamp_seconds", "paddock_preemptions_total"),
        *("paddock_breaker_state", "paddock_breakers_open"),
    }
)
METRICS: Final[dict[str, Metric]] = {
    metric.name: metric for metrics in SECTIONS.values() for metric in metrics
}
