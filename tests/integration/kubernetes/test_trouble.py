"""What may go wrong around the controller: the API, its answers, nodes, and older versions."""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from pathlib import Path

import pytest

from paddock.cluster.agent_run import crd
from paddock.core.run import Ended
from tests.integration.kubernetes.test_controller import in_a_cluster, in_a_cluster_with
from tests.kit.cluster.objects import CRD, JOB, Kind, Object, Refusal
from tests.kit.cluster.replicas import AGENT_RUNS, Replicas


@in_a_cluster
async def test_an_api_that_is_down_loses_no_run_and_repeats_none(fleet: Replicas) -> None:
    fleet.add("a")
    names = [f"run-{number}" for number in range(8)]
    for name in names:
        fleet.apply(name, "sleep=1", "exit=0")
    await fleet.until(lambda: bool(fleet.cluster.begun()))
    fleet.cluster.go_down()
    await asyncio.sleep(1.5 * fleet.terms.lease_s)  # its holder must stop, and begin anew
    fleet.cluster.come_up()
    await fleet.ended(*names)
    assert fleet.outcomes() == Counter(succeeded=8)
    assert len(fleet.cluster.begun()) == 8


@in_a_cluster
async def test_a_storm_of_conflicts_and_429_is_sat_out(fleet: Replicas) -> None:
    count = iter(range(10**6))

    def storm(verb: str, path: str) -> Refusal | None:
        if verb in ("watch", "list") or "leases" in path:
            return None
        number = next(count)
        if number % 4 == 1:
            return Refusal(429, "TooManyRequests", "slow down", retry_after=1)
        if number % 4 == 2 and verb == "patch":
            return Refusal(409, "Conflict", "the object has been modified")
        return None

    fleet.cluster.hook(storm)
    fleet.add("a")
    names = [f"run-{number}" for number in range(6)]
    for name in names:
        fleet.apply(name, "exit=0")
    await fleet.ended(*names)
    assert fleet.outcomes() == Counter(succeeded=6)
    assert len(fleet.cluster.begun()) == 6


@in_a_cluster
async def test_drained_it_comes_back_and_resumes_from_its_volume(fleet: Replicas) -> None:
    fleet.add("a")
    fleet.apply("one", "sleep=60")
    await fleet.until(lambda: fleet.status("one").get("state") == "running")
    first = fleet.cluster.pods()[0]
    fleet.cluster.evict(first["metadata"]["name"])
    await fleet.until(lambda: len(fleet.cluster.begun()) == 2)
    pods = {one["metadata"]["name"]: one for one in fleet.cluster.pods()}
    second = next(one for name, one in pods.items() if name != first["metadata"]["name"])
    variables = {each["name"]: each["value"] for each in second["spec"]["containers"][0]["env"]}
    assert variables["PADDOCK_RESUME"] == "1"
    claims = [one["spec"]["volumes"][0]["persistentVolumeClaim"] for one in (first, second)]
    assert claims[0] == claims[1]
    assert b'paddock_preemptions_total{cause="pressure"} 1\n' in fleet.controllers["a"].metrics()


def older() -> Object:
    """As the CRD was once: served as v1alpha1, with less in its schema."""
    found = copy.deepcopy(crd())
    (version,) = found["spec"]["versions"]
    version["name"] = "v1alpha1"
    del version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["cancel"]
    return found


@in_a_cluster_with(older())
async def test_an_older_stored_version_is_read_after_an_upgrade(fleet: Replicas) -> None:
    """What was stored then is taken up as it is."""
    alpha = Kind("paddock.dev", "v1alpha1", "agentruns", "AgentRun", has_status=True)
    spec = {"command": ["exit=0"]}
    fleet.cluster.create(alpha, {"metadata": {"name": "old"}, "spec": spec})
    newer, before = crd(), older()["spec"]["versions"][0]
    versions = [*newer["spec"]["versions"], {**before, "storage": False}]
    fleet.cluster.patch(CRD, newer["metadata"]["name"], {"spec": {"versions": versions}})
    await fleet.until(lambda: _is_served(fleet))
    fleet.add("a")
    fleet.apply("new", "exit=0")
    await fleet.ended("old", "new")
    assert fleet.outcomes() == Counter(succeeded=2)


def _is_served(fleet: Replicas) -> bool:
    try:
        return bool(fleet.cluster.all(AGENT_RUNS))
    except Refusal:
        return False


