"""When each alert fires, when it does not, and where the edge is."""

from __future__ import annotations

from paddock.core.pressure import Rung
from tests.kit.promtool import Case

_OF = 'run="r1",name="solve",group="g",job="paddock",instance="h"'
_HOST = 'job="paddock",instance="h"'


def _agent(name: str, more: str = "") -> str:
    return f"paddock_agent_{name}{{{_OF}{more}}}"


def _cpu(a_minute: float, at: str, firing: int, says: str) -> Case:
    series = {
        _agent("cpu_seconds_total"): f"0+{a_minute}x30",
        _agent("cpu_limit_cores"): "4x30",
    }
    return Case(alert="AgentHighCPUUsage", says=says, series=series, at=at, firing=firing)


def _memory(used: str, limit: str, at: str, firing: int, says: str) -> Case:
    series = {_agent("memory_bytes"): used, _agent("memory_limit_bytes"): limit}
    return Case(alert="AgentHighMemoryUsage", says=says, series=series, at=at, firing=firing)


def _one(alert: str, series: tuple[str, str], at: str, firing: int, says: str) -> Case:
    return Case(alert=alert, says=says, series=dict([series]), at=at, firing=firing)


def _oom(at: str, firing: int, says: str) -> Case:
    last = f'paddock_last_oom_timestamp_seconds{{group="g",{_HOST}}}'
    return _one("AgentOOMKilled", (last, "_x10 600x20"), at, firing, says)


def _quota(resource: str, values: str, at: str, firing: int, says: str) -> Case:
    series = f'paddock_quota_used_ratio{{resource="{resource}",{_HOST}}}'
    return _one("PaddockQuotaHigh", (series, values), at, firing, says)


def _wall(limit: str, at: str, firing: int, says: str) -> Case:
    series = f'paddock_limit_hits_total{{limit="{limit}",{_HOST}}}'
    return _one("PaddockWallHit", (series, "0x5 1x30"), at, firing, says)


def _quiet(frozen: int, at: str, firing: int, says: str) -> Case:
    series = {_agent("last_output_timestamp_seconds"): "60x60", _agent("frozen"): f"{frozen}x60"}
    return Case(alert="PaddockAgentQuiet", says=says, series=series, at=at, firing=firing)


def _queue(length: str, starts: str, at: str, firing: int, says: str) -> Case:
    series = {
        f'paddock_queue_length{{priority="normal",{_HOST}}}': length,
        f'paddock_queue_wait_seconds_count{{priority="normal",{_HOST}}}': starts,
    }
    return Case(alert="PaddockQueueNotMoving", says=says, series=series, at=at, firing=firing)


def _breaker(values: str, at: str, firing: int, says: str) -> Case:
    series = f'paddock_breaker_state{{group="g",{_HOST}}}'
    return _one("PaddockBreakerOpen", (series, values), at, firing, says)


def _storm(values: str, at: str, firing: int, says: str) -> Case:
    series = f'paddock_preemptions_total{{cause="priority",{_HOST}}}'
    return _one("PaddockPreemptionStorm", (series, values), at, firing, says)


def _plain(alert: str, metric: str, values: str, at: str, firing: int) -> Case:
    says = f"{metric} {values} at {at}"
    return _one(alert, (f"paddock_{metric}{{{_HOST}}}", values), at, firing, says)


def _wallless(driver: str, values: str, at: str, firing: int, says: str) -> Case:
    series = f'paddock_containment{{driver="{driver}",promise="memory_wall",{_HOST}}}'
    return _one("PaddockNoContainment", (series, values), at, firing, says)


def _disk(free: str, size: str, at: str, firing: int, says: str) -> Case:
    place = f'place="state",{_HOST}'
    series = {
        f"paddock_disk_free_bytes{{{place}}}": f"{free}x20",
        f"paddock_disk_size_bytes{{{place}}}": f"{size}x20",
    }
    return Case(alert="PaddockDiskNearlyFull", says=says, series=series, at=at, firing=firing)


def _down(series: dict[str, str], at: str, firing: int, says: str) -> Case:
    return Case(alert="PaddockDown", says=says, series=series, at=at, firing=firing)


