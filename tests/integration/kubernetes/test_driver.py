"""How attempts end in a cluster, each told as what it was; and what a quota does to them."""

from __future__ import annotations

import asyncio
from typing import Any

from paddock.core.events import (
    AttemptLost,
    Exited,
    Noticed,
    SpawnFailed,
    Started,
    StartPutOff,
    StartTakesLonger,
    StopFound,
)
from paddock.core.run import Attempt, Outcome, Priority
from paddock.core.units import GIB
from paddock.ports import Stop
from tests.kit.cluster.objects import JOB, QUOTA, Refusal
from tests.kit.cluster.ranch import Ranch, on_a_ranch

CLASSES = {Priority.HIGH: "agent-high-priority", Priority.LOW: "agent-low-priority"}


# -- how they end ---------------------------------------------------------------------------------


@on_a_ranch()
async def test_out_of_memory_is_told_with_its_wall(ranch: Ranch) -> None:
    ended = (await ranch.hear(Exited, ranch.start("use=2G"))).exit
    assert (ended.oom, ended.signal, ended.peak_bytes) == (True, 9, GIB)


@on_a_ranch()
async def test_an_image_that_cannot_be_pulled_is_no_start(ranch: Ranch) -> None:
    ranch.cluster.miss_image("agents:1")
    failed = await ranch.hear(SpawnFailed, ranch.start("exit=0"))
    assert "cannot be pulled (ImagePullBackOff" in failed.reason
    assert not failed.permanent
    await ranch.until(lambda: not ranch.cluster.the_jobs())


@on_a_ranch()
async def test_what_no_node_can_take_says_so_and_waits(ranch: Ranch) -> None:
    attempt = ranch.start("exit=0", limit_bytes=2000 * GIB)
    longer = await ranch.hear(StartTakesLonger, attempt)
    assert "Unschedulable" in longer.because
    ranch.cluster.add_node("large", memory="4000Gi")
    assert (await ranch.hear(Exited, attempt)).exit.code == 0


@on_a_ranch(start_s=1.5)
async def test_what_nobody_starts_is_given_up_with_the_reason(ranch: Ranch) -> None:
    failed = await ranch.hear(SpawnFailed, ranch.start("exit=0", limit_bytes=2000 * GIB))
    assert "Unschedulable" in failed.reason
    await ranch.until(lambda: not ranch.cluster.the_jobs())


@on_a_ranch(deadline_s=20)
async def test_the_deadline_of_its_job_is_a_timeout(ranch: Ranch) -> None:
    attempt = ranch.start("sleep=60")
    found = await ranch.hear(StopFound, attempt)
    assert found.outcome is Outcome.TIMEOUT_EXCEEDED
    await ranch.hear(Exited, attempt)


@on_a_ranch()
async def test_evicted_by_its_node_it_is_lost_and_may_be_tried_again(ranch: Ranch) -> None:
    attempt = ranch.start("sleep=60")
    await ranch.hear(Started, attempt)
    ranch.cluster.press(ranch.pod())
    lost = await ranch.hear(AttemptLost, attempt)
    assert "low on resource: memory" in lost.reason and not lost.permanent


@on_a_ranch()
async def test_drained_it_is_preempted_and_no_failure(ranch: Ranch) -> None:
    attempt = ranch.start("sleep=60")
    await ranch.hear(Started, attempt)
    ranch.cluster.evict(ranch.pod())
    found = await ranch.hear(StopFound, attempt)
    assert found.outcome is Outcome.PREEMPTED and "drained" in found.because
    assert (await ranch.hear(Exited, attempt)).exit.signal == 15
    await ranch.until(lambda: _reasons(ranch) == {"PodFailurePolicy"})  # the cluster knows, too


def _reasons(ranch: Ranch) -> set[str]:
    (job,) = ranch.cluster.the_jobs()
    return {one["reason"] for one in job["status"].get("conditions", [])}


@on_a_ranch(priority_classes=CLASSES)
async def test_the_more_important_takes_the_place_of_the_lesser(ranch: Ranch) -> None:
    ranch.cluster.add_priorities()
    large = 300 * GIB  # half of it is asked of a node that has 256
    lesser = ranch.start("sleep=60", run="low", limit_bytes=large, priority=Priority.LOW)
    await ranch.hear(Started, lesser)
    urgent = ranch.start("exit=0", run="high", limit_bytes=large, priority=Priority.HIGH)
    found = await ranch.hear(StopFound, lesser)
    assert found.outcome is Outcome.PREEMPTED and "scheduler" in found.because
    assert (await ranch.hear(Exited, urgent)).exit.code == 0


