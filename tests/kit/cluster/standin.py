"""A whole cluster in a thread: its API on loopback, its nodes, and a hand for tests to reach in."""

from __future__ import annotations

import asyncio
import functools
import socket
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
import yaml

from tests.kit.cluster.deployments import DeploymentController
from tests.kit.cluster.evicting import evict
from tests.kit.cluster.jobs import JobController
from tests.kit.cluster.kubelet import Kubelet
from tests.kit.cluster.lives import MakeLife, Process
from tests.kit.cluster.namespaces import NamespaceController
from tests.kit.cluster.objects import (
    CRD,
    JOB,
    LIMITS,
    NAMESPACE,
    NODE,
    POD,
    PRIORITY,
    QUOTA,
    Kind,
    Object,
    Refusal,
    Shelves,
)
from tests.kit.cluster.paths import Place
from tests.kit.cluster.rights import ACCOUNT
from tests.kit.cluster.server import Api

T = TypeVar("T")
NAMESPACE_NAME = "agents"


class Cluster:
    """`second_s`: how long one of its seconds takes; `processes`: where claims of real ones lie.

    What tests do to it is what `real.RealCluster` can do as well: see `choice`.
    """

    is_real = False
    patience_s = 60.0

    def __init__(
        self,
        *,
        second_s: float = 1.0,
        history: int = 20_000,
        processes: Path | None = None,
        namespace: str = NAMESPACE_NAME,
    ) -> None:
        self.namespace = namespace
        self._ready = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._args = (second_s, history, processes)
        self._thread = threading.Thread(target=self._run, name="cluster", daemon=True)
        self._thread.start()
        assert self._ready.wait(30)

    def _run(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        second_s, history, processes = self._args
        self.loop = asyncio.get_running_loop()
        self.loop.set_exception_handler(_quiet)
        self.shelves = Shelves(history=history)
        self.kubelet = Kubelet(self.shelves, second_s=second_s)
        if processes is not None:
            self.kubelet.make_life = lambda pod, log: Process(pod, log, volumes=processes)
        self.jobs = JobController(self.shelves, self.kubelet)
        self.deployments = DeploymentController(self.shelves, self.kubelet)
        self.namespaces = NamespaceController(self.shelves)
        self.api = Api(self.shelves, self.kubelet, self.jobs)
        config = uvicorn.Config(self.api.app, log_level="critical", timeout_graceful_shutdown=1)
        self._server = uvicorn.Server(config)
        self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        self._create(NAMESPACE, {"metadata": {"name": self.namespace}}, "")
        self._add_node("node-1", "64", "256Gi", "2000")
        self._ready.set()
        await self._server.serve(sockets=[self._socket])
        self.kubelet.close()

    def stop(self) -> None:
        self.call(self.shelves.drop_watches)
        self._server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive(), "the stand-in does not stop"
        self._socket.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- reaching in ----------------------------------------------------------------------

    def call(self, do: Callable[[], T]) -> T:
        """In the cluster's own thread, and its result."""

        async def doing() -> T:
            return do()

        return asyncio.run_coroutine_threadsafe(doing(), self.loop).result(20)

    def kubeconfig(self, directory: Path, *, token: str = "") -> Path:
        """As a file that clients are pointed to; a token is the name of who they are."""
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / "kubeconfig"
        path.write_text(kubeconfig_of(self.url, self.namespace, token), encoding="utf-8")
        return path

    def all(self, kind: Kind) -> list[Object]:
        return self.call(lambda: list(self.shelves.all(kind)))

    def all_in(self, kind: Kind, namespace: str) -> list[Object]:
        space = namespace if kind.namespaced else None
        return self.call(lambda: list(self.shelves.all(kind, space)))

    def find(self, kind: Kind, name: str) -> Object | None:
        return self.find_in(kind, name, self.namespace)

    def find_in(self, kind: Kind, name: str, namespace: str) -> Object | None:
        space = namespace if kind.namespaced else ""
        return self.call(lambda: self.shelves.find(kind, name, space))

    def pods(self) -> list[Object]:
        return self.all(POD)

    def the_jobs(self) -> list[Object]:
        return self.all(JOB)

    def create(self, kind: Kind, wanted: Object) -> Object:
        """As `kubectl create` would: through the rules."""
        return self.create_in(kind, wanted, self.namespace)

    def create_in(self, kind: Kind, wanted: Object, namespace: str) -> Object:
        space = namespace if kind.namespaced else ""
        return self.call(lambda: self._create(kind, wanted, space))

    def define(self, definition: Object) -> None:
        """A custom resource, until it is served."""
        self.create(CRD, definition)

    def patch(self, kind: Kind, name: str, patch: Object) -> None:
        self.patch_in(kind, name, patch, self.namespace)

    def patch_in(self, kind: Kind, name: str, patch: Object, namespace: str) -> None:
        space = namespace if kind.namespaced else ""
        self.call(lambda: self.shelves.patch(kind, (space, name), patch))

    def delete(self, kind: Kind, name: str) -> None:
        """As `kubectl delete` would: what it owns goes too."""
        self.delete_in(kind, name, self.namespace)

    def delete_in(self, kind: Kind, name: str, namespace: str) -> None:
        shelves, space = self.shelves, namespace if kind.namespaced else ""
        self.call(lambda: shelves.delete(kind, shelves.get(kind, name, space)))

    def let_go(self, kind: Kind, name: str, namespace: str) -> None:
        """Nothing holds it any more; told to go it goes."""
        shelves, free = self.shelves, {"finalizers": None}

        def gone() -> None:
            found = shelves.get(kind, name, namespace)
            shelves.remove(kind, shelves.change(kind, found, metadata=free))

        self.call(gone)

    async def read(self, kind: Kind, name: str, namespace: str) -> Object:
        """For what lives in its own loop."""
        return self.shelves.get(kind, name, namespace)

    async def token_of(self, account: str, namespace: str) -> str:
        return f"{ACCOUNT}:{namespace}:{account}"

    def live_as(self, make_life: MakeLife) -> None:
        self.call(lambda: setattr(self.kubelet, "make_life", make_life))

    def on_pods(self, look: Callable[[list[Object]], None]) -> None:
        """It is shown all of them after each change of one."""

        def heard(_what: str, kind: Kind, _one: Object) -> None:
            if kind.family == POD.family:
                look(list(self.shelves.all(POD)))

        self.call(lambda: self.shelves.on_change.append(heard))

    def refused(self) -> list[str]:
        """All that anybody was told no for, for want of rights."""
        return self.call(lambda: list(self.api.rights.refused))

    def _create(self, kind: Kind, wanted: Object, namespace: str) -> Object:
        rest = ["namespaces", namespace, kind.plural] if namespace else [kind.plural]
        place = Place(kind.group, kind.version, rest)
        return self.api._create(kind, place, wanted)  # noqa: SLF001 - as the server does

    def _add_node(self, name: str, cpu: str, memory: str, pods: str) -> None:
        room = {"cpu": cpu, "memory": memory, "pods": pods}
        node = {"metadata": {"name": name}, "spec": {}, "status": {"allocatable": room}}
        self.shelves.create(NODE, node)

    def add_node(self, name: str, *, memory: str = "256Gi", cpu: str = "64") -> None:
        self.call(lambda: self._add_node(name, cpu, memory, "2000"))

    def set_quota(self, **hard: str) -> None:
        """Names with _ for the dot: requests_memory="8Gi"."""
        named = {name.replace("_", ".", 1): value for name, value in hard.items()}

        def put() -> None:
            known = self.shelves.find(QUOTA, "quota", self.namespace)
            if known is None:
                wanted = {"metadata": {"name": "quota"}, "spec": {"hard": named}}
                self.shelves.create(QUOTA, wanted, self.namespace)
            else:
                self.shelves.change(QUOTA, known, spec={"hard": named})

        self.call(put)

    def set_limits(self, **rule: Any) -> None:
        spec = {"limits": [{"type": "Container", **rule}]}
        self.create(LIMITS, {"metadata": {"name": "limits"}, "spec": spec})

    def add_priorities(self) -> None:
        for name, value in (("high", 1000), ("standard", 500), ("low", 100)):
            wanted = {"metadata": {"name": f"agent-{name}-priority"}, "value": value}
            self.create(PRIORITY, wanted)

    # -- nodes ----------------------------------------------------------------------------

    def no_nodes(self) -> None:
        for one in self.all(NODE):
            self.call(functools.partial(self.shelves.remove, NODE, one))

    def miss_image(self, name: str) -> None:
        self.call(lambda: self.kubelet.missing_images.add(name))

    def evict(self, pod: str) -> None:
        """As who drains a node: by the API, which asks the budgets."""
        found = self.find(POD, pod)
        assert found is not None
        self.call(lambda: evict(self.shelves, self.kubelet, found))

    def press(self, pod: str) -> None:
        """Its node has no memory left, and ends it."""
        found = self.find(POD, pod)
        assert found is not None
        self.call(lambda: self.kubelet.evict_for_pressure(found))

    def lose(self, node: str) -> None:
        self.call(lambda: self.kubelet.lose(node))

    def remove_node(self, node: str) -> None:
        self.call(lambda: self.kubelet.remove_node(node))

    def alive(self) -> int:
        """Containers that run."""
        return self.call(lambda: len(self.kubelet.lives))

    # -- trouble --------------------------------------------------------------------------

    def go_down(self) -> None:
        def down() -> None:
            self.api.trouble.down = True
            self.shelves.drop_watches()

        self.call(down)

    def hang(self) -> None:
        """Whoever asks waits, for nothing."""

        def hang() -> None:
            self.api.trouble.hangs = True
            self.shelves.drop_watches()

        self.call(hang)

    def come_up(self) -> None:
        self.call(self.api.trouble.over)

    def unheard(self) -> int:
        """How often it was asked in vain."""
        return self.call(lambda: self.api.trouble.unheard)

    def hook(self, trouble: Callable[[str, str], Refusal | None]) -> None:
        """Called with the verb and path of each call; what it returns is the answer."""
        self.call(lambda: setattr(self.api.trouble, "hook", trouble))

    def no_hook(self) -> None:
        self.hook(lambda _verb, _path: None)

    def drop_watches(self) -> None:
        self.call(self.shelves.drop_watches)

    def compact(self) -> None:
        self.call(self.shelves.compact)

    def break_logs(self) -> None:
        self.call(self.api.break_logs)

    @property
    def calls(self) -> Counter[str]:
        return self.call(lambda: Counter(self.api.calls))

    def begun(self) -> list[str]:
        """The names of all pods whose container was ever started, in order."""
        return self.call(lambda: list(self.kubelet.begun))


def kubeconfig_of(url: str, namespace: str, token: str = "") -> str:
    context = {"cluster": "here", "user": "me", "namespace": namespace}
    known = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [{"name": "here", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {"token": token} if token else {}}],
        "contexts": [{"name": "here", "context": context}],
    }
    return yaml.safe_dump(known)


def _quiet(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Connections that are cut on purpose are no news."""
    if not isinstance(context.get("exception"), ConnectionError):
        loop.default_exception_handler(context)
