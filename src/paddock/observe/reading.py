"""From what the daemon knows at one moment to a page of metrics.

In the loop's thread, because it looks at the fleet; the page itself may be written in another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from paddock.core.breaker import Breaker, Closed, Open
from paddock.core.fleet import Fleet
from paddock.core.run import Attempt, Run, Running, Starting, Stopping
from paddock.logs.free_room import Space
from paddock.logs.intake import Counted
from paddock.ports import Guarantees

from .counts import Counts
from .metric import MOST_AGENTS, MOST_GROUPS
from .metrics import METRICS
from .page import Page, Sample, written

AGENT_STATES = ("starting", "running", "frozen", "stopping")
IN_USE = ("making", "taken")  # of workspaces: the others would make room


class CpuUse(NamedTuple):
    seconds: float
    cores: float | None = None  # that it may use; None: nobody knows


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """What is read from files, away from the loop."""

    disks: Mapping[str, Space] = field(default_factory=dict)
    workspaces: Mapping[str, int] = field(default_factory=dict)  # by state
    own_cpu_s: float = 0.0
    own_bytes: int = 0
    own_descriptors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    version: str
    started_at: float  # seconds since 1970
    fleet: Fleet
    counts: Counts
    wall: Callable[[float], float]  # from the fleet's time to that of day
    aside: Aside = field(default_factory=Aside)
    store_trouble: bool = False
    cpu: Mapping[Attempt, CpuUse] = field(default_factory=dict)
    host_cpus: float | None = None
    output: Counted = field(default_factory=Counted)
    written: Callable[[Attempt], tuple[int, float] | None] = lambda _: None
    drivers: Mapping[str, Guarantees] = field(default_factory=dict)
    ready_checks: Mapping[str, int] = field(default_factory=dict)
    news_missed: int = 0
    most_workspaces: int | None = None
    weights: Mapping[str, int] = field(default_factory=dict)  # of workspaces, by run
    leads: bool = False  # of a controller
    lines: Mapping[str, float] = field(default_factory=dict)  # of quotas: which part is used

    def page(self) -> Page:
        return self._of(HOST)

    def controllers_page(self) -> Page:
        """Of one that does not lead: what it counts stands at 0, so that the first step is seen."""
        return self._of(LEADER if self.leads else STANDBY)

    def _of(self, parts: tuple[Part, ...]) -> Page:
        page = Page()
        for put in parts:
            put(self, page)
        return page


def _daemon(now: Reading, page: Page) -> None:
    page.put("paddock_build_info", 1, now.version)
    page.put("paddock_start_time_seconds", now.started_at)
    page.put("paddock_store_trouble", int(now.store_trouble))
    page.put("process_cpu_seconds_total", now.aside.own_cpu_s)
    page.put("process_resident_memory_bytes", now.aside.own_bytes)
    page.put("process_open_fds", now.aside.own_descriptors)


def _host(now: Reading, page: Page) -> None:
    host = now.fleet.host
    if host is not None:
        used = host.used_percent
        page.put("paddock_host_memory_size_bytes", host.total_bytes)
        page.put("paddock_host_memory_available_bytes", host.available_bytes)
        page.put("paddock_host_memory_used_ratio", None if used is None else used / 100)
        page.put("paddock_host_memory_stalled_ratio", host.memory_stall_percent / 100)
        page.put("paddock_host_swap_used_ratio", host.swap_percent / 100)
    page.put("paddock_host_cpus", now.host_cpus)
    page.put("paddock_pressure_step", int(now.fleet.ladder.rung))
    for driver, given in now.drivers.items():
        for promise, kept in _promises(given):
            page.put("paddock_containment", int(kept), driver, promise)
    for place, space in now.aside.disks.items():
        page.put("paddock_disk_size_bytes", space.total_bytes, place)
        page.put("paddock_disk_free_bytes", space.free_bytes, place)


def _promises(given: Guarantees) -> Iterator[tuple[str, bool]]:
    yield "memory_wall", given.hard_memory_wall
    yield "fleet_wall", given.fleet_wall
    yield "whole_tree", given.kills_whole_tree
    yield "freeze", given.can_freeze


def _fleet(now: Reading, page: Page) -> None:
    fleet = now.fleet
    page.put("paddock_fleet_memory_limit_bytes", fleet.policy.wall_bytes)
    page.put("paddock_fleet_memory_used_bytes", fleet.demand.sums.used_bytes)
    page.put("paddock_fleet_memory_expected_bytes", fleet.demand.expected_bytes)
    page.put("paddock_agents_limit", fleet.policy.max_agents)
    page.put("paddock_agents_without_series", max(0, len(fleet.live) - MOST_AGENTS))


def _states(now: Reading, page: Page) -> None:
    states = Counter(_state(run) for run in now.fleet.live_runs())
    for state in AGENT_STATES:
        page.put("paddock_agents", states[state], state)


def _state(run: Run) -> str:
    match run.state:
        case Starting():
            return "starting"
        case Stopping():
            return "stopping"
        case Running(frozen=None):
            return "running"
        case _:
            return "frozen"


def _quotas(now: Reading, page: Page) -> None:
    """What has no limit has no share of it."""
    fleet, policy = now.fleet, now.fleet.policy
    in_use = sum(now.aside.workspaces.get(state, 0) for state in IN_USE)
    for resource, used, limit in (
        ("memory", fleet.demand.sums.used_bytes, policy.wall_bytes),
        ("agents", fleet.here, policy.max_agents),
        ("queue", fleet.waiting, policy.queue_depth),
        ("workspaces", in_use, now.most_workspaces),
    ):
        page.put("paddock_quota_used_ratio", used / limit if limit else None, resource)


def _lines(now: Reading, page: Page) -> None:
    for resource, used in now.lines.items():
        page.put("paddock_quota_used_ratio", used, resource)


def _leader(now: Reading, page: Page) -> None:
    page.put("paddock_leader", int(now.leads))


def _queue(now: Reading, page: Page) -> None:
    elsewhere = now.fleet.outbound.lengths()
    for priority, length in now.fleet.queue.lengths().items():
        page.put("paddock_queue_length", length + elsewhere[priority], priority.word)
    page.put("paddock_runs_waiting", now.fleet.waiting)
    page.put("paddock_queue_limit", now.fleet.policy.queue_depth)


def _waits(now: Reading, page: Page) -> None:
    for priority, waits in now.counts.waits.items():
        page.put("paddock_queue_wait_seconds", waits.copy(), priority.word)


def _runs(now: Reading, page: Page) -> None:
    counts = now.counts
    for kind, count in counts.timeouts.items():
        page.put("paddock_timeouts_total", count, kind)
    for limit, count in counts.limits.items():
        page.put("paddock_limit_hits_total", count, limit)
    for cause, count in counts.preemptions():
        page.put("paddock_preemptions_total", count, cause)


def _groups(now: Reading, page: Page) -> None:
    known = now.fleet.groups
    for name, group in now.counts.groups.items():
        page.put("paddock_runs_submitted_total", group.submitted, name)
        page.put("paddock_attempts_started_total", group.started, name)
        page.put("paddock_attempt_duration_seconds", group.durations.copy(), name)
        page.put("paddock_oom_kills_total", group.ooms, name)
        if group.last_oom_at is not None:
            page.put("paddock_last_oom_timestamp_seconds", now.wall(group.last_oom_at), name)
        for outcome, count in group.outcomes.items():
            page.put("paddock_runs_ended_total", count, name, str(outcome))
    held = [name for name, group in known.items() if _breaker(group.breaker)]
    page.put("paddock_breakers_open", len(held))
    # Also those that this daemon has not heard of yet: it found them open.
    for name in islice(dict.fromkeys([*held, *now.counts.groups]), MOST_GROUPS):
        if name in known:
            page.put("paddock_breaker_state", _breaker(known[name].breaker), name)


def _breaker(breaker: Breaker) -> int:
    if isinstance(breaker, Closed):
        return 0
    return 2 if isinstance(breaker, Open) else 1


def _output(now: Reading, page: Page) -> None:
    output = now.output
    page.put("paddock_output_bytes_total", output.written_bytes)
    page.put("paddock_output_discarded_bytes_total", output.discarded_bytes)
    for kind, count in (
        ("rotated", output.rotated),
        ("held", output.held),
        ("discarded", output.discarded),
        ("missed", now.news_missed),
    ):
        page.put("paddock_buffer_overflows_total", count, kind)
    for result in ("ready", "not_yet", "failed"):
        page.put("paddock_ready_checks_total", now.ready_checks.get(result, 0), result)


def _workspaces(now: Reading, page: Page) -> None:
    for state in ("making", "slot", "taken", "idle", "going"):
        page.put("paddock_workspaces", now.aside.workspaces.get(state, 0), state)
    page.put("paddock_workspaces_limit", now.most_workspaces)
    for fetched, took in now.counts.made.items():
        page.put("paddock_workspace_prepare_seconds", took.copy(), "yes" if fetched else "no")


def _agents(now: Reading, page: Page) -> None:
    """The oldest, so that a series that is there stays there. Labels are written once for all."""
    found: dict[str, list[Sample]] = {m.name: [] for m in METRICS.values() if m.is_per_agent}
    for run in islice(now.fleet.live_runs(), MOST_AGENTS):
        labels = written((("run", run.id), ("name", run.spec.name), ("group", run.spec.group)))
        for name, value in _of_agent(now, run):
            found[name].append((labels, value))
    for name, samples in found.items():
        page.extend(name, samples)


def _of_agent(now: Reading, run: Run) -> Iterator[tuple[str, float]]:
    demand = now.fleet.demand
    yield "paddock_agent_memory_bytes", demand.used_by(run.id)
    yield "paddock_agent_memory_limit_bytes", run.soft_limit_bytes or run.limit_bytes
    yield "paddock_agent_memory_peak_bytes", demand.peak_of(run.id)
    use = now.cpu.get(run.attempt)
    if use is not None:
        yield "paddock_agent_cpu_seconds_total", use.seconds
        if use.cores is not None:
            yield "paddock_agent_cpu_limit_cores", use.cores
    began_at = _began_at(run)
    if began_at is not None:
        started_at = now.wall(began_at)
        size_bytes, last_at = now.written(run.attempt) or (0, 0.0)
        yield "paddock_agent_output_bytes_total", size_bytes
        yield "paddock_agent_last_output_timestamp_seconds", max(last_at, started_at)
        yield "paddock_agent_start_time_seconds", started_at
    yield "paddock_agent_frozen", int(isinstance(run.state, Running) and bool(run.state.frozen))
    if (weight := now.weights.get(run.id)) is not None:
        yield "paddock_agent_workspace_bytes", weight


def _began_at(run: Run) -> float | None:
    match run.state:
        case Running(since_at=since_at):
            return since_at
        case Stopping(started_at=started_at):
            return started_at
        case _:
            return None


Part = Callable[[Reading, Page], None]
_EVERYWHERE: Final[tuple[Part, ...]] = (_daemon, _states, _queue, _waits, _runs, _groups)
HOST: Final = (*_EVERYWHERE, _host, _fleet, _output, _workspaces, _quotas, _agents)
LEADER: Final = (*_EVERYWHERE, _leader, _lines)
STANDBY: Final = (_daemon, _leader, _waits, _runs)