HOST_CASES = (
    _cpu(216, "20m", 1, "3.6 of 4 cores for long"),
    _cpu(60, "20m", 0, "one core of four is no trouble"),
    _cpu(216, "13m", 0, "not before ten minutes are over, and five of which to take a rate"),
    _cpu(216, "16m", 1, "and then it does"),
    _cpu(191, "25m", 0, "just below 80 %"),
    _memory("90x20", "100x20", "6m", 1, "90 % for long"),
    _memory("84x20", "100x20", "6m", 0, "84 %"),
    _memory("85x20", "100x20", "10m", 0, "85 % is not above 85 %"),
    _memory("90x20", "100x20", "4m", 0, "not before five minutes are over"),
    _memory("90x20", "0x20", "10m", 0, "without a limit there is no part of it"),
    _oom("10m", 1, "at once"),
    _oom("14m", 1, "for five minutes"),
    _oom("15m", 0, "and no longer"),
    _oom("9m", 0, "not before"),
    _quota("memory", "0.81x20", "6m", 1, "of memory"),
    _quota("queue", "0.8x20", "9m", 0, "80 % is not above 80 %"),
    _quota("workspaces", "0.9x20", "4m", 0, "not before five minutes are over"),
    _quota("agents", "1x20", "9m", 0, "as many agents as may be is no trouble"),
    _wall("fleet", "7m", 1, "the fleet's wall"),
    _wall("pids", "7m", 1, "processes"),
    _wall("memory", "7m", 0, "its own memory limit is another alert"),
    _wall("fleet", "4m", 0, "not before it was met"),
    _wall("fleet", "20m", 0, "and not for ever"),
    _quiet(0, "40m", 1, "for more than half an hour"),
    _quiet(0, "20m", 0, "for less"),
    _quiet(0, "35m", 0, "half an hour and not yet five minutes"),
    _quiet(1, "40m", 0, "who is frozen cannot write"),
    _queue("3x60", "5x60", "41m", 1, "three wait, none starts"),
    _queue("3x60", "0+1x60", "55m", 0, "one starts every minute"),
    _queue("0x60", "5x60", "55m", 0, "nobody waits"),
    _queue("3x60", "0+1x20 20x60", "50m", 0, "the last start is not yet half an hour ago"),
    _queue("3x60", "0+1x20 20x60", "62m", 1, "but then it is"),
    _breaker("2x20", "6m", 1, "open for long"),
    _breaker("0x20", "9m", 0, "closed"),
    _breaker("2 1 1 1 1 1 1 1 1 1 1", "9m", 0, "open once, and nobody came since"),
    _breaker("2 1 2 2 1 2 2 2 1 2 2 2", "8m", 1, "its probes fail"),
    _storm("0+2x30", "15m", 1, "twenty in ten minutes"),
    _storm("0+0.5x30", "15m", 0, "five in ten minutes"),
    _storm("0+1x30", "15m", 0, "ten is not above ten"),
    _plain("PaddockHostPressed", "pressure_step", f"{Rung.QUEUE:d}x20", "11m", 1),
    _plain("PaddockHostPressed", "pressure_step", f"{Rung.QUEUE - 1:d}x20", "15m", 0),
    _plain("PaddockHostPressed", "pressure_step", f"{Rung.PREEMPT:d}x20", "9m", 0),
    _wallless("local", "0x20", "6m", 1, "no walls"),
    _wallless("local", "1x20", "9m", 0, "walls"),
    _wallless("local", "0x20", "4m", 0, "not before five minutes are over"),
    _wallless("container", "0x20", "9m", 0, "containers are not what agents usually live in"),
    _disk("5e9", "100e9", "6m", 1, "5 of 100 GB"),
    _disk("20e9", "100e9", "9m", 0, "20 of 100 GB"),
    _disk("500e9", "10e12", "9m", 0, "5 % of ten terabytes are plenty"),
    _disk("10e9", "100e9", "9m", 0, "10 % is not below 10 %"),
    _disk("5e9", "100e9", "4m", 0, "not before five minutes are over"),
    _plain("PaddockStoreTrouble", "store_trouble", "1x20", "2m", 1),
    _plain("PaddockStoreTrouble", "store_trouble", "0x20", "9m", 0),
    _plain("PaddockStoreTrouble", "store_trouble", "1x20", "0m", 0),
    _down({f"up{{{_HOST}}}": "0x20"}, "3m", 1, "it does not answer"),
    _down({}, "3m", 1, "nobody scrapes it"),
    _down({f"up{{{_HOST}}}": "1x20"}, "9m", 0, "it answers"),
    _down({f"up{{{_HOST}}}": "1x5 0x20"}, "7m", 0, "not before two minutes are over"),
    _down({f"up{{{_HOST}}}": "1x20", 'up{job="node",instance="h"}': "0x20"}, "9m", 0, "others"),
)

