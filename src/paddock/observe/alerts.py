"""The table of alerts: what is worth waking somebody, in expressions that can really fire.

Thresholds, durations and severities are those asked for (OBS-2); why the expressions are not is in
`tests/unit/observe/test_first_rules.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from paddock.core.pressure import Rung
from paddock.core.units import GIB

QUIET_S: Final = 30 * 60
STORM: Final = 10  # preemptions within ten minutes
JOB: Final = "paddock"  # as Prometheus calls what it scrapes of us, on a host and in a cluster
LITTLE_DISK_SHARE: Final = 0.1
LITTLE_DISK_BYTES: Final = 20 * GIB

_AGENT: Final = "{{ $labels.name }} ({{ $labels.run }})"


def is_little_disk(free_bytes: int, total_bytes: int) -> bool:
    """As `PaddockDiskNearlyFull` has it."""
    return free_bytes < LITTLE_DISK_SHARE * total_bytes and free_bytes < LITTLE_DISK_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    name: str
    severity: Literal["warning", "critical"]
    expr: str
    lasts: str  # `for`: how long it must be so
    summary: str
    description: str


HOST: Final = (
    Alert(
        name="AgentHighCPUUsage",
        severity="warning",
        lasts="10m",
        expr="rate(paddock_agent_cpu_seconds_total[5m]) / paddock_agent_cpu_limit_cores > 0.8",
        summary="An agent uses nearly all the CPU that it may",
        description=f"Agent {_AGENT} uses {{{{ $value | humanizePercentage }}}} of its cores",
    ),
    Alert(
        name="AgentHighMemoryUsage",
        severity="warning",
        lasts="5m",
        expr="paddock_agent_memory_bytes / (paddock_agent_memory_limit_bytes > 0) > 0.85",
        summary="An agent is close to its memory wall",
        description=f"Agent {_AGENT} uses {{{{ $value | humanizePercentage }}}} of its limit",
    ),
    Alert(
        name="AgentOOMKilled",
        severity="critical",
        lasts="0m",
        expr="time() - paddock_last_oom_timestamp_seconds < 300",
        summary="The kernel killed an agent for memory",
        description="An agent of the group {{ $labels.group }} was killed for memory "
        "{{ $value | humanizeDuration }} ago",
    ),
    Alert(
        name="PaddockQuotaHigh",
        severity="warning",
        lasts="5m",
        # As many agents as may be is how a busy host should look.
        expr='paddock_quota_used_ratio{resource!="agents"} > 0.8',
        summary="What is limited is nearly used up",
        description="{{ $labels.resource }}: {{ $value | humanizePercentage }} are in use",
    ),
    Alert(
        name="PaddockWallHit",
        severity="warning",
        lasts="0m",
        expr='increase(paddock_limit_hits_total{limit!="memory"}[10m]) > 0',
        summary="Agents met a wall other than their own memory limit",
        description="The limit {{ $labels.limit }} was met in the last 10 minutes",
    ),
    Alert(
        name="PaddockAgentQuiet",
        severity="warning",
        lasts="5m",
        expr=f"time() - paddock_agent_last_output_timestamp_seconds > {QUIET_S} "
        "unless paddock_agent_frozen == 1",
        summary="An agent has not written anything for long",
        description=f"Agent {_AGENT} is quiet for {{{{ $value | humanizeDuration }}}}",
    ),
    Alert(
        name="PaddockQueueNotMoving",
        severity="warning",
        lasts="10m",
        # Not by group: of a counter that is new its first step is not seen.
        expr="sum by (job, instance) (paddock_queue_length) > 0 and on (job, instance) "
        "sum by (job, instance) (increase(paddock_queue_wait_seconds_count[30m])) == 0",
        summary="Runs wait, and none was started for half an hour",
        description="{{ $value }} runs wait on {{ $labels.instance }}",
    ),
    Alert(
        name="PaddockBreakerOpen",
        severity="warning",
        lasts="5m",
        # A probe closes it for a moment; what is open again within 3 minutes was never well.
        expr="max_over_time(paddock_breaker_state[3m]) == 2",
        summary="A group fails again and again, and is held back",
        description="The breaker of the group {{ $labels.group }} is open",
    ),
    Alert(
        name="PaddockPreemptionStorm",
        severity="warning",
        lasts="0m",
        expr=f"sum by (job, instance) (increase(paddock_preemptions_total[10m])) > {STORM}",
        summary="Agents are stopped for others again and again",
        description="{{ $value | humanize }} were preempted within 10 minutes",
    ),
    Alert(
        name="PaddockHostPressed",
        severity="warning",
        lasts="10m",
        expr=f"paddock_pressure_step >= {Rung.QUEUE:d}",
        summary="The host is short of memory: nothing starts",
        description="The ladder is at step {{ $value }} on {{ $labels.instance }}",
    ),
    Alert(
        name="PaddockNoContainment",
        severity="critical",
        lasts="5m",
        expr='paddock_containment{driver="local",promise="memory_wall"} == 0',
        summary="Agents run without walls",
        description="On {{ $labels.instance }} no kernel limit holds an agent's memory",
    ),
    Alert(
        name="PaddockDiskNearlyFull",
        severity="warning",
        lasts="5m",
        expr=f"paddock_disk_free_bytes / paddock_disk_size_bytes < {LITTLE_DISK_SHARE} and "
        f"paddock_disk_free_bytes < {LITTLE_DISK_BYTES}",
        summary="The disk under paddock is nearly full",
        description="{{ $labels.place }}: {{ $value | humanizePercentage }} of the disk are free",
    ),
    Alert(
        name="PaddockStoreTrouble",
        severity="critical",
        lasts="1m",
        expr="paddock_store_trouble == 1",
        summary="The store cannot be written: nothing new is taken",
        description="paddock on {{ $labels.instance }} cannot write its store",
    ),
    Alert(
        name="PaddockDown",
        severity="critical",
        lasts="2m",
        expr='up{job="paddock"} == 0 or absent(up{job="paddock"})',
        summary="paddock does not answer",
        description="No metrics of paddock {{ $labels.instance }}",
    ),
)


def controllers(namespace: str) -> tuple[Alert, ...]:
    """Of paddock in a cluster, by what its controllers serve. One of them leads, and another may
    lead a moment later: what counts is the sum over all of them, not each by itself."""
    of = f'{{namespace="{namespace}"}}'
    return (*_of_the_queue(of), *_of_leading(namespace, of))


def _of_the_queue(of: str) -> tuple[Alert, ...]:
    starts = f"increase(paddock_queue_wait_seconds_count{of}[30m])"
    stopped = f"increase(paddock_preemptions_total{of}[10m])"
    return (
        Alert(
            name="PaddockQueueNotMoving",
            severity="warning",
            lasts="10m",
            expr=f"sum by (namespace) (paddock_queue_length{of}) > 0 and on (namespace) "
            f"sum by (namespace) ({starts}) == 0",
            summary="AgentRuns wait, and none was started for half an hour",
            description="{{ $value }} AgentRuns wait in {{ $labels.namespace }}",
        ),
        Alert(
            name="PaddockBreakerOpen",
            severity="warning",
            lasts="5m",
            expr=f"max by (namespace, group) (max_over_time(paddock_breaker_state{of}[3m])) == 2",
            summary="A group fails again and again, and is held back",
            description="The breaker of the group {{ $labels.group }} is open",
        ),
        Alert(
            name="PaddockPreemptionStorm",
            severity="warning",
            lasts="0m",
            expr=f"sum by (namespace) ({stopped}) > {STORM}",
            summary="Agents are stopped for others, or by the cluster, again and again",
            description="{{ $value | humanize }} were preempted or evicted within 10 minutes",
        ),
    )


def _of_leading(namespace: str, of: str) -> tuple[Alert, ...]:
    return (
        Alert(
            name="PaddockStoreTrouble",
            severity="critical",
            lasts="1m",
            expr=f"max by (namespace) (paddock_store_trouble{of}) == 1",
            summary="AgentRuns cannot be written: nothing new is taken",
            description="The API server takes no status of AgentRuns in {{ $labels.namespace }}",
        ),
        Alert(
            name="PaddockNoLeader",
            severity="critical",
            lasts="2m",
            expr=f"max by (namespace) (paddock_leader{of}) == 0",
            summary="No controller leads: no AgentRun is taken, started or ended",
            description="Controllers answer in {{ $labels.namespace }}, and none of them leads",
        ),
        Alert(
            name="PaddockDown",
            severity="critical",
            lasts="2m",
            # One of two that does not answer is for the cluster to mend.
            expr=f'absent(up{{job="{JOB}",namespace="{namespace}"}} == 1)',
            summary="paddock does not answer",
            description=f"No controller in {namespace} answers Prometheus",
        ),
    )


def cluster(namespace: str, container: str) -> tuple[Alert, ...]:
    """The first four for agents that are pods, by what the kubelet and kube-state-metrics tell."""
    return (*_of_pods(namespace, container), _of_quotas(namespace))


def _of_pods(namespace: str, container: str) -> tuple[Alert, ...]:
    pods = f'namespace="{namespace}",container="{container}"'
    one = "namespace, pod, container"
    killed = f'kube_pod_container_status_terminated_reason{{{pods},reason="OOMKilled"}}'
    last = f'kube_pod_container_status_last_terminated_reason{{{pods},reason="OOMKilled"}}'
    restarts = f"increase(kube_pod_container_status_restarts_total{{{pods}}}[5m])"
    return (
        Alert(
            name="AgentHighCPUUsage",
            severity="warning",
            lasts="10m",
            expr=f"sum by ({one}) (rate(container_cpu_usage_seconds_total{{{pods}}}[5m])) / "
            f"max by ({one}) (kube_pod_container_resource_limits"
            f'{{{pods},resource="cpu"}} > 0) > 0.8',
            summary="Agent pod CPU usage is high",
            description="Agent {{ $labels.pod }} uses {{ $value | humanizePercentage }} of its "
            "CPU limit",
        ),
        Alert(
            name="AgentHighMemoryUsage",
            severity="warning",
            lasts="5m",
            expr=f"max by ({one}) (container_memory_working_set_bytes{{{pods}}}) / "
            f"max by ({one}) (container_spec_memory_limit_bytes{{{pods}}} > 0) > 0.85",
            summary="Agent pod memory usage is high",
            description="Agent {{ $labels.pod }} uses {{ $value | humanizePercentage }} of its "
            "memory limit",
        ),
        Alert(
            name="AgentOOMKilled",
            severity="critical",
            lasts="0m",
            # The first: it was started again. The second: it was not, and stays as it is.
            expr=f"{restarts} > 0 and on ({one}) {last} == 1 or "
            f"({killed} == 1 unless on ({one}) {killed} offset 5m == 1)",
            summary="Agent pod killed due to OOM",
            description="Agent {{ $labels.pod }} was killed for memory",
        ),
    )


def _of_quotas(namespace: str) -> Alert:
    return Alert(
        name="NamespaceResourceQuotaHigh",
        severity="warning",
        lasts="5m",
        expr=f'kube_resourcequota{{namespace="{namespace}",type="used"}} / ignoring (type) '
        f'(kube_resourcequota{{namespace="{namespace}",type="hard"}} > 0) > 0.8',
        summary="Namespace resource quota usage is high",
        description="{{ $labels.resource }}: {{ $value | humanizePercentage }} of the quota "
        "of {{ $labels.namespace }} are in use",
    )


NAMES: Final = tuple(
    dict.fromkeys(alert.name for alert in (*HOST, *cluster("-", "-"), *controllers("-")))
)
