"""What is left in a cluster of attempts that are over: kept as long as somebody may need it."""

from __future__ import annotations

import asyncio
from collections import Counter

from tests.integration.kubernetes.test_controller import in_a_cluster
from tests.kit.cluster.objects import JOB, VOLUME, Object, Refusal
from tests.kit.cluster.replicas import Replicas

WEEK_S, HOUR_S = 7 * 86_400, 3_600


def ttl_of(job: Object) -> int:
    found: int = job["spec"]["ttlSecondsAfterFinished"]
    return found


@in_a_cluster
async def test_a_success_leaves_nothing_and_a_failure_what_people_look_at(fleet: Replicas) -> None:
    fleet.add("a", shown_of_success_s=1)
    fleet.apply("bad", "exit=7")
    fleet.apply("good", "exit=0")
    await fleet.ended("bad", "good")
    await fleet.until(lambda: len(fleet.cluster.all(JOB)) == 1)
    await fleet.until(lambda: len(fleet.cluster.all(VOLUME)) == 1)
    (job,), (volume,) = fleet.cluster.all(JOB), fleet.cluster.all(VOLUME)
    assert volume["metadata"]["annotations"]["paddock.dev/run"].startswith("bad-")
    await fleet.until(lambda: ttl_of(fleet.cluster.all(JOB)[0]) == HOUR_S)
    assert job["metadata"]["annotations"]["paddock.dev/run"].startswith("bad-")


@in_a_cluster
async def test_until_an_end_is_remembered_its_job_stays_for_long(fleet: Replicas) -> None:
    fleet.add("a", shown_of_success_s=1)
    fleet.apply("one", "sleep=1", "exit=0")
    await fleet.until(lambda: fleet.status("one").get("state") == "running")
    await fleet.kill("a")
    await fleet.until(lambda: any(_is_complete(job) for job in fleet.cluster.all(JOB)))
    await asyncio.sleep(1.5)  # longer than a Job whose end is known may stay
    (job,) = fleet.cluster.all(JOB)
    assert ttl_of(job) == WEEK_S
    fleet.add("b", shown_of_success_s=1)
    await fleet.ended("one")
    assert fleet.outcomes() == Counter(succeeded=1)
    await fleet.until(lambda: not fleet.cluster.all(JOB) and not fleet.cluster.all(VOLUME))
    assert len(fleet.cluster.begun()) == 1


def _is_complete(job: Object) -> bool:
    return any(one["type"] == "Complete" for one in job["status"].get("conditions", []))


@in_a_cluster
async def test_no_earlier_attempt_holds_the_volume_of_a_success(fleet: Replicas) -> None:
    fleet.add("a", shown_of_success_s=1)
    fleet.apply("one", "sleep=2", "exit=0")
    await fleet.until(lambda: fleet.status("one").get("state") == "running")
    fleet.cluster.evict(fleet.cluster.pods()[0]["metadata"]["name"])
    await fleet.ended("one")
    assert (fleet.status("one")["outcome"], fleet.status("one")["attempt"]) == ("succeeded", 2)
    await fleet.until(lambda: not fleet.cluster.all(JOB) and not fleet.cluster.all(VOLUME))


@in_a_cluster
async def test_a_leader_that_dies_after_a_success_leaves_its_volume_to_the_next(
    fleet: Replicas,
) -> None:
    def cut(verb: str, path: str) -> Refusal | None:
        """It can remember the end, and do nothing about it any more."""
        letting_go = verb == "delete" or (verb == "patch" and "/jobs/" in path)
        return Refusal(503, "ServiceUnavailable", "not now") if letting_go else None

    fleet.cluster.hook(cut)
    fleet.add("a", shown_s=2, shown_of_success_s=1)
    fleet.apply("one", "exit=0")
    await fleet.ended("one")
    await fleet.kill("a")
    fleet.cluster.no_hook()
    assert len(fleet.cluster.all(VOLUME)) == 1
    fleet.add("b", shown_s=2, shown_of_success_s=1)
    await fleet.until(lambda: not fleet.cluster.all(JOB) and not fleet.cluster.all(VOLUME))
    assert len(fleet.cluster.begun()) == 1