_POD = 'namespace="agent-platform",pod="p",container="agent"'
_USED = 'namespace="agent-platform",resourcequota="q",resource="limits.memory"'


def _pod_cpu(a_minute: float, at: str, firing: int, says: str) -> Case:
    series = {
        f"container_cpu_usage_seconds_total{{{_POD}}}": f"0+{a_minute}x30",
        f'kube_pod_container_resource_limits{{{_POD},resource="cpu",unit="core"}}': "4x30",
    }
    return Case(alert="AgentHighCPUUsage", says=says, series=series, at=at, firing=firing)


def _pod_memory(used: str, limit: str, at: str, firing: int, says: str) -> Case:
    series = {
        f"container_memory_working_set_bytes{{{_POD}}}": used,
        f"container_spec_memory_limit_bytes{{{_POD}}}": limit,
    }
    return Case(alert="AgentHighMemoryUsage", says=says, series=series, at=at, firing=firing)


def _pod_oom(series: dict[str, str], at: str, firing: int, says: str) -> Case:
    named = {f"kube_pod_container_status_{name}}}": values for name, values in series.items()}
    return Case(alert="AgentOOMKilled", says=says, series=named, at=at, firing=firing)


def _pod_quota(used: str, hard: str, at: str, firing: int, says: str) -> Case:
    series = {
        f'kube_resourcequota{{{_USED},type="used"}}': used,
        f'kube_resourcequota{{{_USED},type="hard"}}': hard,
    }
    return Case(alert="NamespaceResourceQuotaHigh", says=says, series=series, at=at, firing=firing)


_KILLED = f'terminated_reason{{{_POD},reason="OOMKilled"'
_LAST = f'last_terminated_reason{{{_POD},reason="OOMKilled"'
_RESTARTS = f"restarts_total{{{_POD}"
_OTHER = 'last_terminated_reason{namespace="other",pod="p",container="agent",reason="OOMKilled"'

KUBERNETES_CASES = (
    _pod_cpu(216, "20m", 1, "3.6 of 4 cores for long"),
    _pod_cpu(60, "20m", 0, "one core of four is no trouble"),
    _pod_cpu(216, "13m", 0, "not before ten minutes are over, and five of which to take a rate"),
    _pod_memory("90x20", "100x20", "6m", 1, "90 % for long"),
    _pod_memory("84x20", "100x20", "9m", 0, "84 %"),
    _pod_memory("90x20", "0x20", "9m", 0, "without a limit there is no part of it"),
    _pod_memory("90x20", "100x20", "4m", 0, "not before five minutes are over"),
    _pod_oom({_RESTARTS: "0x5 1x20", _LAST: "_x5 1x20"}, "7m", 1, "killed and started again"),
    _pod_oom({_KILLED: "_x5 1x20"}, "6m", 1, "killed, and not started again"),
    _pod_oom({_KILLED: "_x5 1x20"}, "12m", 0, "and not for as long as its pod lies there"),
    _pod_oom({_RESTARTS: "0x5 1x20"}, "7m", 0, "started again for another reason"),
    _pod_oom({_RESTARTS: "0x5 1x20", _OTHER: "1x20"}, "7m", 0, "a pod of the same name elsewhere"),
    _pod_quota("81x20", "100x20", "6m", 1, "81 of 100"),
    _pod_quota("80x20", "100x20", "9m", 0, "80 % is not above 80 %"),
    _pod_quota("81x20", "100x20", "4m", 0, "not before five minutes are over"),
    _pod_quota("1x20", "0x20", "9m", 0, "where nothing is allowed there is no part of it"),
)


def _in(metric: str, pod: str = "a", more: str = "") -> str:
    """As a PodMonitor's Prometheus labels it."""
    job = f'job="paddock",namespace="agent-platform",pod="{pod}",instance="{pod}:8082"'
    return f"{metric}{{{job}{more}}}"


def _led(alert: str, series: dict[str, str], at: str, firing: int, says: str) -> Case:
    return Case(alert=alert, says=says, series=series, at=at, firing=firing)


def _wait(length: dict[str, str], starts: dict[str, str], at: str, firing: int, says: str) -> Case:
    """By pod."""
    normal = ',priority="normal"'
    series = {_in("paddock_queue_length", pod, normal): one for pod, one in length.items()}
    counted = "paddock_queue_wait_seconds_count"
    series |= {_in(counted, pod, normal): one for pod, one in starts.items()}
    return _led("PaddockQueueNotMoving", series, at, firing, says)


