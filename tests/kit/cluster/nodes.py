"""Nodes for a real API server that has none: what its scheduler gives them lives here.

A client like any other. It registers nodes and keeps them alive, starts what is bound to them as
the stand-in's own lives, says how they fare, serves their logs, gives every claim a volume, and
says what they use. There are no containers, images or networks: what those do is not shown by it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.kit.cluster.asking import MERGE, STRATEGIC, ask, watched
from tests.kit.cluster.kubelet import is_over
from tests.kit.cluster.lives import End, Life, Log, MakeLife
from tests.kit.cluster.objects import NODE, POD, VOLUME, Kind, Object, Refusal, now_text
from tests.kit.cluster.paths import path_of
from tests.kit.cluster.streams import log_stream

if TYPE_CHECKING:
    import httpx2

BEAT_S = 3.0
PV = Kind("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
METRICS = Kind("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")


class Nodes:
    """In the event loop. `begin` first."""

    def __init__(
        self, http: httpx2.AsyncClient, namespace: str, make_life: MakeLife, directory: Path
    ) -> None:
        self._http, self._directory = http, directory
        self.make_life = make_life
        self.spaces = {namespace}  # whose pods live here: others may be of a test before
        self.on_pods: list[Callable[[list[Object]], None]] = []  # told after each change of one
        self.missing_images: set[str] = set()
        self.lost: set[str] = set()
        self.names: dict[str, dict[str, str]] = {}  # ours, with what each has
        self.lives: dict[str, Life] = {}
        self.begun: list[str] = []
        self.log_epoch = 0
        self._logs: dict[str, Log] = {}
        self._uids: dict[str, str] = {}  # of pods, by name
        self._pods: dict[str, Object] = {}  # as last heard of
        self._tending: set[str] = set()
        self._terming: set[str] = set()
        self._over: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._asking = 0
        self._socket = socket.create_server(("127.0.0.1", 0))

    async def begin(self) -> None:
        for work in (self._serve(), self._follow_pods(), self._follow_claims(), self._beat()):
            self._do(work)

    async def close(self) -> None:
        for life in list(self.lives.values()):
            with contextlib.suppress(OSError):
                life.kill()
        for name in list(self.names):
            await self.remove(name)
        await self._let_them_ask()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._socket.close()

    async def _let_them_ask(self) -> None:
        """Who is cancelled while a line is being opened leaves its socket open."""
        for _ in range(250):
            if not self._asking:
                return
            await asyncio.sleep(0.02)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- nodes ----------------------------------------------------------------------------

    async def add(self, name: str, *, cpu: str, memory: str) -> None:
        self.names[name] = {"cpu": cpu, "memory": memory, "pods": "2000"}
        wanted = {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}}
        await ask(self._http, "POST", path_of(NODE, ""), wanted)
        await self._tell_node(name)

    async def remove(self, name: str) -> None:
        self.names.pop(name, None)
        await self._quietly("DELETE", path_of(NODE, "", name))

    async def _tell_node(self, name: str) -> None:
        at = now_text()
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        ready |= {"lastHeartbeatTime": at, "lastTransitionTime": at, "message": "a test's node"}
        port = self._socket.getsockname()[1]
        status = {
            "capacity": self.names[name],
            "allocatable": self.names[name],
            "conditions": [ready],
            # No host name: the server would look it up, and before the address.
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        where = path_of(NODE, "", name, "status")
        await self._quietly("PATCH", where, {"status": status}, how=MERGE)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            for name in [one for one in self.names if one not in self.lost]:
                await self._tell_node(name)

    async def _quietly(
        self, method: str, path: str, body: Object | None = None, **how: Any
    ) -> bool:
        """Whether it was done: what is gone meanwhile is no news."""
        import httpx2

        for _ in range(20):
            self._asking += 1
            try:
                await ask(self._http, method, path, body, **how)
                return True
            except Refusal as refusal:
                if refusal.code in (404, 409, 410):
                    return False
                if refusal.code < 429:
                    raise
            except httpx2.HTTPError:
                pass
            finally:
                self._asking -= 1
            await asyncio.sleep(0.3)
        return False

    # -- pods -----------------------------------------------------------------------------

    async def _follow_pods(self) -> None:
        async for what, pod in watched(self._http, path_of(POD, "")):
            is_pod = what in ("ADDED", "MODIFIED", "DELETED")
            if is_pod and pod["metadata"]["namespace"] in self.spaces:
                self._hear(what, pod)
                for look in self.on_pods:
                    look(list(self._pods.values()))

    def _hear(self, what: str, pod: Object) -> None:
        meta, uid = pod["metadata"], pod["metadata"]["uid"]
        if what == "DELETED":
            if uid in self.lives:
                self.lives[uid].kill()  # removed by force
            self._pods.pop(uid, None)
            return
        if pod["spec"].get("nodeName") not in self.names:
            return
        self._pods[uid], self._uids[meta["name"]] = pod, uid
        if uid not in self._tending and not is_over(pod):
            self._tending.add(uid)
            self._do(self._tend(pod))
        life = self.lives.get(uid)
        if pod["spec"]["nodeName"] in self.lost:
            return
        if life is not None:
            life.annotate(meta.get("annotations", {}))
        if "deletionTimestamp" in meta:
            self._end_soon(pod)

    async def _tend(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        if not await self._pulled(pod):
            return
        log = self._logs[uid] = Log()
        life = self.lives[uid] = self.make_life(pod, log)
        self.begun.append(pod["metadata"]["name"])
        await self._tell(pod, {"running": {"startedAt": now_text()}}, phase="Running")
        living = asyncio.ensure_future(life.live())
        newest = self._pods.get(uid, pod)
        if "deletionTimestamp" in newest["metadata"]:
            await asyncio.sleep(0)
            self._end_soon(newest)
        self._do(self._gauge(pod, life))
        end = await living
        self.lives.pop(uid, None)
        log.close()
        while pod["spec"]["nodeName"] in self.lost and pod["spec"]["nodeName"] in self.names:
            await asyncio.sleep(0.1)  # nobody hears of it
        await self._tell_end(pod, end, log)

    async def _pulled(self, pod: Object) -> bool:
        uid, image = pod["metadata"]["uid"], pod["spec"]["containers"][0]["image"]
        told = False
        while image in self.missing_images:
            if uid not in self._pods:
                return False
            if "deletionTimestamp" in self._pods.get(uid, pod)["metadata"]:
                await self._tell(pod, {"waiting": {"reason": "ContainerCreating"}}, phase="Failed")
                await self._let_go(pod)
                return False
            message = f'Back-off pulling image "{image}": not found'
            for reason in () if told else ("ErrImagePull", "ImagePullBackOff"):
                waiting = {"reason": reason, "message": message}
                await self._tell(pod, {"waiting": waiting}, phase="Pending")
            told = True
            await asyncio.sleep(0.1)
        return True

    async def _tell_end(self, pod: Object, end: End, log: Log) -> None:
        ended = {"exitCode": end.code, "reason": end.reason, "finishedAt": now_text()}
        container = pod["spec"]["containers"][0]
        if end.code and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
            ended["message"] = bytes(log.data[-2048:]).decode("utf-8", "replace")
        phase = "Succeeded" if end.code == 0 else "Failed"
        await self._tell(pod, {"terminated": ended}, phase=phase)
        if "deletionTimestamp" in self._pods.get(pod["metadata"]["uid"], pod)["metadata"]:
            await self._let_go(pod)

    async def _tell(self, pod: Object, state: Object, *, phase: str, **more: Any) -> None:
        meta, container = pod["metadata"], pod["spec"]["containers"][0]
        if meta["uid"] in self._over:
            return
        if phase in ("Succeeded", "Failed"):
            self._over.add(meta["uid"])
        runs = "running" in state
        shown = {"name": container["name"], "image": container["image"], "imageID": ""}
        shown |= {"ready": runs, "restartCount": 0, "state": state}
        conditions = [
            {"type": kind, "status": str(runs), "lastTransitionTime": now_text()}
            for kind in ("Ready", "ContainersReady")
        ]
        conditions += more.pop("conditions", [])
        status = {"phase": phase, "containerStatuses": [shown], "conditions": conditions, **more}
        patch = {"metadata": {"uid": meta["uid"]}, "status": status}
        where = path_of(POD, meta["namespace"], meta["name"], "status")
        await self._quietly("PATCH", where, patch, how=STRATEGIC)

    async def _let_go(self, pod: Object) -> None:
        meta = pod["metadata"]
        now = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
        await self._quietly("DELETE", path_of(POD, meta["namespace"], meta["name"]), now)

    def _end_soon(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        life = self.lives.get(uid)
        if life is None:
            if uid in self._over:
                self._do(self._let_go(pod))
            return
        if uid not in self._terming:
            self._terming.add(uid)
            life.term()
        grace_s = pod["metadata"].get("deletionGracePeriodSeconds", 30)
        asyncio.get_running_loop().call_later(grace_s, self._kill, uid)

    def _kill(self, uid: str) -> None:
        if uid in self.lives:
            self.lives[uid].kill()

    async def press(self, pod: Object) -> None:
        """As a node with no memory left: the pod stays, as failed."""
        message = "The node was low on resource: memory."
        facts = {"status": "True", "reason": "TerminationByKubelet", "message": message}
        disrupted = {"type": "DisruptionTarget", "lastTransitionTime": now_text(), **facts}
        ended = {"exitCode": 137, "reason": "Error", "finishedAt": now_text()}
        told = {"reason": "Evicted", "message": message, "conditions": [disrupted]}
        await self._tell(pod, {"terminated": ended}, phase="Failed", **told)
        self._kill(pod["metadata"]["uid"])

    # -- volumes and figures --------------------------------------------------------------

    async def _follow_claims(self) -> None:
        async for what, claim in watched(self._http, path_of(VOLUME, "")):
            meta = claim["metadata"]
            if meta.get("namespace") not in self.spaces:
                continue
            name = f"test-{meta['uid']}"
            if what == "DELETED":
                await self._quietly("DELETE", path_of(PV, "", name))
            elif what == "ADDED" and not claim["spec"].get("volumeName"):
                spec = {
                    "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
                    "accessModes": claim["spec"]["accessModes"],
                    "storageClassName": claim["spec"].get("storageClassName", ""),
                    "persistentVolumeReclaimPolicy": "Retain",
                    "hostPath": {"path": f"/nowhere/{name}"},
                    "claimRef": {key: meta[key] for key in ("namespace", "name")},
                }
                wanted = {"metadata": {"name": name}, "spec": spec}
                await self._quietly("POST", path_of(PV, ""), wanted)

    async def _gauge(self, pod: Object, life: Life) -> None:
        """What a metrics server would say of it: an object, where nobody else serves them."""
        meta = {name: pod["metadata"].get(name) for name in ("name", "namespace", "labels")}
        where = path_of(METRICS, meta["namespace"])
        while self.lives.get(pod["metadata"]["uid"]) is life:
            usage = {"cpu": "10m", "memory": f"{life.used_bytes() // 1024}Ki"}
            told = {"metadata": meta, "containers": [{"name": "agent", "usage": usage}]}
            told |= {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "PodMetrics"}
            if not await self._quietly("PATCH", f"{where}/{meta['name']}", told, how=MERGE):
                await self._quietly("POST", where, told)
            await asyncio.sleep(0.5)
        await self._quietly("DELETE", f"{where}/{meta['name']}")

    # -- logs -----------------------------------------------------------------------------

    async def _serve(self) -> None:
        """The API server speaks TLS to a node, and asks not whose certificate it is."""
        key, certificate = self._directory / "node.key", self._directory / "node.crt"
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt"]
        words += ["ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=node"]
        words += ["-keyout", str(key), "-out", str(certificate)]
        await asyncio.to_thread(subprocess.run, words, check=True, capture_output=True)
        where = "/containerLogs/{namespace}/{pod}/{container}"
        config = uvicorn.Config(
            Starlette(routes=[Route(where, self._log)]),
            log_level="critical",
            timeout_graceful_shutdown=1,
            ssl_keyfile=str(key),
            ssl_certfile=str(certificate),
        )
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        try:
            await server.serve(sockets=[self._socket])
        finally:  # the API server keeps its lines to a node open
            for connection in list(server.server_state.connections):
                connection.transport.abort()
            await asyncio.sleep(0.1)

    async def _log(self, request: Request) -> Response:
        uid = self._uids.get(request.path_params["pod"], "")
        log = self._logs.get(uid)
        if log is None or self._pods.get(uid, {"spec": {}})["spec"].get("nodeName") in self.lost:
            return Response("no such container", 404 if log is None else 500)
        return log_stream(log, request.query_params, lambda: self.log_epoch)

    def break_logs(self) -> None:
        self.log_epoch += 1
        for log in self._logs.values():
            log.ring()


def metrics_crd() -> Object:
    """Only where no metrics server is: the name of its group is protected."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    notes = {"api-approved.kubernetes.io": "unapproved, a stand-in for a metrics server"}
    version = {"name": "v1beta1", "served": True, "storage": True}
    names = {
        "plural": "pods",
        "singular": "pod",
        "kind": "PodMetrics",
        "listKind": "PodMetricsList",
    }
    return {
        "metadata": {"name": "pods.metrics.k8s.io", "annotations": notes},
        "spec": {
            "group": METRICS.group,
            "scope": "Namespaced",
            "names": names,
            "versions": [{**version, "schema": {"openAPIV3Schema": anything}}],
        },
    }
