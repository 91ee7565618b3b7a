"""What a pod and its Job say, in paddock's words: why it waits, and how it ended. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from paddock.cluster import labels as n
from paddock.core.run import Exit, Outcome
from paddock.ports import Stop

Object = dict[str, Any]

# The kubelet goes on trying these by itself, and it does not help.
NO_START: Final = {
    "ImagePullBackOff": "the image cannot be pulled",
    "ErrImageNeverPull": "the image is not on the node, and may not be pulled",
    "InvalidImageName": "this is no name of an image",
    "CreateContainerConfigError": "its container cannot be made",
    "CreateContainerError": "its container cannot be made",
    "RunContainerError": "its container cannot be started",
}
PERMANENT: Final = ("InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError")
# Ends of which the cluster says that it will not happen again by itself.
MADE_ROOM: Final = {
    "PreemptionByScheduler": "preempted by the cluster's scheduler for something more important",
    "EvictionByEvictionAPI": "evicted, as when its node is drained",
    "DeletionByTaintManager": "its node is lost or may not keep it",
    "DeletionByPodGC": "its node is gone",
    "TerminationByKubelet": "its node could not keep it",
}
BY_REQUEST: Final = ("PreemptionByScheduler", "EvictionByEvictionAPI")


@dataclass(frozen=True, slots=True)
class Waiting:
    """Not running yet. `hopeless`: it will not be, as it is."""

    because: str
    hopeless: bool = False
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Ending:
    """`lost`: nobody can say how; `stop`: somebody other than us had a reason."""

    exit: Exit | None = None
    lost: str | None = None
    stop: Stop | None = None
    missing: bool = False  # its command was not there: it never ran


def container_state(pod: Object) -> tuple[str, Object]:
    """`waiting`, `running` or `terminated`, and what is said about it."""
    for status in pod.get("status", {}).get("containerStatuses", []):
        if status.get("name") == n.CONTAINER:
            state: Object = status.get("state", {})
            for word in ("terminated", "running", "waiting"):
                if word in state:
                    return word, state[word] or {}
    return "waiting", {}


def condition(found: Object, kind: str) -> Object | None:
    for one in found.get("status", {}).get("conditions", []) or []:
        if one.get("type") == kind:
            known: Object = one
            return known
    return None


def waiting_of(pod: Object) -> Waiting | None:
    """Why it does not run yet, where the cluster says why."""
    word, said = container_state(pod)
    if word != "waiting":
        return None
    reason = said.get("reason", "")
    if reason in NO_START:
        text = f"{NO_START[reason]} ({reason}: {_short(said.get('message', ''))})"
        return Waiting(text, hopeless=True, permanent=reason in PERMANENT)
    scheduled = condition(pod, "PodScheduled")
    if scheduled is not None and scheduled.get("status") == "False":
        reason, message = scheduled.get("reason", ""), scheduled.get("message", "")
        return Waiting(f"no node takes it yet ({reason}: {_short(message)})")
    return None


def is_over(pod: Object) -> bool:
    """Nothing of it runs any more, and that is certain."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def ending_of(pod: Object, job: Object | None, *, limit_bytes: int, mark: str) -> Ending:
    """Of a pod that is over, or was removed."""
    word, said = container_state(pod)
    if word == "terminated":
        if said.get("exitCode") == 127 and f"{mark}:missing" in said.get("message", ""):
            return Ending(missing=True)
        ended = exit_of(said, limit_bytes=limit_bytes)
        if ended.code == 0:
            return Ending(exit=ended)  # whatever came for it came too late
        return _for_a_reason(pod, job, ended) or Ending(exit=ended)
    return _for_a_reason(pod, job, None) or Ending(lost=_gone(pod))


def _for_a_reason(pod: Object, job: Object | None, ended: Exit | None) -> Ending | None:
    if ended is not None and ended.oom:
        return None
    disrupted = condition(pod, "DisruptionTarget")
    if disrupted is not None and disrupted.get("status") == "True":
        return _disrupted(pod, disrupted, ended)
    if pod.get("status", {}).get("reason") == "Evicted":
        return Ending(lost=f"evicted by its node: {_short(pod['status'].get('message', ''))}")
    failed = _failed(job)
    if failed is not None and failed.get("reason") == "DeadlineExceeded":
        because = "ran into the deadline of its Job (kubernetes.deadline)"
        return Ending(exit=ended or Exit(signal=9), stop=Stop(Outcome.TIMEOUT_EXCEEDED, because))
    return None


def _disrupted(pod: Object, disrupted: Object, ended: Exit | None) -> Ending:
    """By request it is a preemption, and may happen as often as it likes; the rest counts as lost,
    which does not go on for ever."""
    reason = disrupted.get("reason", "")
    told = _short(disrupted.get("message", "") or pod.get("status", {}).get("message", ""))
    because = f"{MADE_ROOM.get(reason, 'disrupted by the cluster')} ({reason}: {told})"
    if reason in BY_REQUEST:
        return Ending(exit=ended or Exit(signal=9), stop=Stop(Outcome.PREEMPTED, because))
    if pod.get("status", {}).get("reason") == "Evicted":
        because = f"evicted by its node: {told}"
    return Ending(lost=because)


def ending_of_job(job: Object) -> Ending | None:
    """Where only the Job is left to tell; None while it is under way."""
    done = condition(job, "Complete")
    if done is not None and done.get("status") == "True":
        return Ending(exit=Exit(code=0))
    failed = _failed(job)
    if failed is None:
        return None
    reason, message = failed.get("reason", ""), _short(failed.get("message", ""))
    if reason == "DeadlineExceeded":
        because = "ran into the deadline of its Job (kubernetes.deadline)"
        return Ending(exit=Exit(signal=9), stop=Stop(Outcome.TIMEOUT_EXCEEDED, because))
    if reason == "PodFailurePolicy":
        return Ending(lost=f"disrupted by the cluster: {message}")
    return Ending(lost=f"its pod is gone, and its Job failed ({reason}: {message})")


def _failed(job: Object | None) -> Object | None:
    if job is None:
        return None
    found = condition(job, "Failed") or condition(job, "FailureTarget")
    return found if found is not None and found.get("status") == "True" else None


def exit_of(said: Object, *, limit_bytes: int) -> Exit:
    """A container tells of a signal as shells do: 128 and its number."""
    code, number = int(said.get("exitCode", 0)), int(said.get("signal", 0) or 0)
    oom = said.get("reason") == "OOMKilled"
    peak = limit_bytes if oom and limit_bytes else None
    if number or 128 < code <= 128 + 64:
        return Exit(signal=number or code - 128, oom=oom, peak_bytes=peak)
    return Exit(code=code, oom=oom, peak_bytes=peak)


def _gone(pod: Object) -> str:
    phase = pod.get("status", {}).get("phase", "")
    return f"its pod was removed while it was {phase.lower() or 'there'}, by somebody else"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 200 else f"{text[:199]}…"
