"""The stand-in's own controllers: Jobs make pods and count them; what has no owner goes."""

from __future__ import annotations

import asyncio
import copy
import uuid
from typing import Any

from tests.kit.cluster.kubelet import Kubelet, is_over
from tests.kit.cluster.objects import EVENT, JOB, POD, VOLUME, Kind, Object, Refusal, Shelves
from tests.kit.cluster.objects import now_text as now
from tests.kit.cluster.rules import check, fill

TRACKED = "batch.kubernetes.io/job-tracking"


class JobController:
    def __init__(self, shelves: Shelves, kubelet: Kubelet, *, retry_s: float = 0.2) -> None:
        self._shelves, self._kubelet = shelves, kubelet
        self._retry_s = retry_s
        self._tasks: set[asyncio.Task[None]] = set()
        shelves.on_change.append(self._heard)

    def _heard(self, what: str, kind: Kind, found: Object) -> None:
        loop = asyncio.get_running_loop()
        if kind.family == JOB.family and what == "ADDED":
            loop.call_soon(self._make_pod, found)
            deadline = found["spec"].get("activeDeadlineSeconds")
            if deadline is not None:
                wait_s = deadline * self._kubelet.second_s
                loop.call_later(wait_s, self._deadline, found["metadata"])
        if kind.family == JOB.family and what == "MODIFIED" and found["spec"].get("suspend"):
            loop.call_soon(self._suspend, found["metadata"]["uid"])
        if what == "DELETED" and kind.family != POD.family:
            loop.call_soon(self._collect, found["metadata"]["uid"])
        if kind.family == POD.family and TRACKED in found["metadata"].get("finalizers", []):
            gone = is_over(found) or (
                "deletionTimestamp" in found["metadata"] and "nodeName" not in found["spec"]
            )
            if gone:
                loop.call_soon(self._count, found)

    # -- pods -----------------------------------------------------------------------------

    def _current(self, meta: Object) -> Object | None:
        job = self._shelves.find(JOB, meta["name"], meta["namespace"])
        return job if job is not None and job["metadata"]["uid"] == meta["uid"] else None

    def _make_pod(self, job: Object) -> None:
        current = self._current(job["metadata"])
        if current is None or _finished(current) or current.get("status", {}).get("active"):
            return
        if current["spec"].get("suspend"):
            return
        meta, template = job["metadata"], job["spec"]["template"]
        labels = template.get("metadata", {}).get("labels", {})
        pod = {
            "metadata": {
                **template.get("metadata", {}),
                "name": f"{meta['name']}-{uuid.uuid4().hex[:5]}",
                "labels": {**labels, "batch.kubernetes.io/job-name": meta["name"]},
                "ownerReferences": [_owner(job)],
                "finalizers": [TRACKED],
            },
            "spec": copy.deepcopy(template["spec"]),
            "status": {"phase": "Pending"},
        }
        try:
            fill(self._shelves, POD, pod, meta["namespace"])
            check(self._shelves, POD, pod, meta["namespace"])
        except Refusal as refusal:
            self._tell(current, "FailedCreate", f"Error creating: {refusal}")
            asyncio.get_running_loop().call_later(self._retry_s, self._make_pod, job)
            return
        self._shelves.change(JOB, current, status={"active": 1, "startTime": now()})
        self._shelves.create(POD, pod, meta["namespace"])

    def _suspend(self, uid: str) -> None:
        for pod in self._owned(POD, uid):
            if not is_over(pod) and "deletionTimestamp" not in pod["metadata"]:
                self._shelves.delete(POD, pod)

    def _tell(self, job: Object, reason: str, message: str) -> None:
        meta = job["metadata"]
        name = f"{meta['name']}.{reason.lower()}"
        about = {"kind": "Job", "name": meta["name"], "uid": meta["uid"]}
        event = {
            "metadata": {"name": name},
            "involvedObject": about,
            "reason": reason,
            "message": message,
            "type": "Warning",
            "count": 1,
        }
        known = self._shelves.find(EVENT, name, meta["namespace"])
        if known is None:
            self._shelves.create(EVENT, event, meta["namespace"])
        else:
            self._shelves.change(EVENT, known, message=message, count=known["count"] + 1)

    # -- ends -----------------------------------------------------------------------------

    def _count(self, pod: Object) -> None:
        """Seen and counted: only then may the pod go."""
        meta = pod["metadata"]
        pod_now = self._shelves.find(POD, meta["name"], meta["namespace"])
        if pod_now is None or TRACKED not in pod_now["metadata"].get("finalizers", []):
            return
        owner = next(iter(meta.get("ownerReferences", [])), None)
        job = None if owner is None else self._current({**owner, "namespace": meta["namespace"]})
        if job is not None and not _finished(job):
            self._finish(job, pod_now)
        pod_now = self._shelves.change(POD, pod_now, metadata={"finalizers": None})
        if "deletionTimestamp" in pod_now["metadata"]:
            self._shelves.remove(POD, pod_now)

    def _finish(self, job: Object, pod: Object) -> None:
        if pod["status"].get("phase") == "Succeeded":
            conditions = [_condition("SuccessCriteriaMet"), _condition("Complete")]
            self._end(job, {"succeeded": 1, "conditions": conditions, "completionTime": now()})
            return
        reason, message = "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        for index, rule in enumerate(job["spec"].get("podFailurePolicy", {}).get("rules", [])):
            if _matches(rule, pod) and rule["action"] == "FailJob":
                name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
                reason = "PodFailurePolicy"
                message = (
                    f"Pod {name} has condition DisruptionTarget matching FailJob rule at "
                    f"index {index}"
                )
                break
        failed = _condition("Failed", reason=reason, message=message)
        self._end(job, {"failed": 1, "conditions": [failed]})

    def _end(self, job: Object, status: dict[str, Any]) -> None:
        self._shelves.change(JOB, job, status={"active": None, **status})
        ttl = job["spec"].get("ttlSecondsAfterFinished")
        if ttl is not None:
            wait_s = ttl * self._kubelet.second_s
            asyncio.get_running_loop().call_later(wait_s, self._expire, job["metadata"])

    def _deadline(self, meta: Object) -> None:
        job = self._current(meta)
        if job is None or _finished(job):
            return
        message = "Job was active longer than specified deadline"
        failed = _condition("Failed", reason="DeadlineExceeded", message=message)
        self._end(job, {"failed": 1, "conditions": [failed]})
        for pod in self._owned(POD, meta["uid"]):
            self._shelves.delete(POD, pod)

    def _expire(self, meta: Object) -> None:
        job = self._current(meta)
        if job is not None:
            self._shelves.delete(JOB, job)

    # -- garbage --------------------------------------------------------------------------

    def _collect(self, uid: str) -> None:
        for kind in (JOB, POD, VOLUME):
            for found in self._owned(kind, uid):
                if kind is POD and TRACKED in found["metadata"].get("finalizers", []):
                    found = self._shelves.change(POD, found, metadata={"finalizers": None})
                self._shelves.delete(kind, found)

    def _owned(self, kind: Kind, uid: str) -> list[Object]:
        return [
            found
            for found in self._shelves.all(kind)
            if any(one["uid"] == uid for one in found["metadata"].get("ownerReferences", []))
        ]


def _finished(job: Object) -> bool:
    conditions = job.get("status", {}).get("conditions", [])
    return any(one["type"] in ("Complete", "Failed") for one in conditions)


def _matches(rule: Object, pod: Object) -> bool:
    known = {one["type"]: one.get("status") for one in pod["status"].get("conditions", [])}
    wanted = rule.get("onPodConditions", [])
    return bool(wanted) and all(known.get(one["type"]) == one["status"] for one in wanted)


def _condition(kind: str, **facts: str) -> Object:
    return {"type": kind, "status": "True", "lastTransitionTime": now(), **facts}


def _owner(job: Object) -> Object:
    meta = job["metadata"]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