@in_a_cluster
async def test_sixty_runs_take_few_calls_and_none_runs_twice(fleet: Replicas) -> None:
    """The thousand of bench/bench_kubernetes.py, in small."""
    fleet.cluster.set_quota(limits_memory="80Gi", limits_cpu="60", pods="30")
    names = [f"run-{number}" for number in range(60)]
    for name in names:
        fleet.apply(name, "exit=0", memory="4G")
    fleet.add("a")
    await fleet.ended(*names, within_s=100.0)
    assert fleet.outcomes() == Counter(succeeded=60)
    begun = Counter(name.rsplit("-", 1)[0] for name in fleet.cluster.begun())
    assert len(begun) == 60 and max(begun.values()) == 1
    calls = {what: n for what, n in fleet.cluster.calls.items() if "leases" not in what}
    assert sum(calls.values()) / 60 <= 12, calls


@pytest.mark.parametrize(
    "refusal",
    [
        Refusal(503, "ServiceUnavailable", "etcd leader changed"),
        Refusal(403, "Forbidden", "User paddock cannot patch resource agentruns/status"),
    ],
)
def test_what_is_applied_while_no_status_can_be_written_is_taken_when_it_can(
    refusal: Refusal, tmp_path: Path
) -> None:
    @in_a_cluster
    async def scenario(fleet: Replicas) -> None:
        fleet.add("a")
        await fleet.until(lambda: fleet.leader() == "a")
        asked: list[str] = []

        def refuse(verb: str, path: str) -> Refusal | None:
            if verb != "patch" or "agentruns" not in path:
                return None
            asked.append(path)
            return refusal

        fleet.cluster.hook(refuse)
        fleet.apply("first", "exit=0")
        await fleet.until(lambda: len(asked) > 1)  # it was given up once, or would have been
        fleet.apply("second", "exit=0")
        await asyncio.sleep(1.0)  # several times as long as anybody is waited for
        fleet.cluster.no_hook()
        await fleet.ended("first", "second")
        assert fleet.outcomes() == Counter(succeeded=2)

    scenario(tmp_path)


@in_a_cluster
async def test_one_whose_status_is_refused_keeps_no_other_back(fleet: Replicas) -> None:
    def refuse(verb: str, path: str) -> Refusal | None:
        own = verb == "patch" and "agentruns/poison/status" in path
        return Refusal(422, "Invalid", "denied the request") if own else None

    controller = fleet.add("a")
    await fleet.until(lambda: fleet.leader() == "a")
    fleet.cluster.hook(refuse)
    fleet.apply("poison", "exit=0")
    fleet.apply("innocent", "exit=0")
    await fleet.ended("innocent")
    assert fleet.status("innocent")["outcome"] == "succeeded"
    assert controller.supervisor is not None
    (poison,) = (
        run for run in controller.supervisor.fleet.runs.values() if run.spec.name == "poison"
    )
    assert isinstance(poison.state, Ended)
    assert "denied the request" in poison.state.because
    assert len(fleet.cluster.begun()) == 1


@in_a_cluster
async def test_a_need_that_is_deleted_deposes_nobody(fleet: Replicas) -> None:
    fleet.cluster.set_quota(limits_memory="4Gi", limits_cpu="100", requests_memory="100Gi")
    controller = fleet.add("a")
    fleet.apply("need", "exit=0", memory="1G")
    await fleet.ended("need")
    fleet.apply("first", "sleep=8", "exit=0", memory="3G")
    await fleet.until(lambda: fleet.status("first").get("state") == "running")
    fleet.apply("dependent", "exit=0", needs=["need"], memory="2G")
    await fleet.until(lambda: fleet.status("dependent").get("state") == "queued")
    fleet.cluster.delete(AGENT_RUNS, "need")
    await fleet.ended("first", "dependent")
    assert fleet.status("dependent")["outcome"] == "succeeded"
    assert controller.term == 1


@in_a_cluster
async def test_nobody_is_started_twice_while_the_first_may_still_come(fleet: Replicas) -> None:
    """A Job that cannot be removed is given up, and then there is room for its pod."""

    def keep(verb: str, path: str) -> Refusal | None:
        own = verb == "delete" and "/jobs" in path
        return Refusal(503, "ServiceUnavailable", "try again") if own else None

    cluster = fleet.cluster
    fleet.add("a", start_s=1.5)
    await fleet.until(lambda: fleet.leader() == "a")
    cluster.no_nodes()
    cluster.hook(keep)
    fleet.apply("one", "sleep=1", "exit=0", memory="3G")
    await fleet.until(lambda: len(cluster.all(JOB)) == 2)
    cluster.add_node("large", memory="900Gi")
    await fleet.ended("one")
    assert len(cluster.begun()) == 1
    assert fleet.status("one")["outcome"] == "succeeded"
