"""A fleet file through a daemon, and the same runs as AgentRuns: the same pods come of both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.cluster.choice import AnyCluster
from tests.kit.cluster.objects import JOB, VOLUME, Object
from tests.kit.cluster.replicas import replicas
from tests.kit.house import House, a_house
from tests.kit.waiting import until

RUNS: list[dict[str, Any]] = [
    {"name": "implement", "command": ["sleep=600"], "role": "implementation"},
    {"name": "review", "command": ["sleep=600"], "role": "quality", "priority": "high"},
    {"name": "other", "command": ["sleep=600"], "memory": "3G", "env": {"A": "b"}},
]
# Its ids: each has its own way to make them.
ITS_OWN = ("ENTRY_MARK", "PADDOCK_RUN", "PADDOCK_ATTEMPT")


@pytest.fixture
def house(tmp_path: Path, cluster: AnyCluster) -> Iterator[House]:
    kubeconfig = cluster.kubeconfig(tmp_path)
    config = f"kubernetes:\n  kubeconfig: {kubeconfig}\n  image: agents:1\n"
    config += "  storage_class: default\n"
    with a_house(tmp_path, config=config) as found:
        yield found


def looks(jobs: list[Object]) -> dict[str, Any]:
    """By what it runs as: all that an agent can see of how it was started."""
    found = {}
    for job in jobs:
        pod = json.loads(json.dumps(job["spec"]["template"]["spec"]))
        (container,) = pod["containers"]
        for volume in pod["volumes"]:
            if "persistentVolumeClaim" in volume:
                volume["persistentVolumeClaim"]["claimName"] = "its own"
        env = {one["name"]: one.get("value") for one in container.pop("env")}
        name = env.get("PADDOCK_RUN_NAME") or job["metadata"]["labels"].get("paddock.dev/role", "")
        env = {key: value for key, value in env.items() if key not in ITS_OWN}
        found[str(name)] = {"pod": pod, "env": env}
    return found


def test_the_same_runs_come_to_the_same_pods(
    house: House, cluster: AnyCluster, tmp_path: Path
) -> None:
    (house.home / "fleet.json").write_text(json.dumps({"fleet": "both", "runs": RUNS}))
    done = house.paddock("fleet", "--detach", "--driver", "kubernetes", "fleet.json")
    assert done.returncode == 0, done.stderr
    until(lambda: len(cluster.begun()) == len(RUNS), within_s=60)
    by_daemon, sizes = looks(cluster.all(JOB)), claims(cluster)
    before = {one["metadata"]["name"] for one in cluster.all(JOB)}
    house.paddock("kill", "--all")

    async def as_agent_runs() -> None:
        async with replicas(cluster, tmp_path / "controller") as fleet:
            fleet.add("a")
            for run in RUNS:
                more = {key: value for key, value in run.items() if key not in ("name", "command")}
                fleet.apply(run["name"], *run["command"], **more)
            await fleet.until(lambda: len(cluster.begun()) == 2 * len(RUNS))
            jobs = [one for one in cluster.all(JOB) if one["metadata"]["name"] not in before]
            assert looks(jobs) == by_daemon
            assert claims(cluster)[-len(RUNS) :] == sizes

    asyncio.run(as_agent_runs())


def claims(cluster: AnyCluster) -> list[str]:
    found = [one["spec"]["resources"]["requests"]["storage"] for one in cluster.all(VOLUME)]
    return sorted(found)
