"""What the dashboard of a cluster shows: agents as pods, by what kubelets tell."""

from __future__ import annotations

from .panels import BYTES, PART, Panel, Query, Row


def cluster_rows(namespace: str, container: str) -> tuple[Row, ...]:
    space = f'namespace="{namespace}"'
    pods = f'{space},container="{container}"'
    agents = (*_use(pods), _share(pods), _phases(space))
    return (Row("Agents", agents), Row("Limits", _limits(space)))


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