def _held(values: dict[str, str], at: str, firing: int, says: str) -> Case:
    group = ',group="g"'
    series = {_in("paddock_breaker_state", pod, group): one for pod, one in values.items()}
    return _led("PaddockBreakerOpen", series, at, firing, says)


def _evicted(values: dict[str, str], at: str, firing: int, says: str) -> Case:
    cause = ',cause="pressure"'
    series = {_in("paddock_preemptions_total", pod, cause): one for pod, one in values.items()}
    return _led("PaddockPreemptionStorm", series, at, firing, says)


def _of_pods(metric: str, values: dict[str, str]) -> dict[str, str]:
    return {_in(metric, pod): one for pod, one in values.items()}


def _up(values: dict[str, str], at: str, firing: int, says: str) -> Case:
    return _led("PaddockDown", _of_pods("up", values), at, firing, says)


def _leads(values: dict[str, str], at: str, firing: int, says: str) -> Case:
    return _led("PaddockNoLeader", _of_pods("paddock_leader", values), at, firing, says)


def _untaken(values: dict[str, str], at: str, firing: int, says: str) -> Case:
    series = _of_pods("paddock_store_trouble", values)
    return _led("PaddockStoreTrouble", series, at, firing, says)


_HANDED_ON = {"a": "0+1x20 stale", "b": "0x21 0x60"}  # b leads since minute 21, and starts nobody

CONTROLLER_CASES = (
    _wait({"a": "3x60"}, {"a": "5x60", "b": "0x60"}, "41m", 1, "three wait, none starts"),
    _wait({"a": "3x60"}, {"a": "0+1x60", "b": "0x60"}, "55m", 0, "one starts every minute"),
    _wait({"a": "0x60"}, {"a": "5x60"}, "55m", 0, "nobody waits"),
    _wait({"a": "3x20 stale", "b": "_x21 3x60"}, _HANDED_ON, "45m", 0, "another leads since then"),
    _wait(
        {"a": "3x20 stale", "b": "_x21 3x60"}, _HANDED_ON, "63m", 1, "and starts nobody for long"
    ),
    _wait({}, {"a": "0x60", "b": "0x60"}, "55m", 0, "nobody leads: another alert"),
    _held({"a": "2x20"}, "6m", 1, "open for long"),
    _held({"a": "0x20"}, "9m", 0, "closed"),
    _held({"a": "2x2 stale", "b": "_x3 0x20"}, "9m", 0, "another leads, and has not learned it"),
    _held({"a": "2x4 stale", "b": "_x5 2x20"}, "6m", 1, "another leads, and it is open there"),
    _evicted({"a": "0+2x30", "b": "0x30"}, "15m", 1, "twenty in ten minutes"),
    _evicted({"a": "0+1x30", "b": "0x30"}, "15m", 0, "ten is not above ten"),
    _evicted({"a": "0+0.5x30"}, "15m", 0, "five in ten minutes"),
    _evicted({"a": "0x10 7x4 stale", "b": "0x14 0 7x30"}, "17m", 1, "by two leaders in a row"),
    _untaken({"a": "1x20", "b": "0x20"}, "2m", 1, "the one that leads cannot write"),
    _untaken({"a": "0x20", "b": "0x20"}, "9m", 0, "it can"),
    _untaken({"a": "1x20"}, "0m", 0, "not before a minute is over"),
    _leads({"a": "0x20", "b": "0x20"}, "3m", 1, "nobody does"),
    _leads({"a": "1x20", "b": "0x20"}, "9m", 0, "one of two"),
    _leads({"a": "1x5 stale", "b": "0x6 1x20"}, "9m", 0, "another took its place"),
    _leads({"a": "0x20"}, "1m", 0, "not before two minutes are over"),
    _leads({}, "9m", 0, "nobody answers: another alert"),
    _up({}, "3m", 1, "no series of it at all: none is there, or none is scraped"),
    _up({"a": "0x20", "b": "0x20"}, "3m", 1, "none answers"),
    _up({"a": "1x20", "b": "1x20"}, "9m", 0, "both answer"),
    _up({"a": "1x20", "b": "0x20"}, "9m", 0, "one is enough"),
    _up({"a": "1x5 stale"}, "7m", 0, "not before two minutes are over"),
    _up({"a": "1x5 stale"}, "9m", 1, "and then it does"),
    _led("PaddockDown", {f"up{{{_HOST}}}": "1x20"}, "3m", 1, "a host's is another one"),
)
