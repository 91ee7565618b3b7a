"""AgentRuns through the controller, in a stand-in of a cluster: what goes right, and who leads."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.kit.cluster.choice import a_cluster
from tests.kit.cluster.objects import JOB, LEASE, VOLUME, Object, Refusal
from tests.kit.cluster.replicas import AGENT_RUNS, Replicas, replicas

Scenario = Callable[[Replicas], Awaitable[None]]


def in_a_cluster_with(
    definition: Object | None,
) -> Callable[[Scenario], Callable[[Path], None]]:
    """None: with the AgentRuns of today."""

    def decorate(scenario: Scenario) -> Callable[[Path], None]:
        @functools.wraps(scenario)
        def test(tmp_path: Path) -> None:
            async def whole() -> None:
                with a_cluster() as cluster:
                    async with replicas(cluster, tmp_path, definition) as found:
                        await scenario(found)

            asyncio.run(whole())

        del test.__wrapped__
        return test

    return decorate


in_a_cluster = in_a_cluster_with(None)


@in_a_cluster
async def test_an_agent_run_runs_and_its_status_says_how_it_ended(fleet: Replicas) -> None:
    fleet.add("a")
    fleet.apply("good", "print=hello", "exit=0")
    fleet.apply("bad", "exit=7")
    fleet.apply("after", "exit=0", needs=["good"])
    fleet.apply("never", "exit=0", needs=["bad"])
    await fleet.ended("good", "bad", "after", "never")
    told = {name: fleet.status(name) for name in ("good", "bad", "after", "never")}
    assert [one["outcome"] for one in told.values()] == [
        "succeeded",
        "failed",
        "succeeded",
        "skipped",
    ]
    assert told["bad"]["exitCode"] == 7
    assert told["good"]["attempt"] == 1 and told["good"]["endedAt"]


@in_a_cluster
async def test_what_it_asks_for_is_hardened_and_owned(fleet: Replicas) -> None:
    fleet.add("a")
    one = fleet.apply("one", "sleep=60", role="quality")
    await fleet.until(lambda: fleet.status("one").get("state") == "running")
    (job,) = fleet.cluster.all(JOB)
    (claim,) = fleet.cluster.all(VOLUME)
    for made in (job, claim):
        assert made["metadata"]["ownerReferences"][0]["uid"] == one["metadata"]["uid"]
    pod = job["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["containers"][0]["resources"]["limits"] == {"cpu": "2", "memory": "8Gi"}
    assert pod["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "4Gi"}


@in_a_cluster
async def test_a_mistake_in_an_agent_run_is_refused_with_one_line(fleet: Replicas) -> None:
    fleet.add("a")
    fleet.apply("wrong", "exit=0", memory="much")
    fleet.apply("nothing")
    await fleet.ended("wrong", "nothing")
    assert fleet.status("wrong")["outcome"] == "refused"
    assert "memory" in fleet.status("wrong")["because"]
    assert "\n" not in fleet.status("nothing")["because"]
    with pytest.raises(Refusal, match="priority"):
        fleet.apply("urgent", "exit=0", priority="urgent")  # the schema knows it


@in_a_cluster
async def test_needs_may_be_applied_in_any_order(fleet: Replicas) -> None:
    fleet.add("a")
    fleet.apply("second", "exit=0", needs=["first"])
    await fleet.until(lambda: "not there yet" in fleet.status("second").get("because", ""))
    fleet.apply("first", "exit=0")
    await fleet.ended("first", "second")
    assert fleet.outcomes() == Counter(succeeded=2)


@in_a_cluster
async def test_deleting_one_ends_it_and_cancel_does_too(fleet: Replicas) -> None:
    fleet.add("a")
    for name in ("deleted", "cancelled"):
        fleet.apply(name, "sleep=60")
    await fleet.until(
        lambda: all(fleet.status(n).get("state") == "running" for n in ("deleted", "cancelled"))
    )
    fleet.cluster.delete(AGENT_RUNS, "deleted")
    fleet.cluster.patch(AGENT_RUNS, "cancelled", {"spec": {"cancel": True}})
    await fleet.ended("cancelled")
    assert fleet.status("cancelled")["outcome"] == "cancelled"
    await fleet.until(lambda: not fleet.cluster.alive())


@in_a_cluster
async def test_over_the_quota_it_waits_with_the_reason_and_then_runs(fleet: Replicas) -> None:
    fleet.cluster.set_quota(limits_memory="4Gi", limits_cpu="100", requests_memory="100Gi")
    fleet.add("a")
    fleet.apply("first", "sleep=12", "exit=0", memory="3G")
    await fleet.until(lambda: fleet.status("first").get("state") == "running")
    fleet.apply("second", "exit=0", memory="2G")
    await fleet.until(lambda: "limits.memory" in fleet.status("second").get("because", ""))
    assert fleet.status("second")["state"] == "queued"
    assert "quota quota has 1Gi of 4Gi" in fleet.status("second")["because"]
    await fleet.ended("first", "second")
    assert fleet.outcomes() == Counter(succeeded=2)


@in_a_cluster
async def test_a_quota_that_shrinks_below_use_ends_nobody(fleet: Replicas) -> None:
    fleet.cluster.set_quota(limits_memory="8Gi", limits_cpu="100")
    fleet.add("a")
    for name in ("one", "two"):
        fleet.apply(name, "sleep=2", "exit=0", memory="4G")
    await fleet.until(lambda: len(fleet.cluster.begun()) == 2)
    fleet.cluster.set_quota(limits_memory="2Gi", limits_cpu="100")
    fleet.apply("three", "exit=0", memory="4G")
    await fleet.ended("one", "two")
    assert fleet.status("three").get("state", "queued") == "queued"
    fleet.cluster.set_quota(limits_memory="4Gi", limits_cpu="100")
    await fleet.ended("three")
    assert fleet.outcomes() == Counter(succeeded=3)


# -- who leads ------------------------------------------------------------------------------------


@in_a_cluster
async def test_a_second_replica_goes_on_where_the_first_died(fleet: Replicas) -> None:
    fleet.add("a")
    await fleet.until(lambda: fleet.leader() == "a")
    fleet.add("b")
    names = [f"run-{number}" for number in range(6)]
    for name in names:
        fleet.apply(name, "sleep=2", "exit=0")
    await fleet.until(lambda: len(fleet.cluster.begun()) == 6)
    await fleet.kill("a")
    await fleet.until(lambda: fleet.leader() == "b")
    await fleet.ended(*names)
    assert fleet.outcomes() == Counter(succeeded=6)
    assert len(fleet.cluster.begun()) == 6  # nobody ran twice
    assert all(fleet.status(name)["attempt"] == 1 for name in names)


@in_a_cluster
async def test_a_leader_killed_between_create_and_status_leaves_nothing_undone(
    fleet: Replicas,
) -> None:
    created = asyncio.Event()
    loop = asyncio.get_running_loop()
    asked: list[str] = []

    def cut(verb: str, path: str) -> Refusal | None:
        """The Job is made; from then on this leader's words are not heard."""
        if verb == "create" and path.endswith("/jobs"):
            asked.append(path)
        if asked and verb == "patch" and path.endswith("/status"):
            loop.call_soon_threadsafe(created.set)
            return Refusal(503, "ServiceUnavailable", "not now")
        return None

    fleet.cluster.hook(cut)
    fleet.add("a")
    fleet.apply("one", "sleep=0.5", "exit=0")
    await asyncio.wait_for(created.wait(), 30)
    await fleet.kill("a")
    assert fleet.status("one")["state"] == "starting"
    fleet.cluster.no_hook()
    fleet.add("b")
    await fleet.ended("one")
    assert fleet.status("one")["outcome"] == "succeeded"
    assert len(fleet.cluster.begun()) == 1


