"""What the dashboard of a cluster shows: AgentRuns by their controllers, agents by their pods."""

from __future__ import annotations

from .alerts import JOB
from .metrics import OF_CONTROLLERS
from .panels import BYTES, PART, PLAIN, SECONDS, Panel, Query, Row


def cluster_rows(namespace: str, container: str) -> tuple[Row, ...]:
    space = f'namespace="{namespace}"'
    pods = f'{space},container="{container}"'
    agents = (*_use(pods), _share(pods), _phases(space))
    return (
        Row("At a glance", _glance(space)),
        Row("AgentRuns", (*_runs(space), *_ways(space))),
        Row("Agents", agents),
        Row("Limits", _limits(space)),
    )


def of(name: str, space: str) -> str:
    """A metric that controllers serve."""
    assert name.removesuffix("_bucket") in OF_CONTROLLERS, name
    return f"{name}{{{space}}}"


def _glance(space: str) -> tuple[Panel, ...]:
    """Of all replicas together: only the one that leads knows of runs."""
    return (
        _stat("At work", "Agents of any state.", f"sum({of('paddock_agents', space)})"),
        _stat("Waiting", "Also for others.", f"sum({of('paddock_runs_waiting', space)})"),
        _stat("Breakers", "Groups held back.", f"sum({of('paddock_breakers_open', space)})"),
        _stat("Leaders", "One, or nothing goes on.", f"sum({of('paddock_leader', space)})"),
        _stat(
            "Controllers",
            "That answer.",
            f'count(up{{job="{JOB}",{space}}} == 1) or vector(0)',
        ),
        _stat(
            "Not written",
            "1 while the API server takes no status.",
            f"max({of('paddock_store_trouble', space)})",
        ),
    )


def _stat(title: str, about: str, expr: str) -> Panel:
    return Panel(
        title=title, about=about, queries=(Query(expr),), unit=PLAIN, shown="stat", width=4
    )


def _runs(space: str) -> tuple[Panel, ...]:
    waiting, queued = of("paddock_runs_waiting", space), of("paddock_queue_length", space)
    ended = f"increase({of('paddock_runs_ended_total', space)}[$__rate_interval])"
    return (
        Panel(
            title="AgentRuns by state",
            about="Those that have not ended.",
            queries=(
                Query(f"sum by (state) ({of('paddock_agents', space)})", "{{state}}"),
                Query(f"sum({waiting})", "waiting"),
            ),
            stacked=True,
        ),
        Panel(
            title="Queue",
            about="AgentRuns that could start if there were room, by priority.",
            queries=(Query(f"sum by (priority) ({queued})", "{{priority}}"),),
            stacked=True,
        ),
        Panel(
            title="AgentRuns that ended",
            about="By how.",
            queries=(Query(f"sum by (outcome) ({ended})", "{{outcome}}"),),
            stacked=True,
        ),
    )


def _ways(space: str) -> tuple[Panel, ...]:
    buckets = of("paddock_queue_wait_seconds_bucket", space)
    waits = f"sum by (le) (rate({buckets}[$__rate_interval]))"
    stopped = f"increase({of('paddock_preemptions_total', space)}[$__rate_interval])"
    return (
        Panel(
            title="Wait for a start",
            about="The middle, and what nine of ten waited at most.",
            queries=(
                Query(f"histogram_quantile(0.5, {waits})", "the middle"),
                Query(f"histogram_quantile(0.9, {waits})", "nine of ten"),
            ),
            unit=SECONDS,
        ),
        Panel(
            title="Preemptions",
            about="Stopped to come back later: for a priority above theirs, or by the cluster.",
            queries=(Query(f"sum by (cause) ({stopped})", "{{cause}}"),),
        ),
        Panel(
            title="Memory of controllers",
            about="What each of them holds.",
            queries=(
                Query(of("process_resident_memory_bytes", f'job="{JOB}",{space}'), "{{pod}}"),
            ),
            unit=BYTES,
        ),
    )


def _use(pods: str) -> tuple[Panel, ...]:
    cpu = f"rate(container_cpu_usage_seconds_total{{{pods}}}[$__rate_interval])"
    memory = f"container_memory_working_set_bytes{{{pods}}}"
    return (
        Panel(
            title="CPU usage by agent",
            about="Cores that each agent's pod uses.",
            queries=(Query(f"sum by (pod) ({cpu})", "{{pod}}"),),
        ),
        Panel(
            title="Memory usage by agent",
            about="What each agent's pod holds and the kernel cannot take back.",
            queries=(Query(f"sum by (pod) ({memory})", "{{pod}}"),),
            unit=BYTES,
            stacked=True,
        ),
    )


def _share(pods: str) -> Panel:
    used = f"max by (pod) (container_memory_working_set_bytes{{{pods}}})"
    limit = f"max by (pod) (container_spec_memory_limit_bytes{{{pods}}} > 0)"
    return Panel(
        title="Memory of its limit",
        about="1 is the wall.",
        queries=(Query(f"{used} / {limit}", "{{pod}}"),),
        unit=PART,
    )


def _phases(space: str) -> Panel:
    return Panel(
        title="Pods by phase",
        about="Pending for long: the cluster has no room, or no image.",
        queries=(Query(f"sum by (phase) (kube_pod_status_phase{{{space}}})", "{{phase}}"),),
        stacked=True,
    )


def _limits(space: str) -> tuple[Panel, ...]:
    quota = (
        f'kube_resourcequota{{{space},type="used"}} / ignoring (type) '
        f'(kube_resourcequota{{{space},type="hard"}} > 0)'
    )
    volumes = (
        f"kubelet_volume_stats_used_bytes{{{space}}} / "
        f"(kubelet_volume_stats_capacity_bytes{{{space}}} > 0)"
    )
    return (
        Panel(
            title="Quota in use",
            about="At 1 the next run waits.",
            queries=(Query(quota, "{{resource}}"),),
            unit=PART,
            shown="bargauge",
        ),
        Panel(
            title="Workspaces in use",
            about="Of what each volume holds.",
            queries=(Query(volumes, "{{persistentvolumeclaim}}"),),
            unit=PART,
            shown="bargauge",
        ),
    )
