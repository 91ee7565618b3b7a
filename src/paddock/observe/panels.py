"""What the dashboard of a host shows: rows of panels, each with its queries. No JSON here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from .fleet_metrics import LADDER
from .metrics import METRICS

Shown = Literal["timeseries", "stat", "bargauge"]

# Grafana's own words for units.
BYTES, BYTES_PER_S, PART, SECONDS, PLAIN = "bytes", "Bps", "percentunit", "s", "short"
RUNGS: Final = {f"{rung:d}": what for rung, what in LADDER.items()}
BREAKERS: Final = {"0": "closed", "1": "half open", "2": "open"}
NO_WORDS: Final[Mapping[str, str]] = MappingProxyType({})
_AGENT: Final = 'group=~"$group"'


@dataclass(frozen=True, slots=True)
class Query:
    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    title: str
    about: str
    queries: tuple[Query, ...]
    unit: str = PLAIN
    shown: Shown = "timeseries"
    width: int = 12  # of 24
    words: tuple[tuple[str, str], ...] = ()  # for values that are states
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    panels: tuple[Panel, ...]


def of(name: str, *more: str) -> str:
    """A metric of the table, of the host that is looked at."""
    family = name
    for suffix in ("_bucket", "_count", "_sum"):
        family = family if family in METRICS else name.removesuffix(suffix)
    assert family in METRICS, name
    labels = ",".join(('instance="$instance"', *more))
    return f"{name}{{{labels}}}"


def rate(name: str, *more: str) -> str:
    return f"rate({of(name, *more)}[$__rate_interval])"


def increase(name: str, *more: str) -> str:
    return f"increase({of(name, *more)}[$__rate_interval])"


def quantile(q: float, name: str, *by: str) -> str:
    labels = ", ".join(("le", *by))
    return f"histogram_quantile({q}, sum by ({labels}) ({rate(f'{name}_bucket')}))"


def _stat(
    title: str, about: str, expr: str, *, unit: str = PLAIN, words: Mapping[str, str] = NO_WORDS
) -> Panel:
    return Panel(
        title=title,
        about=about,
        queries=(Query(expr),),
        unit=unit,
        shown="stat",
        width=4,
        words=tuple(words.items()),
    )


_GLANCE: Final = Row(
    "At a glance",
    (
        _stat(
            "Agents at work", "Starting, running, frozen, stopping.", f"sum({of('paddock_agents')})"
        ),
        _stat("Waiting", "Runs that could start.", f"sum({of('paddock_queue_length')})"),
        _stat(
            "Pressure",
            "The step of the ladder.",
            of("paddock_pressure_step"),
            words=RUNGS,
        ),
        _stat(
            "Of the fleet's wall",
            "Memory that all agents use, of what they may.",
            f"{of('paddock_fleet_memory_used_bytes')} / {of('paddock_fleet_memory_limit_bytes')}",
            unit=PART,
        ),
        _stat("Breakers open", "Groups that are held back.", of("paddock_breakers_open")),
        _stat(
            "Walls met in an hour",
            "Of any kind: memory, the fleet's, processes, watched.",
            f"sum(increase({of('paddock_limit_hits_total')}[1h]))",
        ),
    ),
)

_AGENTS: Final = Row(
    "Agents",
    (
        Panel(
            title="Memory by agent",
            about="Page cache left out.",
            unit=BYTES,
            queries=(Query(of("paddock_agent_memory_bytes", _AGENT), "{{name}}"),),
        ),
        Panel(
            title="Memory of its limit",
            about="Above 85 % for five minutes is an alert.",
            unit=PART,
            queries=(
                Query(
                    f"{of('paddock_agent_memory_bytes', _AGENT)} / "
                    f"({of('paddock_agent_memory_limit_bytes', _AGENT)} > 0)",
                    "{{name}}",
                ),
            ),
        ),
        Panel(
            title="CPU by agent",
            about="In cores.",
            queries=(Query(rate("paddock_agent_cpu_seconds_total", _AGENT), "{{name}}"),),
        ),
        Panel(
            title="CPU of its limit",
            about="Of all cores, where it has no limit. Above 80 % for ten minutes is an alert.",
            unit=PART,
            queries=(
                Query(
                    f"{rate('paddock_agent_cpu_seconds_total', _AGENT)} / "
                    f"{of('paddock_agent_cpu_limit_cores', _AGENT)}",
                    "{{name}}",
                ),
            ),
        ),
        Panel(
            title="Workspace by agent",
            about="On the disk, weighed every five minutes.",
            unit=BYTES,
            shown="bargauge",
            queries=(Query(of("paddock_agent_workspace_bytes", _AGENT), "{{name}}"),),
        ),
        Panel(
            title="Output by agent",
            about="What each writes.",
            unit=BYTES_PER_S,
            queries=(Query(rate("paddock_agent_output_bytes_total", _AGENT), "{{name}}"),),
        ),
        Panel(
            title="Quiet since",
            about="Half an hour without a word is an alert.",
            unit=SECONDS,
            queries=(
                Query(
                    f"time() - {of('paddock_agent_last_output_timestamp_seconds', _AGENT)}",
                    "{{name}}",
                ),
            ),
        ),
        Panel(
            title="At work since",
            about="How long the present attempt has been running.",
            unit=SECONDS,
            queries=(
                Query(f"time() - {of('paddock_agent_start_time_seconds', _AGENT)}", "{{name}}"),
            ),
        ),
    ),
)

_QUEUE: Final = Row(
    "Queue and runs",
    (
        Panel(
            title="Queue",
            about="Runs that could start if there were room.",
            stacked=True,
            queries=(Query(of("paddock_queue_length"), "{{priority}}"),),
        ),
        Panel(
            title="Wait for a start",
            about="Half of the runs wait less than the first, 95 % less than the second.",
            unit=SECONDS,
            queries=(
                Query(quantile(0.5, "paddock_queue_wait_seconds"), "half"),
                Query(quantile(0.95, "paddock_queue_wait_seconds"), "95 %"),
            ),
        ),
        Panel(
            title="Runs that ended",
            about="By how.",
            stacked=True,
            queries=(
                Query(f"sum by (outcome) ({increase('paddock_runs_ended_total')})", "{{outcome}}"),
            ),
        ),
        Panel(
            title="How long attempts ran",
            about="95 % of those of a group took less.",
            unit=SECONDS,
            queries=(
                Query(quantile(0.95, "paddock_attempt_duration_seconds", "group"), "{{group}}"),
            ),
        ),
        Panel(
            title="Agents by state",
            about="And how many there may be.",
            queries=(
                Query(of("paddock_agents"), "{{state}}"),
                Query(of("paddock_agents_limit"), "limit"),
            ),
        ),
        Panel(
            title="Breakers",
            about="0 closed, 1 half open, 2 open.",
            words=tuple(BREAKERS.items()),
            queries=(Query(of("paddock_breaker_state", _AGENT), "{{group}}"),),
        ),
    ),
)

_PRESSURE: Final = Row(
    "Pressure",
    (
        Panel(
            title="Memory of the host and of the fleet",
            about="Used and expected stay below the wall, available above the floor.",
            unit=BYTES,
            queries=(
                Query(of("paddock_host_memory_size_bytes"), "host"),
                Query(of("paddock_host_memory_available_bytes"), "available"),
                Query(of("paddock_fleet_memory_limit_bytes"), "the fleet's wall"),
                Query(of("paddock_fleet_memory_expected_bytes"), "expected of agents"),
                Query(of("paddock_fleet_memory_used_bytes"), "used by agents"),
            ),
        ),
        Panel(
            title="Ladder",
            about="From calm to killing.",
            words=tuple(RUNGS.items()),
            queries=(Query(of("paddock_pressure_step"), "step"),),
        ),
        Panel(
            title="Signs of pressure",
            about="Memory in use, time in which everybody waits for memory, swap.",
            unit=PART,
            queries=(
                Query(of("paddock_host_memory_used_ratio"), "memory used"),
                Query(of("paddock_host_memory_stalled_ratio"), "stalled"),
                Query(of("paddock_host_swap_used_ratio"), "swap used"),
            ),
        ),
        Panel(
            title="Stopped by paddock or the kernel",
            about="Preemptions, walls that were met, timeouts.",
            queries=(
                Query(increase("paddock_preemptions_total"), "preempted: {{cause}}"),
                Query(increase("paddock_limit_hits_total"), "wall: {{limit}}"),
                Query(increase("paddock_timeouts_total"), "timeout: {{kind}}"),
            ),
        ),
    ),
)

_PLACES: Final = Row(
    "Quotas, disks, workspaces",
    (
        Panel(
            title="Use of what is limited",
            about="Above 80 % for five minutes is an alert, but for agents.",
            unit=PART,
            shown="bargauge",
            queries=(Query(of("paddock_quota_used_ratio"), "{{resource}}"),),
        ),
        Panel(
            title="Disks",
            about="What is free.",
            unit=PART,
            shown="bargauge",
            queries=(
                Query(
                    f"{of('paddock_disk_free_bytes')} / {of('paddock_disk_size_bytes')}",
                    "{{place}}",
                ),
            ),
        ),
        Panel(
            title="Workspaces",
            about="By state, and how many there may be.",
            queries=(
                Query(of("paddock_workspaces"), "{{state}}"),
                Query(of("paddock_workspaces_limit"), "limit"),
            ),
        ),
        Panel(
            title="Wait for a workspace",
            about="95 % were there sooner; with or without a clone or a fetch.",
            unit=SECONDS,
            queries=(
                Query(
                    quantile(0.95, "paddock_workspace_prepare_seconds", "fetched"),
                    "fetched: {{fetched}}",
                ),
            ),
        ),
    ),
)

_DAEMON: Final = Row(
    "Output and the daemon",
    (
        Panel(
            title="Output",
            about="What all agents write, and what the disk had no room for.",
            unit=BYTES_PER_S,
            queries=(
                Query(rate("paddock_output_bytes_total"), "kept"),
                Query(rate("paddock_output_discarded_bytes_total"), "not kept"),
            ),
        ),
        Panel(
            title="Buffers that ran full, and ready checks",
            about="Logs, packing, disk, readers of events; looks for ready markers.",
            queries=(
                Query(increase("paddock_buffer_overflows_total"), "buffer: {{kind}}"),
                Query(increase("paddock_ready_checks_total"), "ready: {{result}}"),
            ),
        ),
        Panel(
            title="The daemon's own use of the cores",
            about="In cores.",
            queries=(Query(rate("process_cpu_seconds_total"), "daemon"),),
        ),
        Panel(
            title="The daemon's own memory",
            about="Resident.",
            unit=BYTES,
            queries=(Query(of("process_resident_memory_bytes"), "daemon"),),
        ),
    ),
)

HOST_ROWS: Final = (_GLANCE, _AGENTS, _QUEUE, _PRESSURE, _PLACES, _DAEMON)
