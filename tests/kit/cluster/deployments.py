"""The stand-in's Deployments: pods of the newest template, exchanged one by one when it changes.

Without ReplicaSets in between: nobody here looks at those. A pod that runs is ready.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import uuid

from tests.kit.cluster.kubelet import Kubelet, is_over
from tests.kit.cluster.objects import DEPLOYMENT, POD, Kind, Object, Refusal, Shelves
from tests.kit.cluster.rules import check, fill

HASH = "pod-template-hash"


class DeploymentController:
    def __init__(self, shelves: Shelves, kubelet: Kubelet, *, retry_s: float = 0.2) -> None:
        self._shelves, self._kubelet, self._retry_s = shelves, kubelet, retry_s
        self._looking = False
        shelves.on_change.append(self._heard)

    def _heard(self, _what: str, kind: Kind, _found: Object) -> None:
        if kind.family in (DEPLOYMENT.family, POD.family) and not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_soon(self._look)

    def _look(self) -> None:
        self._looking = False
        for one in list(self._shelves.all(DEPLOYMENT)):
            self._tend(one)

    def _pods(self, deployment: Object) -> list[Object]:
        uid = deployment["metadata"]["uid"]
        return [
            pod
            for pod in self._shelves.all(POD, deployment["metadata"]["namespace"])
            if any(one["uid"] == uid for one in pod["metadata"].get("ownerReferences", []))
        ]

    def _tend(self, deployment: Object) -> None:
        pods = self._pods(deployment)
        for pod in pods:
            if is_over(pod) and "deletionTimestamp" not in pod["metadata"]:
                self._shelves.delete(POD, pod)
        alive = [one for one in pods if not is_over(one) and _stays(one)]
        mark, wanted = _hash(deployment), deployment["spec"].get("replicas", 1)
        new = [one for one in alive if one["metadata"]["labels"].get(HASH) == mark]
        old = [one for one in alive if one not in new]
        ready = [one for one in alive if _runs(one)]
        idle = [one for one in old if not _runs(one)]
        if len(new) < wanted and len(alive) <= wanted:  # one more than wanted, while they change
            self._make(deployment, mark)
        elif idle and len(alive) > wanted:
            self._shelves.delete(POD, idle[0])
        elif old and len(ready) > wanted:
            self._shelves.delete(POD, old[0])
        elif len(new) > wanted:
            self._shelves.delete(POD, new[-1])
        self._tell(deployment, alive, [one for one in new if _runs(one)], ready)

    def _make(self, deployment: Object, mark: str) -> None:
        meta, template = deployment["metadata"], copy.deepcopy(deployment["spec"]["template"])
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": meta["name"]}
        own = template.setdefault("metadata", {})
        own["labels"] = {**own.get("labels", {}), HASH: mark}
        own["name"] = f"{meta['name']}-{uuid.uuid4().hex[:5]}"
        own["ownerReferences"] = [{**owner, "uid": meta["uid"], "controller": True}]
        pod = {**template, "status": {"phase": "Pending"}}
        try:
            fill(self._shelves, POD, pod, meta["namespace"])
            check(self._shelves, POD, pod, meta["namespace"])
        except Refusal:
            asyncio.get_running_loop().call_later(self._retry_s, self._look)
            return
        self._shelves.create(POD, pod, meta["namespace"])

    def _tell(
        self, deployment: Object, alive: list[Object], updated: list[Object], ready: list[Object]
    ) -> None:
        current = self._shelves.find(
            DEPLOYMENT, deployment["metadata"]["name"], deployment["metadata"]["namespace"]
        )
        status = {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": len(alive),
            "updatedReplicas": len(updated),
            "readyReplicas": len(ready),
            "availableReplicas": len(ready),
        }
        if current is not None and current.get("status") != status:
            self._shelves.change(DEPLOYMENT, current, status=status)


def _stays(pod: Object) -> bool:
    return "deletionTimestamp" not in pod["metadata"]


def _runs(pod: Object) -> bool:
    return bool(pod.get("status", {}).get("phase") == "Running" and _stays(pod))


def _hash(deployment: Object) -> str:
    text = json.dumps(deployment["spec"]["template"], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]