@on_a_ranch(priority_classes=CLASSES)
async def test_the_quota_of_one_priority_class_holds_up_no_other(ranch: Ranch) -> None:
    ranch.cluster.add_priorities()
    low = {"scopeName": "PriorityClass", "operator": "In", "values": [CLASSES[Priority.LOW]]}
    spec = {"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [low]}}
    ranch.cluster.create(QUOTA, {"metadata": {"name": "for-low"}, "spec": spec})
    lesser = ranch.start("sleep=60", run="low", priority=Priority.LOW)
    urgent = ranch.start("exit=0", run="high", priority=Priority.HIGH)
    assert (await ranch.hear(Exited, urgent)).exit.code == 0
    second = ranch.start("exit=0", run="second", priority=Priority.LOW)
    assert "for-low" in (await ranch.hear(StartPutOff, second)).reason
    put_off = [event.attempt for event in ranch.heard if isinstance(event, StartPutOff)]
    assert put_off == [second]
    await ranch.hear(Started, lesser)


@on_a_ranch()
async def test_a_lost_node_is_waited_for_until_nothing_can_run_on_it(ranch: Ranch) -> None:
    attempt = ranch.start("sleep=600")
    await ranch.hear(Started, attempt)
    ranch.cluster.lose("node-1")
    assert "surely gone" in (await ranch.hear(Noticed, attempt)).note
    await asyncio.sleep(0.5)
    assert not [e for e in ranch.heard if isinstance(e, AttemptLost | Exited)]
    ranch.cluster.remove_node("node-1")
    lost = await ranch.hear(AttemptLost, attempt)
    assert "node" in lost.reason and not lost.permanent


@on_a_ranch()
async def test_a_job_that_somebody_removes_is_lost(ranch: Ranch) -> None:
    attempt = ranch.start("sleep=60")
    await ranch.hear(Started, attempt)
    ranch.cluster.delete(JOB, ranch.cluster.the_jobs()[0]["metadata"]["name"])
    await ranch.hear(AttemptLost, attempt)


@on_a_ranch()
async def test_one_that_ends_before_its_beginning_was_answered_leaves_no_job(ranch: Ranch) -> None:
    create = ranch.api.create

    async def slowly(*words: Any, **more: Any) -> Any:
        made = await create(*words, **more)
        await asyncio.sleep(3.0 if made["kind"] == "Job" else 0.0)
        return made

    ranch.api.create = slowly  # type: ignore[method-assign]
    attempt = ranch.start("exit=0")
    assert (await ranch.hear(Exited, attempt)).exit.code == 0
    assert ranch.cluster.the_jobs()
    ranch.driver.forget(attempt)
    await ranch.until(lambda: not ranch.cluster.the_jobs())


# -- quota ----------------------------------------------------------------------------------------


@on_a_ranch()
async def test_over_the_quota_a_start_is_put_off_and_nothing_is_made(ranch: Ranch) -> None:
    ranch.cluster.set_quota(limits_memory="1Gi", limits_cpu="10", pods="5")
    first = ranch.start("sleep=60", run="first")
    await ranch.hear(Started, first)
    put_off = await ranch.hear(StartPutOff, ranch.start("exit=0", run="second"))
    assert "quota quota has 0 of 1Gi limits.memory left" in put_off.reason
    assert put_off.retry_s > 0
    assert len(ranch.cluster.the_jobs()) == 1


@on_a_ranch()
async def test_room_that_comes_free_is_for_who_is_first_in_line(ranch: Ranch) -> None:
    """However often the lesser asks meanwhile."""
    ranch.cluster.set_quota(limits_memory="1Gi", limits_cpu="10", pods="5")
    first = ranch.start("sleep=60", run="first")
    await ranch.hear(Started, first)
    facts: dict[str, Any] = {"run": "urgent", "priority": Priority.HIGH}
    await ranch.hear(StartPutOff, ranch.start("exit=0", **facts))
    ranch.driver.forget(Attempt("urgent", 1))
    ranch.driver.kill(first, Stop(None, "makes room"))
    await ranch.hear(Exited, first)
    await ranch.until(lambda: _used(ranch) == "0")
    lesser = ranch.start("exit=0", run="lesser", priority=Priority.LOW)
    put_off = await ranch.hear(StartPutOff, lesser)
    assert put_off.reason == (
        "what the quota quota has left of limits.memory is for run urgent, which is before it"
    )
    assert (await ranch.hear(Exited, ranch.start("exit=0", **facts))).exit.code == 0
    ranch.driver.forget(lesser)
    await ranch.until(lambda: _used(ranch) == "0")
    await asyncio.sleep(1.1)  # the driver's own look at the quota is as old as that at most
    assert (await ranch.hear(Exited, ranch.start("exit=0", run="lesser"))).exit.code == 0


def _used(ranch: Ranch) -> str:
    (found,) = ranch.cluster.all(QUOTA)
    used: str = found["status"]["used"]["limits.memory"]
    return used


@on_a_ranch(check_quota=False)
async def test_who_loses_the_race_for_a_quota_waits_with_its_reason(ranch: Ranch) -> None:
    """The Job is there, and its pod was refused: the cluster tries again by itself."""
    ranch.cluster.set_quota(limits_memory="1Gi", limits_cpu="10", pods="5")
    first = ranch.start("sleep=5", "exit=0", run="first")
    await ranch.hear(Started, first)
    second = ranch.start("exit=0", run="second")
    await ranch.until(
        lambda: any(
            isinstance(e, StartTakesLonger) and "exceeded quota" in e.because for e in ranch.heard
        )
    )
    assert (await ranch.hear(Exited, second)).exit.code == 0


@on_a_ranch()
async def test_a_conflict_over_the_count_of_a_quota_is_no_failure(ranch: Ranch) -> None:
    """The API server says 409 of a creation where it could not write down what a quota has used."""
    told = 'Operation cannot be fulfilled on resourcequotas "quota": the object has been modified'
    asked: list[str] = []

    def storm(verb: str, path: str) -> Refusal | None:
        if verb == "create" and path.endswith("/jobs"):
            asked.append(path)
            return Refusal(409, "Conflict", told) if len(asked) % 2 or len(asked) > 4 else None
        return None

    ranch.cluster.hook(storm)
    assert (await ranch.hear(Exited, ranch.start("exit=0", run="first"))).exit.code == 0
    assert (await ranch.hear(Exited, ranch.start("exit=0", run="second"))).exit.code == 0
    put_off = await ranch.hear(StartPutOff, ranch.start("exit=0", run="third"))
    assert "resourcequotas" in put_off.reason