@in_a_cluster
async def test_a_leader_whom_nobody_answers_stops_before_another_may_lead(fleet: Replicas) -> None:
    """Also where its lines are open, and it could wait for an answer for long."""
    controller = fleet.add("a")
    await fleet.until(lambda: fleet.leader() == "a")
    loop = asyncio.get_running_loop()
    fleet.cluster.hang()
    hung_at = loop.time()
    await fleet.until(lambda: not controller.ready.is_set())
    assert loop.time() - hung_at < 10.0  # a line is waited at for 20 s, a lease lasts 2 s (6 s)
    fleet.cluster.come_up()
    await fleet.until(lambda: fleet.leader() == "a")


@in_a_cluster
async def test_a_leader_that_was_deposed_writes_nothing_more(fleet: Replicas) -> None:
    fleet.add("a")
    fleet.apply("one", "sleep=3", "exit=0")
    await fleet.until(lambda: fleet.status("one").get("state") == "running")

    controller = fleet.controllers["a"]
    stolen = {"holderIdentity": "b", "leaseTransitions": 2}
    fleet.cluster.patch(LEASE, "paddock-controller", {"spec": stolen})
    await fleet.until(lambda: not controller.ready.is_set())
    await fleet.ended("one")  # "b" is nobody: it is a's turn again when the lease ends
    assert fleet.status("one")["outcome"] == "succeeded"
    assert fleet.status("one")["term"] > 2
    assert len(fleet.cluster.begun()) == 1
