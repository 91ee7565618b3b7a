"""A cluster asked over HTTP, with nothing between: what is answered is what a client sees."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import httpx2

from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.objects import JOB, Kind, Object
from tests.kit.cluster.paths import path_of
from tests.kit.waiting import until

SMALL = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
MERGE = {"content-type": "application/merge-patch+json"}


class Http:
    def __init__(self, cluster: AnyCluster) -> None:
        self._cluster = cluster
        self.client = httpx2.Client(base_url=cluster.url, timeout=60.0)

    def path(self, kind: Kind, name: str = "", sub: str = "") -> str:
        return path_of(kind, self._cluster.namespace if kind.namespaced else "", name, sub)

    def __call__(
        self, method: str, kind: Kind, name: str = "", body: Object | None = None, **how: Any
    ) -> tuple[int, Object]:
        if body is not None and method in ("POST", "PUT"):
            body = {"apiVersion": kind.api_version, "kind": kind.kind, **body}
        headers = MERGE if method == "PATCH" else {"content-type": "application/json"}
        content = None if body is None else json.dumps(body)
        path = self.path(kind, name, how.pop("sub", ""))
        answer = self.client.request(method, path, content=content, headers=headers, params=how)
        return answer.status_code, answer.json()

    def watch(self, kind: Kind, **how: str) -> Generator[Object, None, None]:
        asked = {"watch": "true", "timeoutSeconds": "60", **how}
        with self.client.stream("GET", self.path(kind), params=asked) as answer:
            assert answer.status_code == 200
            for line in answer.iter_lines():
                yield json.loads(line)


def a_pod(name: str, *words: str, **spec: Any) -> Object:
    container = {"name": "agent", "image": "agents:1", "args": list(words or ("sleep=60",))}
    container["resources"] = spec.pop("resources", SMALL)
    whole: Object = {"containers": [container], "restartPolicy": "Never"}
    whole |= {"terminationGracePeriodSeconds": 1, **spec}
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": whole}


def a_job(name: str, *words: str, pod: Object | None = None, **spec: Any) -> Object:
    template = {"spec": a_pod(name, *words, **(pod or {}))["spec"]}
    whole: Object = {"backoffLimit": 0, "template": template, **spec}
    return {"metadata": {"name": name}, "spec": whole}


def conditions(cluster: AnyCluster, job: str) -> list[tuple[str, str]]:
    found = cluster.find(JOB, job) or {}
    told = found.get("status", {}).get("conditions", [])
    return [(one["type"], one.get("reason", "")) for one in told if one["status"] == "True"]


def holds(cluster: AnyCluster, what: Any) -> Any:
    return until(what, within_s=cluster.patience_s)
