"""A real API server in the place of the stand-in: a namespace of its own, nodes of ours, a proxy.

For a control plane that has no nodes, or whose nodes a test must not harm. What the server, its
scheduler and its controllers do is theirs; how containers live and end is `nodes`.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from tests.kit.cluster.asking import MERGE, ask, client_of
from tests.kit.cluster.lives import Life, Log, MakeLife, Process, Scripted
from tests.kit.cluster.nodes import Nodes, metrics_crd
from tests.kit.cluster.objects import (
    CRD,
    JOB,
    LIMITS,
    NAMESPACE,
    NODE,
    PLAIN,
    POD,
    PRIORITY,
    QUOTA,
    Kind,
    Object,
    Refusal,
)
from tests.kit.cluster.paths import path_of
from tests.kit.cluster.proxy import Proxy
from tests.kit.cluster.standin import kubeconfig_of

T = TypeVar("T")
WITHIN_S = 60.0
ACCOUNT = next(kind for kind in PLAIN if kind.plural == "serviceaccounts")


class RealCluster:
    """Speaks as `standin.Cluster` does."""

    is_real = True
    patience_s = 300.0  # its controllers look again after a while, not at once

    def __init__(self, kubeconfig: Path, *, processes: Path | None = None) -> None:
        self.namespace = f"paddock-test-{secrets.token_hex(4)}"
        self._kubeconfig, self._processes = kubeconfig, processes
        self._made: list[str] = []  # what is not in the namespace
        self._began: threading.Event = threading.Event()
        self._trouble: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="cluster", daemon=True)
        self._thread.start()
        assert self._began.wait(120), "the cluster does not answer"
        if self._trouble is not None:
            raise self._trouble

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:
            self._trouble = error
            self._began.set()
            raise

    async def _live(self) -> None:
        self.loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        with tempfile.TemporaryDirectory() as directory:
            async with client_of(self._kubeconfig) as self._http:
                self.nodes = Nodes(self._http, self.namespace, self._life, Path(directory))
                self.proxy = Proxy(self._http)
                self.url = self.proxy.url
                await self._settle_in()
                serving = asyncio.ensure_future(self.proxy.serve())
                self._began.set()
                await self._stopped.wait()
                self.proxy.stop()
                await serving
                await self._leave()
            await asyncio.sleep(0.3)  # a line is closed when the loop has come round to it

    def _life(self, pod: Object, log: Log) -> Life:
        if self._processes is None:
            return Scripted(pod, log)
        return Process(pod, log, volumes=self._processes)

    async def _settle_in(self) -> None:
        await self._ask("POST", path_of(NAMESPACE, ""), {"metadata": {"name": self.namespace}})
        if not await self._is_there("/apis/metrics.k8s.io/v1beta1"):
            await self._ask("POST", path_of(CRD, ""), metrics_crd())
        where = f"/apis/metrics.k8s.io/v1beta1/namespaces/{self.namespace}/pods"
        await self._until(lambda: self._is_there(where))
        await self._until(
            lambda: self._is_there(path_of(ACCOUNT, self.namespace, "default"))
        )  # without it no pod is let in
        await self.nodes.begin()
        await self._add_node("node-1", "64", "256Gi")

    async def _leave(self) -> None:
        everywhere = [path_of(kind, self.namespace) for kind in (JOB, POD)]
        for path in everywhere:  # DELETE of a whole list
            with contextlib.suppress(Refusal):
                options = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
                await self._ask("DELETE", path, options)
        await self.nodes.close()
        for path in [*reversed(self._made), path_of(NAMESPACE, "", self.namespace)]:
            with contextlib.suppress(Refusal):
                await self._ask("DELETE", path)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(60)
        assert not self._thread.is_alive(), "the tests' nodes do not stop"

    def __enter__(self) -> RealCluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- asking ---------------------------------------------------------------------------

    async def _ask(self, method: str, path: str, body: Object | None = None, **how: str) -> Object:
        return await ask(self._http, method, path, body, **how)

    async def _is_there(self, path: str) -> bool:
        try:
            await self._ask("GET", path)
        except Refusal as refusal:
            if refusal.code not in (404, 429, 503):
                raise
            return False
        return True

    async def _until(self, is_so: Callable[[], Coroutine[Any, Any, bool]]) -> None:
        give_up_at = time.monotonic() + WITHIN_S
        while not await is_so():
            assert time.monotonic() < give_up_at, "waited in vain for the cluster"
            await asyncio.sleep(0.05)

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(2 * WITHIN_S)

    def call(self, do: Callable[[], T]) -> T:
        async def doing() -> T:
            return do()

        return self._do(doing())

    def kubeconfig(self, directory: Path, *, token: str = "") -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "kubeconfig"
        path.write_text(kubeconfig_of(self.url, self.namespace, token), encoding="utf-8")
        return path

    def all(self, kind: Kind) -> list[Object]:
        found: list[Object] = self._do(self._ask("GET", path_of(kind, self.namespace)))["items"]
        return found

    def all_in(self, kind: Kind, namespace: str) -> list[Object]:
        """Of a kind that is not served there are none."""
        try:
            found: list[Object] = self._do(self._ask("GET", path_of(kind, namespace)))["items"]
        except Refusal as refusal:
            if refusal.code != 404:
                raise
            return []
        return found

    def find(self, kind: Kind, name: str) -> Object | None:
        return self.find_in(kind, name, self.namespace)

    def find_in(self, kind: Kind, name: str, namespace: str) -> Object | None:
        try:
            return self._do(self.read(kind, name, namespace))
        except Refusal as refusal:
            if refusal.code != 404:
                raise
            return None

    async def read(self, kind: Kind, name: str, namespace: str) -> Object:
        """For what lives in its own loop."""
        return await self._ask("GET", path_of(kind, namespace, name))

    async def token_of(self, account: str, namespace: str) -> str:
        """With it one may do what the account may, and no more."""
        wanted = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        where = path_of(ACCOUNT, namespace, account, "token")
        return str((await self._ask("POST", where, wanted))["status"]["token"])

    def pods(self) -> list[Object]:
        return self.all(POD)

    def the_jobs(self) -> list[Object]:
        return self.all(JOB)

    def create(self, kind: Kind, wanted: Object) -> Object:
        return self.create_in(kind, wanted, self.namespace)

    def create_in(self, kind: Kind, wanted: Object, namespace: str) -> Object:
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **wanted}
        made = self._do(self._ask("POST", path_of(kind, namespace), whole))
        if not kind.namespaced:
            self._made.append(path_of(kind, "", made["metadata"]["name"]))
        if kind is QUOTA:
            self._counted(made["metadata"]["name"])
        if kind is CRD:
            self._do(self._until(lambda: self._is_there(_served_at(wanted))))
        return made

    def patch(self, kind: Kind, name: str, patch: Object) -> None:
        self.patch_in(kind, name, patch, self.namespace)

    def patch_in(self, kind: Kind, name: str, patch: Object, namespace: str) -> None:
        self._do(self._ask("PATCH", path_of(kind, namespace, name), patch, how=MERGE))

    def delete(self, kind: Kind, name: str) -> None:
        self.delete_in(kind, name, self.namespace)

    def delete_in(self, kind: Kind, name: str, namespace: str) -> None:
        where = path_of(kind, namespace, name)
        self._do(self._ask("DELETE", where, {"propagationPolicy": "Background"}))

    def let_go(self, kind: Kind, name: str, namespace: str) -> None:
        """Nothing holds it any more; told to go it goes."""
        self.patch_in(kind, name, {"metadata": {"finalizers": None}}, namespace)

    def define(self, definition: Object) -> None:
        """One that another test left behind goes first, with all of its objects."""
        where = path_of(CRD, "", definition["metadata"]["name"])
        with contextlib.suppress(Refusal):
            self._do(self._ask("DELETE", where))
        self._do(self._until(lambda: self._is_gone(where)))
        self.create(CRD, definition)

    async def _is_gone(self, path: str) -> bool:
        return not await self._is_there(path)

    # -- what it has ----------------------------------------------------------------------

    def set_quota(self, **hard: str) -> None:
        named = {name.replace("_", ".", 1): value for name, value in hard.items()}
        if self.find(QUOTA, "quota") is None:
            self.create(QUOTA, {"metadata": {"name": "quota"}, "spec": {"hard": named}})
        else:
            self.patch(QUOTA, "quota", {"spec": {"hard": named}})
            self._counted("quota")

    def _counted(self, name: str) -> None:
        """A quota holds nobody to anything before its controller has counted."""

        async def is_so() -> bool:
            found = await self._ask("GET", path_of(QUOTA, self.namespace, name))
            return bool(found.get("status", {}).get("hard") == found["spec"]["hard"])

        self._do(self._until(is_so))

    def set_limits(self, **rule: Any) -> None:
        spec = {"limits": [{"type": "Container", **rule}]}
        self.create(LIMITS, {"metadata": {"name": "limits"}, "spec": spec})

    def add_priorities(self) -> None:
        for name, value in (("high", 1000), ("standard", 500), ("low", 100)):
            wanted = {"metadata": {"name": f"agent-{name}-priority"}, "value": value}
            self.create(PRIORITY, wanted)

    async def _add_node(self, name: str, cpu: str, memory: str) -> None:
        await self.nodes.add(name, cpu=cpu, memory=memory)

        async def is_ready() -> bool:
            found = await self._ask("GET", path_of(NODE, "", name))
            return not found["spec"].get("taints")

        await self._until(is_ready)

    def add_node(self, name: str, *, memory: str = "256Gi", cpu: str = "64") -> None:
        self._do(self._add_node(name, cpu, memory))

    def no_nodes(self) -> None:
        for name in list(self.nodes.names):
            self._do(self.nodes.remove(name))

    def miss_image(self, name: str) -> None:
        self.call(lambda: self.nodes.missing_images.add(name))

    def evict(self, pod: str) -> None:
        meta = {"name": pod, "namespace": self.namespace}
        wanted = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
        self._do(self._ask("POST", path_of(POD, self.namespace, pod, "eviction"), wanted))

    def press(self, pod: str) -> None:
        found = self.find(POD, pod)
        assert found is not None
        self._do(self.nodes.press(found))

    def lose(self, node: str) -> None:
        """It does not beat any more: its pods are told to go when the server has noticed. Another
        beats on: with none left a controller manager takes itself for cut off, and waits."""
        self._do(self._add_node("watchman", "1m", "1Mi"))
        self.call(lambda: self.nodes.lost.add(node))

    def remove_node(self, node: str) -> None:
        self._do(self.nodes.remove(node))

    def live_as(self, make_life: MakeLife) -> None:
        self.call(lambda: setattr(self.nodes, "make_life", make_life))

    def host(self, *namespaces: str) -> None:
        """Pods of these live on its nodes, too."""
        self.call(lambda: self.nodes.spaces.update(namespaces))

    def on_pods(self, look: Callable[[list[Object]], None]) -> None:
        """It is shown all of them after each change of one."""
        self.call(lambda: self.nodes.on_pods.append(look))

    def refused(self) -> list[str]:
        """All that somebody with a token was told no for, for want of rights."""
        return self.call(lambda: list(self.proxy.refused))

    def alive(self) -> int:
        return self.call(lambda: len(self.nodes.lives))

    def begun(self) -> list[str]:
        return self.call(lambda: list(self.nodes.begun))

    # -- trouble --------------------------------------------------------------------------

    def go_down(self) -> None:
        def down() -> None:
            self.proxy.trouble.down = True
            self.proxy.cut()

        self.call(down)

    def hang(self) -> None:
        def hang() -> None:
            self.proxy.trouble.hangs = True
            self.proxy.cut()

        self.call(hang)

    def come_up(self) -> None:
        self.call(self.proxy.trouble.over)

    def unheard(self) -> int:
        return self.call(lambda: self.proxy.trouble.unheard)

    def hook(self, trouble: Callable[[str, str], Refusal | None]) -> None:
        self.call(lambda: setattr(self.proxy.trouble, "hook", trouble))

    def no_hook(self) -> None:
        self.hook(lambda _verb, _path: None)

    def drop_watches(self) -> None:
        self.call(self.proxy.cut)

    def compact(self) -> None:
        """As seen from outside: a watch from before is too old."""
        found = self._do(self._ask("GET", path_of(POD, self.namespace)))
        version = int(found["metadata"]["resourceVersion"])
        self.call(lambda: self.proxy.forget(version))

    def break_logs(self) -> None:
        self.call(self.nodes.break_logs)

    @property
    def calls(self) -> Counter[str]:
        return self.call(lambda: Counter(self.proxy.calls))


def _served_at(definition: Object) -> str:
    spec = definition["spec"]
    version = next(one["name"] for one in spec["versions"] if one["served"])
    return f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
