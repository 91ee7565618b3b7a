"""The stand-in's own controllers: Jobs make pods and count them; what has no owner goes, and a
claim when nobody uses it any more."""

from __future__ import annotations

import asyncio
import copy
import uuid
from typing import Any

from tests.kit.cluster.kubelet import Kubelet, is_over
from tests.kit.cluster.objects import EVENT, JOB, POD, VOLUME, Kind, Object, Refusal, Shelves
from tests.kit.cluster.objects import now_text as now
from tests.kit.cluster.rules import IN_USE, check, fill

TRACKED = "batch.kubernetes.io/job-tracking"


class JobController:
    def __init__(self, shelves: Shelves, kubelet: Kubelet, *, retry_s: float = 0.2) -> None:
        self._shelves, self._kubelet = shelves, kubelet
        self._retry_s = retry_s
        self._finished_at: dict[str, float] = {}
        shelves.on_change.append(self._heard)

    def _heard(self, what: str, kind: Kind, found: Object) -> None:
        loop = asyncio.get_running_loop()
        if kind.family == JOB.family and what != "DELETED":
            self._heard_job(what, found)
        if what == "DELETED" and kind.family != POD.family:
            loop.call_soon(self._collect, found["metadata"]["uid"])
        if kind.family == POD.family:
            self._heard_pod(what, found)
        if kind.family in (POD.family, VOLUME.family):
            loop.call_soon(self._let_claims_go, found["metadata"].get("namespace", ""))

    def _heard_job(self, what: str, found: Object) -> None:
        loop = asyncio.get_running_loop()
        if found["spec"].get("suspend"):
            loop.call_soon(self._suspend, found["metadata"])
        elif what == "ADDED":
            loop.call_soon(self._make_pod, found)
            deadline = found["spec"].get("activeDeadlineSeconds")
            if deadline is not None:
                wait_s = deadline * self._kubelet.second_s
                loop.call_later(wait_s, self._deadline, found["metadata"])
        if _finished(found) and "ttlSecondsAfterFinished" in found["spec"]:
            self._finished_at.setdefault(found["metadata"]["uid"], loop.time())
            loop.call_at(self._expires_at(found), self._expire, found["metadata"])

    def _heard_pod(self, what: str, found: Object) -> None:
        loop, meta = asyncio.get_running_loop(), found["metadata"]
        if TRACKED in meta.get("finalizers", []):
            gone = is_over(found) or (
                "deletionTimestamp" in meta and "nodeName" not in found["spec"]
            )
            if gone:
                loop.call_soon(self._count, found)
        elif what == "DELETED" or is_over(found):
            loop.call_soon(self._enact, self._job_of(found))

    # -- pods -----------------------------------------------------------------------------

    def _current(self, meta: Object) -> Object | None:
        job = self._shelves.find(JOB, meta["name"], meta["namespace"])
        return job if job is not None and job["metadata"]["uid"] == meta["uid"] else None

    def _make_pod(self, job: Object) -> None:
        current = self._current(job["metadata"])
        if current is None or _finished(current) or current.get("status", {}).get("active"):
            return
        if current["spec"].get("suspend") or _target(current) is not None:
            return
        meta, template = job["metadata"], job["spec"]["template"]
        labels = template.get("metadata", {}).get("labels", {})
        pod = {
            "metadata": {
                **template.get("metadata", {}),
                "name": f"{meta['name']}-{uuid.uuid4().hex[:5]}",
                "labels": {
                    **labels,
                    "batch.kubernetes.io/job-name": meta["name"],
                    "batch.kubernetes.io/controller-uid": meta["uid"],
                    "job-name": meta["name"],
                    "controller-uid": meta["uid"],
                },
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

    def _suspend(self, meta: Object) -> None:
        """Its pods are let go before they are deleted: they count for nothing."""
        job = self._current(meta)
        if job is None or _finished(job) or not job["spec"].get("suspend"):
            return
        for pod in self._owned(POD, meta["uid"]):
            if not is_over(pod) and "deletionTimestamp" not in pod["metadata"]:
                pod = self._shelves.change(POD, pod, metadata={"finalizers": None})
                self._shelves.delete(POD, pod)
        if all(one["type"] != "Suspended" for one in _conditions(job)):
            told = _condition("Suspended", reason="JobSuspended", message="Job suspended")
            status = {"active": None, "startTime": None, "conditions": [*_conditions(job), told]}
            self._shelves.change(JOB, job, status=status)

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
        job = self._job_of(pod)
        if job is not None and not _finished(job) and _target(job) is None:
            self._aim(job, self._verdict(job, pod_now))
        pod_now = self._shelves.change(POD, pod_now, metadata={"finalizers": None})
        if "deletionTimestamp" in pod_now["metadata"]:
            self._shelves.remove(POD, pod_now)
        self._enact(self._job_of(pod))

    def _job_of(self, pod: Object) -> Object | None:
        meta = pod["metadata"]
        owner = next(iter(meta.get("ownerReferences", [])), None)
        return None if owner is None else self._current({**owner, "namespace": meta["namespace"]})

    def _verdict(self, job: Object, pod: Object) -> Object:
        if pod["status"].get("phase") == "Succeeded":
            message = "Reached expected number of succeeded pods"
            return _condition("SuccessCriteriaMet", reason="CompletionsReached", message=message)
        for index, rule in enumerate(job["spec"].get("podFailurePolicy", {}).get("rules", [])):
            if _matches(rule, pod) and rule["action"] == "FailJob":
                name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
                message = (
                    f"Pod {name} has condition DisruptionTarget matching FailJob rule at "
                    f"index {index}"
                )
                return _condition("FailureTarget", reason="PodFailurePolicy", message=message)
        message = "Job has reached the specified backoff limit"
        return _condition("FailureTarget", reason="BackoffLimitExceeded", message=message)

    def _aim(self, job: Object, verdict: Object) -> None:
        """First what will become of it, and when nothing of it runs any more, what became."""
        counts: dict[str, Any] = {"succeeded": 1}
        if verdict["type"] == "FailureTarget":
            counts = {"failed": 1}
        conditions = [*_conditions(job), verdict]
        status = {"active": None, **counts, "conditions": conditions}
        self._shelves.change(JOB, job, status=status)

    def _enact(self, job: Object | None) -> None:
        target = None if job is None else _target(job)
        if job is None or target is None or _finished(job):
            return
        if any(not is_over(pod) for pod in self._owned(POD, job["metadata"]["uid"])):
            return
        kind = "Complete" if target["type"] == "SuccessCriteriaMet" else "Failed"
        end = _condition(kind, reason=target["reason"], message=target["message"])
        done = {"completionTime": now()} if kind == "Complete" else {}
        status = {"conditions": [*_conditions(job), end], **done}
        self._shelves.change(JOB, job, status=status)

    def _deadline(self, meta: Object) -> None:
        job = self._current(meta)
        if job is None or _finished(job) or job["spec"].get("suspend"):
            return
        message = "Job was active longer than specified deadline"
        self._aim(job, _condition("FailureTarget", reason="DeadlineExceeded", message=message))
        for pod in self._owned(POD, meta["uid"]):
            pod = self._shelves.change(POD, pod, metadata={"finalizers": None})
            self._shelves.delete(POD, pod)
        self._enact(self._current(meta))

    def _expires_at(self, job: Object) -> float:
        ttl: int = job["spec"]["ttlSecondsAfterFinished"]
        return self._finished_at[job["metadata"]["uid"]] + ttl * self._kubelet.second_s

    def _expire(self, meta: Object) -> None:
        """Unless it was given longer meanwhile."""
        job = self._current(meta)
        if job is not None and asyncio.get_running_loop().time() >= self._expires_at(job):
            del self._finished_at[meta["uid"]]
            self._shelves.delete(JOB, job)

    # -- garbage --------------------------------------------------------------------------

    def _collect(self, uid: str) -> None:
        for kind in (JOB, POD, VOLUME):
            for found in self._owned(kind, uid):
                if kind is POD and TRACKED in found["metadata"].get("finalizers", []):
                    found = self._shelves.change(POD, found, metadata={"finalizers": None})
                self._shelves.delete(kind, found)

    def orphan(self, uid: str) -> None:
        """Whom its owner is to leave behind when it goes."""
        for found in self._owned(POD, uid):
            self._shelves.change(POD, found, metadata={"ownerReferences": None, "finalizers": None})

    def _let_claims_go(self, namespace: str) -> None:
        """A claim that was deleted stays while there is a pod that has it, also one that is
        over."""
        claims = [
            one
            for one in self._shelves.all(VOLUME, namespace)
            if "deletionTimestamp" in one["metadata"]
        ]
        used = set()
        if claims:
            for pod in self._shelves.all(POD, namespace):
                used |= {
                    one["persistentVolumeClaim"]["claimName"]
                    for one in pod["spec"].get("volumes", [])
                    if "persistentVolumeClaim" in one
                }
        for claim in claims:
            held = claim["metadata"].get("finalizers", [])
            if claim["metadata"]["name"] not in used and IN_USE in held:
                left = [one for one in held if one != IN_USE] or None
                claim = self._shelves.change(VOLUME, claim, metadata={"finalizers": left})
                self._shelves.remove(VOLUME, claim)

    def _owned(self, kind: Kind, uid: str) -> list[Object]:
        return [
            found
            for found in self._shelves.all(kind)
            if any(one["uid"] == uid for one in found["metadata"].get("ownerReferences", []))
        ]


def _finished(job: Object) -> bool:
    return any(one["type"] in ("Complete", "Failed") for one in _conditions(job))


def _target(job: Object) -> Object | None:
    """What it is about to end as."""
    aims = ("SuccessCriteriaMet", "FailureTarget")
    return next((one for one in _conditions(job) if one["type"] in aims), None)


def _conditions(job: Object) -> list[Object]:
    found: list[Object] = job.get("status", {}).get("conditions", [])
    return found


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
