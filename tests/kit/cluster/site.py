"""A cluster that is told everything by `paddock kubernetes`, and nothing by a test's own hands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.cli.main import main
from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.crew import man
from tests.kit.cluster.objects import CONFIG, DEPLOYMENT, POD, STORAGE, Kind, Object, Refusal
from tests.kit.cluster.replicas import AGENT_RUNS
from tests.kit.cluster.sweeping import Sweep
from tests.kit.waiting import until

SPACE = "agent-platform"
IMAGES = ("--image", "registry.example/paddock:1", "--agents-image", "registry.example/agents:1")
CONTROLLER = "paddock-controller"
OTHERS = ("others", "argo")  # namespaces that tests make beside ours
EVERYWHERE = "kube-root-ca.crt"  # a ConfigMap that every namespace of a real cluster has


@dataclass
class Told:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Site:
    def __init__(self, cluster: AnyCluster, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster, self._home, self._capsys = cluster, home, capsys
        self.kubeconfig = cluster.kubeconfig(home)
        self.sweep = Sweep(cluster)

    def paddock(self, *words: str) -> Told:
        """`paddock kubernetes …`, in this process, for this cluster."""
        self._capsys.readouterr()
        known = () if words[0] == "render" else ("--kubeconfig", str(self.kubeconfig))
        code = main(["kubernetes", *words, *known])
        told = self._capsys.readouterr()
        return Told(code, told.out, told.err)

    def become_nobody(self) -> None:
        """From now on `paddock` asks as an account that has no rights at all."""
        cluster = self.cluster
        asking = cluster.token_of("default", cluster.namespace)
        token = asyncio.run_coroutine_threadsafe(asking, cluster.loop).result(60)
        self.kubeconfig = cluster.kubeconfig(self._home / "nobody", token=token)

    def apply(self, *words: str) -> Told:
        return self.paddock("apply", *IMAGES, *words)

    def config(self, **said: Any) -> None:
        """What the user's own file says under `kubernetes:`."""
        path = self._home / "config/paddock/config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({"kubernetes": said}), encoding="utf-8")

    # -- what is there --------------------------------------------------------------------

    def all(self, kind: Kind, namespace: str = SPACE) -> list[Object]:
        """But what the cluster had before, and has everywhere."""
        found = self.cluster.all_in(kind, namespace)
        known = {EVERYWHERE, *self.sweep.before(kind)}
        return [one for one in found if one["metadata"]["name"] not in known]

    def find(self, kind: Kind, name: str, namespace: str = SPACE) -> Object | None:
        return self.cluster.find_in(kind, name, namespace)

    def the(self, kind: Kind, name: str) -> Object:
        found = self.find(kind, name)
        assert found is not None, f"there is no {kind.kind} {name}"
        return found

    def make(self, kind: Kind, wanted: Object, namespace: str = SPACE) -> Object:
        return self.cluster.create_in(kind, wanted, namespace)

    def put(self, kind: Kind, wanted: Object, namespace: str = SPACE) -> None:
        """What the cluster may have made by itself."""
        try:
            self.make(kind, wanted, namespace)
        except Refusal as refusal:
            if refusal.reason != "AlreadyExists":
                raise
            self.cluster.patch_in(kind, wanted["metadata"]["name"], wanted, namespace)

    def change(self, kind: Kind, name: str, patch: Object) -> None:
        self.cluster.patch_in(kind, name, patch, SPACE)

    def delete(self, kind: Kind, name: str) -> None:
        self.cluster.delete_in(kind, name, SPACE)

    def until(self, condition: Callable[[], Any]) -> None:
        until(condition, self.cluster.patience_s)

    def add_storage(self, name: str = "fast-ssd", *, default: bool = False) -> None:
        notes = {"storageclass.kubernetes.io/is-default-class": "true"} if default else {}
        meta = {"name": name, "annotations": notes}
        self.make(STORAGE, {"metadata": meta, "provisioner": "example"})

    def settings(self) -> Any:
        """What controllers are told."""
        found = self.the(CONFIG, CONTROLLER)
        return yaml.safe_load(found["data"]["config.yaml"])["kubernetes"]

    def revisions(self) -> list[Any]:
        found = self.find(CONFIG, "paddock-sizes")
        return [] if found is None else json.loads(found["data"]["revisions.json"])

    # -- runs -----------------------------------------------------------------------------

    def submit(self, name: str, *words: str, **spec: Any) -> None:
        wanted = {"metadata": {"name": name}, "spec": {"command": list(words), **spec}}
        self.make(AGENT_RUNS, wanted)

    def status(self, name: str) -> Object:
        found = self.find(AGENT_RUNS, name)
        return {} if found is None else found.get("status", {})

    def ended(self, *names: str) -> None:
        def all_ended() -> bool:
            known = {one["metadata"]["name"]: one for one in self.all(AGENT_RUNS)}
            return all(known[name].get("status", {}).get("state") == "ended" for name in names)

        self.until(all_ended)

    def agents(self) -> list[Object]:
        return [one for one in self.all(POD) if "paddock.dev/agent" in one["metadata"]["labels"]]

    def controllers(self) -> list[Object]:
        return [
            one
            for one in self.all(POD)
            if one["spec"]["containers"][0]["name"] == "controller"
            and "deletionTimestamp" not in one["metadata"]
        ]

    def controllers_ready(self, count: int = 2) -> None:
        def ready() -> bool:
            found = self.find(DEPLOYMENT, CONTROLLER)
            return found is not None and found.get("status", {}).get("availableReplicas") == count

        self.until(ready)


@contextmanager
def a_site(
    cluster: AnyCluster, directory: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Site]:
    site = Site(cluster, directory, capsys)
    site.sweep.host(SPACE, *OTHERS)
    man(cluster)
    try:
        yield site
    finally:
        site.sweep.clean()
