"""The stand-in's nodes: they take pods that fit, let them live, and tell how they end."""

from __future__ import annotations

import asyncio
import contextlib
from decimal import Decimal
from typing import Any

from tests.kit.cluster.amounts import quantity
from tests.kit.cluster.lives import End, Life, Log, MakeLife, Scripted
from tests.kit.cluster.objects import NODE, POD, Kind, Object, Shelves, now_text
from tests.kit.cluster.quotas import usage

PREEMPTED = "default-scheduler: preempting to accommodate a higher priority pod"


def is_over(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def with_condition(pod: Object, kind: str, **facts: str) -> list[Object]:
    kept = [one for one in pod.get("status", {}).get("conditions", []) if one["type"] != kind]
    return [*kept, {"type": kind, "lastTransitionTime": now_text(), **facts}]


class Kubelet:
    """All nodes at once. `second_s`: how long a second of the cluster takes here."""

    def __init__(self, shelves: Shelves, *, second_s: float = 1.0) -> None:
        self._shelves = shelves
        self.second_s = second_s
        self.make_life: MakeLife = Scripted
        self.missing_images: set[str] = set()
        self.lost: set[str] = set()  # nodes that do not answer
        self.logs: dict[str, Log] = {}  # by uid of the pod
        self.lives: dict[str, Life] = {}
        self.begun: list[str] = []  # names of pods whose container was started, for ever
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._terming: set[str] = set()
        self._scheduling = False
        shelves.on_change.append(self._heard)

    def _heard(self, what: str, kind: Kind, found: Object) -> None:
        if kind.family == NODE.family:
            self.schedule_soon()
        if kind.family != POD.family:
            return
        uid = found["metadata"]["uid"]
        if what == "DELETED":
            task = self._tasks.pop(uid, None)
            if task is not None and uid in self.lives:
                self.lives[uid].kill()  # removed by force: the node finds out and ends it
            elif task is not None:
                task.cancel()
            self.schedule_soon()
            return
        if "nodeName" not in found["spec"]:
            self.schedule_soon()
        elif uid not in self._tasks and not is_over(found):
            self._tasks[uid] = asyncio.ensure_future(self._tend(found))
        self._show(found)

    def _show(self, found: Object) -> None:
        """What changed of a pod, to whoever runs it."""
        uid = found["metadata"]["uid"]
        if is_over(found):
            self.schedule_soon()
        life = self.lives.get(uid)
        if life is not None and found["spec"].get("nodeName") not in self.lost:
            life.annotate(found["metadata"].get("annotations", {}))
        if "deletionTimestamp" in found["metadata"] and "nodeName" in found["spec"]:
            self._end_soon(found)

    # -- scheduling -----------------------------------------------------------------------

    def schedule_soon(self) -> None:
        if not self._scheduling:
            self._scheduling = True
            asyncio.get_running_loop().call_soon(self._schedule)

    def _schedule(self) -> None:
        self._scheduling = False
        waiting = [
            pod
            for pod in self._shelves.all(POD)
            if "nodeName" not in pod["spec"] and "deletionTimestamp" not in pod["metadata"]
        ]
        waiting.sort(key=lambda pod: -pod["spec"].get("priority", 0))
        free = self._free() if waiting else {}
        for pod in waiting:
            asked = usage(POD, pod)
            node = next((name for name, left in free.items() if self._fits(asked, left)), None)
            if node is not None:
                free[node] = {one: left - asked.get(one, 0) for one, left in free[node].items()}
                self._shelves.change(POD, pod, spec={"nodeName": node})
            else:
                self._unschedulable(pod, len(free))
                self._preempt_for(pod)

    def _fits(self, asked: dict[str, Decimal], left: dict[str, Decimal]) -> bool:
        return all(asked.get(name, Decimal(0)) <= have for name, have in left.items())

    def _free(self) -> dict[str, dict[str, Decimal]]:
        found = {}
        for node in self._shelves.all(NODE):
            name = node["metadata"]["name"]
            if name in self.lost or node.get("spec", {}).get("unschedulable"):
                continue
            room = node["status"]["allocatable"]
            left = {"requests.cpu": quantity(room["cpu"])}
            left |= {"requests.memory": quantity(room["memory"]), "pods": quantity(room["pods"])}
            found[name] = left
        for pod in self._shelves.all(POD):
            node_name = pod["spec"].get("nodeName")
            if node_name in found and not is_over(pod):
                taken = usage(POD, pod)
                for name in found[node_name]:
                    found[node_name][name] -= taken.get(name, Decimal(0))
        return found

    def _unschedulable(self, pod: Object, nodes: int) -> None:
        text = f"0/{nodes} nodes are available: {nodes} Insufficient memory."
        known = [
            one for one in pod.get("status", {}).get("conditions", []) if one.get("message") == text
        ]
        if not known:
            facts = {"status": "False", "reason": "Unschedulable", "message": text}
            conditions = with_condition(pod, "PodScheduled", **facts)
            self._shelves.change(POD, pod, status={"phase": "Pending", "conditions": conditions})

    def _preempt_for(self, pod: Object) -> None:
        """One victim at a time: the least important that is less important than it."""
        mine = pod["spec"].get("priority", 0)
        lesser = [
            one
            for one in self._shelves.all(POD)
            if one["spec"].get("priority", 0) < mine
            and "nodeName" in one["spec"]
            and not is_over(one)
        ]
        if not lesser or any("deletionTimestamp" in one["metadata"] for one in lesser):
            return
        victim = min(lesser, key=lambda one: one["spec"].get("priority", 0))
        self.disrupt(victim, "PreemptionByScheduler", PREEMPTED)

    # -- living ---------------------------------------------------------------------------

    async def _tend(self, pod: Object) -> None:
        meta, container = pod["metadata"], pod["spec"]["containers"][0]
        uid = meta["uid"]
        if not await self._pulled(pod, container):
            return
        log = self.logs[uid] = Log()
        life = self.lives[uid] = self.make_life(pod, log)
        self.begun.append(meta["name"])
        started = {"startedAt": now_text()}
        self._set_state(pod, {"running": started}, phase="Running")
        current = self._current(pod)
        if current is not None and "deletionTimestamp" in current["metadata"]:
            self._end_soon(current)
        end = await life.live()
        self.lives.pop(uid, None)
        log.close()
        while pod["spec"]["nodeName"] in self.lost:
            await asyncio.sleep(0.05)  # nobody hears of it while the node is cut off
        self._tell_end(pod, end)

    async def _pulled(self, pod: Object, container: Object) -> bool:
        if container["image"] not in self.missing_images:
            return True
        for reason in ("ErrImagePull", "ImagePullBackOff"):
            message = f'Back-off pulling image "{container["image"]}": not found'
            waiting = {"reason": reason, "message": message}
            self._set_state(pod, {"waiting": waiting}, phase="Pending")
            await asyncio.sleep(0.05)
        while container["image"] in self.missing_images:
            await asyncio.sleep(0.05)
        return True

    def _tell_end(self, pod: Object, end: End) -> None:
        ended = {"exitCode": end.code, "reason": end.reason, "finishedAt": now_text()}
        container = pod["spec"]["containers"][0]
        if end.code and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
            log = self.logs[pod["metadata"]["uid"]]
            ended["message"] = bytes(log.data[-2048:]).decode("utf-8", "replace")
        self._set_state(
            pod, {"terminated": ended}, phase="Succeeded" if end.code == 0 else "Failed"
        )
        current = self._current(pod)
        if current is not None and "deletionTimestamp" in current["metadata"]:
            self._shelves.remove(POD, current)

    def _set_state(self, pod: Object, state: Object, *, phase: str) -> None:
        current = self._current(pod)
        if current is None or is_over(current):
            return
        statuses = [{"name": pod["spec"]["containers"][0]["name"], "state": state}]
        self._shelves.change(POD, current, status={"phase": phase, "containerStatuses": statuses})

    def _current(self, pod: Object) -> Object | None:
        meta = pod["metadata"]
        current = self._shelves.find(POD, meta["name"], meta["namespace"])
        return (
            current if current is not None and current["metadata"]["uid"] == meta["uid"] else None
        )

    # -- ending ---------------------------------------------------------------------------

    def _end_soon(self, pod: Object) -> None:
        uid, life = pod["metadata"]["uid"], self.lives.get(pod["metadata"]["uid"])
        if pod["spec"]["nodeName"] in self.lost:
            return
        if life is None:
            if uid not in self.logs and uid in self._tasks:  # it never began
                self._tasks.pop(uid).cancel()
                self._set_state(pod, {"waiting": {"reason": "ContainerCreating"}}, phase="Failed")
                self._shelves.remove(POD, pod)
            return
        if uid not in self._terming:
            self._terming.add(uid)
            life.term()
        grace_s = pod["metadata"].get("deletionGracePeriodSeconds", 30) * self.second_s
        asyncio.get_running_loop().call_later(grace_s, self._kill, uid)

    def _kill(self, uid: str) -> None:
        if uid in self.lives:
            self.lives[uid].kill()

    def disrupt(self, pod: Object, reason: str, message: str) -> None:
        """Evicted through the API, preempted, or drained: gracefully, and with the condition."""
        facts = {"status": "True", "reason": reason, "message": message}
        conditions = with_condition(pod, "DisruptionTarget", **facts)
        changed = self._shelves.change(POD, pod, status={"conditions": conditions})
        self._shelves.delete(POD, changed)

    def evict_for_pressure(self, pod: Object, resource: str = "memory") -> None:
        """By the node itself, at once: the pod stays, as failed."""
        message = f"The node was low on resource: {resource}."
        facts = {"status": "True", "reason": "TerminationByKubelet", "message": message}
        conditions = with_condition(pod, "DisruptionTarget", **facts)
        over: dict[str, Any] = {"phase": "Failed", "reason": "Evicted", "message": message}
        self._shelves.change(POD, pod, status={**over, "conditions": conditions})
        self._kill(pod["metadata"]["uid"])

    def lose(self, node: str) -> None:
        """It does not answer any more; after a while its pods are told to go, and cannot hear."""
        self.lost.add(node)
        for pod in list(self._shelves.all(POD)):
            if pod["spec"].get("nodeName") == node and not is_over(pod):
                message = "Taint manager: deleting due to NoExecute taint"
                self.disrupt(pod, "DeletionByTaintManager", message)

    def remove_node(self, node: str) -> None:
        """Whoever runs the cluster says that it is gone for good: its pods are collected."""
        for found in list(self._shelves.all(NODE)):
            if found["metadata"]["name"] == node:
                self._shelves.delete(NODE, found)
        for pod in list(self._shelves.all(POD)):
            if pod["spec"].get("nodeName") == node and not is_over(pod):
                facts = {"status": "True", "reason": "DeletionByPodGC"}
                facts["message"] = "PodGC: node no longer exists"
                conditions = with_condition(pod, "DisruptionTarget", **facts)
                over = {"phase": "Failed", "conditions": conditions}
                pod = self._shelves.change(POD, pod, status=over)
                self._shelves.remove(POD, pod)

    def close(self) -> None:
        for life in list(self.lives.values()):
            with contextlib.suppress(OSError):
                life.kill()
