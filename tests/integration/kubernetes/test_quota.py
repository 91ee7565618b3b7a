"""The numbers of `paddock simulate --quota`, reached in a cluster with that quota."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from paddock.cluster.labels import ROLE
from paddock.core.run import Priority
from paddock.drivers.kubernetes.reading import is_over
from paddock.manifests.rendering import all_of, render
from paddock.manifests.values import HIGH, LOW, STANDARD, Values
from tests.kit.cluster.choice import AnyCluster, a_cluster
from tests.kit.cluster.objects import LIMITS, POD, PRIORITY, QUOTA
from tests.kit.cluster.platform import NAMESPACE, controllers, limit_range, quota
from tests.kit.cluster.replicas import AGENT_RUNS, Replicas, replicas

ROLES = ("implementation", "quality", "testing")
CLASSES = {
    Priority.CRITICAL: HIGH,
    Priority.HIGH: HIGH,
    Priority.NORMAL: STANDARD,
    Priority.LOW: LOW,
}
Objects = Sequence[dict[str, Any]]
# As its source has it, where the controllers' pods count, and as paddock renders it.
PLATFORMS = {
    "source": [quota(), limit_range(), controllers()],
    "rendered": all_of(render(Values(image="paddock:1", agents_image="agents:1"))),
}
FLEET = {
    "fleet": "mixed",
    "runs": [
        *({"name": f"q-{n}", "role": "quality", "priority": "low"} for n in range(10)),
        *({"name": f"t-{n}", "role": "testing"} for n in range(3)),
        *({"name": f"i-{n}", "role": "implementation", "priority": "high"} for n in range(6)),
    ],
}


def simulated(objects: Objects, place: Path, fleet: dict[str, Any] | None = None) -> Any:
    manifests = place / "namespace.yaml"
    manifests.write_text(yaml.safe_dump_all(objects), encoding="utf-8")
    words = [str(manifests)]
    if fleet is not None:
        runs = [{**run, "command": ["sleep=1"]} for run in fleet["runs"]]
        (place / "fleet.yaml").write_text(yaml.safe_dump({**fleet, "runs": runs}))
        words += ["--fleet", str(place / "fleet.yaml")]
    return told(place, *words)


def told(place: Path, *words: str) -> Any:
    """What the command says, in a process of its own, with no configuration but the test's."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "paddock", "simulate", "--json", "--quota", *words],
        env={
            "HOME": str(place),
            "XDG_CONFIG_HOME": str(place / "config"),
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def build(cluster: AnyCluster, objects: Objects) -> None:
    """What bounds a namespace, as `kubectl apply` would make it, and pods of its controllers."""
    kinds = {"ResourceQuota": QUOTA, "LimitRange": LIMITS, "PriorityClass": PRIORITY}
    for one in objects:
        if one["kind"] in kinds:
            meta = {"name": one["metadata"]["name"]}
            cluster.create(kinds[one["kind"]], {**one, "metadata": meta})
    known = {one["metadata"]["name"] for one in cluster.all(PRIORITY)}
    for name in {HIGH, STANDARD, LOW} - known:
        cluster.create(PRIORITY, {"metadata": {"name": name}, "value": 1})
    for one in objects:
        if one["kind"] == "Deployment":
            for number in range(one["spec"]["replicas"]):
                meta = {"name": f"{one['metadata']['name']}-{number}"}
                cluster.create(POD, {"metadata": meta, "spec": _living(one)})


def _living(deployment: dict[str, Any]) -> dict[str, Any]:
    """Its pod, as it is; what its program would do is not what is asked here."""
    pod = {**deployment["spec"]["template"]["spec"]}
    pod.pop("serviceAccountName", None)  # which is not there
    return {**pod, "containers": [{**each, "args": ["sleep=600"]} for each in pod["containers"]]}


def agents(cluster: AnyCluster) -> Counter[str]:
    """Those that are there, by role."""
    roles = [
        pod["metadata"].get("labels", {}).get(ROLE) for pod in cluster.pods() if not is_over(pod)
    ]
    return Counter(role for role in roles if role is not None)


def in_a_platform(
    objects: Objects, place: Path, scenario: Callable[[Replicas], Awaitable[None]]
) -> None:
    async def whole() -> None:
        with a_cluster(second_s=1.0, namespace=NAMESPACE) as cluster:
            build(cluster, objects)
            async with replicas(cluster, place) as fleet:
                await scenario(fleet)

    asyncio.run(whole())


async def filled(fleet: Replicas, wanted: Counter[str]) -> None:
    """So many, and no more: those that are left have been told why they wait."""
    await fleet.until(lambda: agents(fleet.cluster) == wanted, within_s=90)
    await fleet.until(lambda: all_told(fleet), within_s=90)
    assert agents(fleet.cluster) == wanted


def all_told(fleet: Replicas) -> bool:
    known = [one.get("status", {}) for one in fleet.cluster.all(AGENT_RUNS)]
    waiting = [one for one in known if one.get("state", "queued") == "queued"]
    return all("quota" in one.get("because", "") for one in waiting)


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("role", ROLES)
def test_as_many_agents_of_a_role_run_as_the_simulation_said(
    platform: str, role: str, tmp_path: Path
) -> None:
    objects = PLATFORMS[platform]
    found = simulated(objects, tmp_path)
    (count,) = [one["fit"] for one in found["roles"] if one["role"] == role]
    expected = {"implementation": 10, "quality": 20, "testing": 10}[role]
    assert count == (expected if platform == "rendered" else expected * 9 // 10)

    async def scenario(fleet: Replicas) -> None:
        for number in range(count + 3):
            fleet.apply(f"run-{number}", "sleep=600", role=role)
        fleet.add("a", priority_classes=CLASSES)
        await filled(fleet, Counter({role: count}))

    in_a_platform(objects, tmp_path, scenario)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_mixed_fleet_fills_the_cluster_as_the_simulation_said(
    platform: str, tmp_path: Path
) -> None:
    objects = PLATFORMS[platform]
    moments = simulated(objects, tmp_path, FLEET)["fleet"]["moments"]
    wanted = Counter(moments[0]["running"])
    assert moments[0]["at_s"] == 0.0 and wanted["implementation"] == 6

    async def scenario(fleet: Replicas) -> None:
        for run in FLEET["runs"]:
            assert isinstance(run, dict)
            more = {key: value for key, value in run.items() if key != "name"}
            fleet.apply(run["name"], "sleep=600", **more)
        fleet.add("a", priority_classes=CLASSES)
        await filled(fleet, wanted)

    in_a_platform(objects, tmp_path, scenario)


def test_a_namespace_of_the_cluster_is_asked_what_is_left(tmp_path: Path) -> None:
    async def scenario(fleet: Replicas) -> None:
        for number in range(4):
            fleet.apply(f"run-{number}", "sleep=600", role="implementation")
        fleet.add("a", priority_classes=CLASSES)
        await fleet.until(lambda: agents(fleet.cluster) == Counter(implementation=4), within_s=90)
        config = tmp_path / "config/paddock/config.yaml"
        config.parent.mkdir(parents=True)
        kubeconfig = fleet.cluster.kubeconfig(tmp_path)
        config.write_text(f"kubernetes: {{kubeconfig: {kubeconfig}}}\n", encoding="utf-8")
        found = await asyncio.to_thread(told, tmp_path, fleet.cluster.namespace)
        assert [one["fit"] for one in found["roles"]] == [6, 12, 6, 12]

    in_a_platform(PLATFORMS["rendered"], tmp_path, scenario)
