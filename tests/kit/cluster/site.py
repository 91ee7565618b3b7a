"""A cluster that is told everything by `paddock kubernetes`, and nothing by a test's own hands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.cli.main import main
from tests.kit.cluster.crew import man
from tests.kit.cluster.objects import CONFIG, DEPLOYMENT, POD, STORAGE, Kind, Object
from tests.kit.cluster.replicas import AGENT_RUNS
from tests.kit.cluster.standin import Cluster
from tests.kit.waiting import until

SPACE = "agent-platform"
IMAGES = ("--image", "registry.example/paddock:1", "--agents-image", "registry.example/agents:1")
CONTROLLER = "paddock-controller"


@dataclass
class Told:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


class Site:
    def __init__(self, cluster: Cluster, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.cluster, self._home, self._capsys = cluster, home, capsys
        self.kubeconfig = cluster.kubeconfig(home)

    def paddock(self, *words: str) -> Told:
        """`paddock kubernetes …`, in this process, for this cluster."""
        self._capsys.readouterr()
        known = () if words[0] == "render" else ("--kubeconfig", str(self.kubeconfig))
        code = main(["kubernetes", *words, *known])
        told = self._capsys.readouterr()
        return Told(code, told.out, told.err)

    def apply(self, *words: str) -> Told:
        return self.paddock("apply", *IMAGES, *words)

    def config(self, **said: Any) -> None:
        """What the user's own file says under `kubernetes:`."""
        path = self._home / "config/paddock/config.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump({"kubernetes": said}), encoding="utf-8")

    # -- what is there --------------------------------------------------------------------

    def all(self, kind: Kind, namespace: str | None = SPACE) -> list[Object]:
        shelves = self.cluster.shelves
        space = namespace if kind.namespaced else None
        return self.cluster.call(lambda: list(shelves.all(kind, space)))

    def find(self, kind: Kind, name: str, namespace: str = SPACE) -> Object | None:
        shelves = self.cluster.shelves
        space = namespace if kind.namespaced else ""
        return self.cluster.call(lambda: shelves.find(kind, name, space))

    def the(self, kind: Kind, name: str) -> Object:
        found = self.find(kind, name)
        assert found is not None, f"there is no {kind.kind} {name}"
        return found

    def make(self, kind: Kind, wanted: Object, namespace: str = SPACE) -> Object:
        create = self.cluster._create  # noqa: SLF001 - a namespace of its own choice
        space = namespace if kind.namespaced else ""
        return self.cluster.call(lambda: create(kind, wanted, space))

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

    def ended(self, *names: str, within_s: float = 60.0) -> None:
        until(lambda: all(self.status(name).get("state") == "ended" for name in names), within_s)

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

        until(ready, 30)


@contextmanager
def a_site(
    directory: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(directory / "config"))
    with Cluster(second_s=0.05, namespace="default") as cluster:
        man(cluster)
        yield Site(cluster, directory, capsys)
