"""How attempts end in a cluster, each told as what it was; and a driver that nothing shakes off."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from paddock.cluster.client import Api, Where
from paddock.core.events import (
    AttemptLost,
    Event,
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
from paddock.drivers.kubernetes.driver import KubernetesDriver
from paddock.drivers.kubernetes.settings import KubernetesSettings
from paddock.ports import Launch, Stop
from tests.kit.cluster.objects import JOB, POD, QUOTA, Refusal
from tests.kit.cluster.standin import Cluster

E = TypeVar("E", bound=Event)
CLASSES = {Priority.HIGH: "agent-high-priority", Priority.LOW: "agent-low-priority"}


@dataclass
class Ranch:
    """A driver on a cluster of scripted pods, and what it told."""

    cluster: Cluster
    directory: Path
    driver: KubernetesDriver
    api: Api
    heard: list[Event] = field(default_factory=list)
    written: dict[Attempt, bytes] = field(default_factory=dict)

    def start(self, *words: str, run: str = "a", number: int = 1, **facts: object) -> Attempt:
        attempt = Attempt(run, number)
        known = {"limit_bytes": GIB, "priority": Priority.NORMAL} | facts
        launch = Launch(
            attempt=attempt,
            command=words,
            environment={},
            directory=Path("/"),
            **known,  # type: ignore[arg-type]
        )
        self.driver.start(launch, self.heard.append)
        return attempt

    async def hear(self, kind: type[E], attempt: Attempt, within_s: float = 60.0) -> E:
        def found() -> list[E]:
            of_kind = [event for event in self.heard if isinstance(event, kind)]
            return [event for event in of_kind if getattr(event, "attempt", None) == attempt]

        await self.until(lambda: bool(found()), within_s)
        return found()[0]

    async def until(self, condition: Callable[[], bool], within_s: float = 60.0) -> None:
        give_up_at = time.monotonic() + within_s
        while not condition():
            assert time.monotonic() < give_up_at, f"waited in vain; heard {self.heard}"
            await asyncio.sleep(0.01)

    def pod(self) -> dict[str, object]:
        (found,) = self.cluster.pods()
        return found

    async def again(self, **settings: object) -> None:
        """Another daemon, after this one died without a word."""
        await self.driver.close()
        self.heard.clear()
        self.driver = make_driver(self.api, self.written, **settings)
        await self.driver.connect()
        self.driver.adopt(self.heard.append)


def make_driver(api: Api, written: dict[Attempt, bytes], **settings: object) -> KubernetesDriver:
    def write(attempt: Attempt, data: bytes) -> None:
        written[attempt] = written.get(attempt, b"") + data

    known = KubernetesSettings(image="agents:1", **settings)  # type: ignore[arg-type]
    size = lambda attempt: len(written.get(attempt, b""))  # noqa: E731
    return KubernetesDriver(api, known, instance="0123456789abcdef", write=write, written=size)


Scenario = Callable[[Ranch], Awaitable[None]]


def on_a_ranch(**settings: object) -> Callable[[Scenario], Callable[[Path], None]]:
    def decorate(scenario: Scenario) -> Callable[[Path], None]:
        @functools.wraps(scenario)
        def test(tmp_path: Path) -> None:
            async def whole() -> None:
                with Cluster(second_s=0.05) as cluster:
                    api = Api(Where(kubeconfig=cluster.kubeconfig(tmp_path)))
                    written: dict[Attempt, bytes] = {}
                    driver = make_driver(api, written, **settings)
                    await driver.connect()
                    ranch = Ranch(cluster, tmp_path, driver, api, written=written)
                    try:
                        await scenario(ranch)
                    finally:
                        await ranch.driver.close()
                        await api.close()

            asyncio.run(whole())

        del test.__wrapped__
        return test

    return decorate


# -- how they end ---------------------------------------------------------------------------------


@on_a_ranch()
async def test_out_of_memory_is_told_with_its_wall(ranch: Ranch) -> None:
    ended = (await ranch.hear(Exited, ranch.start("use=2G"))).exit
    assert (ended.oom, ended.signal, ended.peak_bytes) == (True, 9, GIB)


@on_a_ranch()
async def test_an_image_that_cannot_be_pulled_is_no_start(ranch: Ranch) -> None:
    ranch.cluster.call(lambda: ranch.cluster.kubelet.missing_images.add("agents:1"))
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
    ranch.cluster.call(
        lambda: ranch.cluster.kubelet.evict_for_pressure(next(ranch.cluster.shelves.all(POD)))
    )
    lost = await ranch.hear(AttemptLost, attempt)
    assert "low on resource: memory" in lost.reason and not lost.permanent


@on_a_ranch()
async def test_drained_it_is_preempted_and_no_failure(ranch: Ranch) -> None:
    attempt = ranch.start("sleep=60")
    await ranch.hear(Started, attempt)
    ranch.cluster.call(
        lambda: ranch.cluster.kubelet.disrupt(
            next(ranch.cluster.shelves.all(POD)), "EvictionByEvictionAPI", "node drain"
        )
    )
    found = await ranch.hear(StopFound, attempt)
    assert found.outcome is Outcome.PREEMPTED and "drained" in found.because
    assert (await ranch.hear(Exited, attempt)).exit.signal == 15
    (job,) = ranch.cluster.the_jobs()
    (failed,) = job["status"]["conditions"]
    assert failed["reason"] == "PodFailurePolicy"  # the cluster itself told it from a failure


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
    attempt = ranch.start("sleep=60")
    await ranch.hear(Started, attempt)
    ranch.cluster.call(lambda: ranch.cluster.kubelet.lose("node-1"))
    assert "surely gone" in (await ranch.hear(Noticed, attempt)).note
    await asyncio.sleep(0.5)
    assert not [e for e in ranch.heard if isinstance(e, AttemptLost | Exited)]
    ranch.cluster.call(lambda: ranch.cluster.kubelet.remove_node("node-1"))
    lost = await ranch.hear(AttemptLost, attempt)
    assert "node" in lost.reason and not lost.permanent


@on_a_ranch()
async def test_a_job_that_somebody_removes_is_lost(ranch: Ranch) -> None:
    attempt = ranch.start("sleep=60")
    await ranch.hear(Started, attempt)
    shelves = ranch.cluster.shelves
    ranch.cluster.call(lambda: shelves.delete(JOB, next(shelves.all(JOB))))
    await ranch.hear(AttemptLost, attempt)


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


# -- trouble --------------------------------------------------------------------------------------


@on_a_ranch()
async def test_dropped_watches_and_410_lose_nothing(ranch: Ranch) -> None:
    attempts = [ranch.start("sleep=1", f"exit={code}", run=f"r{code}") for code in range(5)]
    for attempt in attempts:
        await ranch.hear(Started, attempt)
    ranch.cluster.add_priorities()  # something else that happened, which is forgotten, too
    ranch.cluster.compact()
    ranch.cluster.drop_watches()
    codes = [(await ranch.hear(Exited, attempt)).exit.code for attempt in attempts]
    assert codes == list(range(5))
    assert sum(isinstance(event, Exited) for event in ranch.heard) == 5
    assert ranch.cluster.calls["list pods"] > 1  # it was listed anew


@on_a_ranch()
async def test_an_api_that_is_down_for_a_while_costs_nobody_anything(ranch: Ranch) -> None:
    running = ranch.start("print=one", "sleep=0.5", "print=two", "exit=4", run="running")
    await ranch.hear(Started, running)
    ranch.cluster.go_down()
    waiting = ranch.start("exit=5", run="waiting")
    await asyncio.sleep(2.0)
    ranch.cluster.come_up()
    assert (await ranch.hear(Exited, running)).exit.code == 4
    assert (await ranch.hear(Exited, waiting)).exit.code == 5
    assert ranch.written[running] == b"one\ntwo\n"
    assert len(ranch.cluster.begun()) == 2


@on_a_ranch()
async def test_storms_of_429_and_500_are_sat_out(ranch: Ranch) -> None:
    count = iter(range(10**6))

    def storm(verb: str, path: str) -> Refusal | None:
        del path
        number = next(count)
        if verb in ("watch", "list") or number % 3 == 0:
            return None
        if number % 3 == 1:
            return Refusal(429, "TooManyRequests", "slow down", retry_after=1)
        return Refusal(500, "InternalError", "etcdserver: leader changed")

    ranch.cluster.hook(storm)
    attempts = [ranch.start("exit=0", run=f"r{number}") for number in range(4)]
    for attempt in attempts:
        assert (await ranch.hear(Exited, attempt)).exit.code == 0
    assert len(ranch.cluster.begun()) == 4  # nobody twice, however often it was asked for


@on_a_ranch()
async def test_a_log_that_breaks_off_goes_on_where_it_was(ranch: Ranch) -> None:
    words = [word for number in range(20) for word in (f"print=line {number}", "sleep=0.05")]
    attempt = ranch.start(*words, "exit=0")
    await ranch.hear(Started, attempt)
    for _ in range(3):
        await asyncio.sleep(0.2)
        ranch.cluster.call(ranch.cluster.api.break_logs)
    await ranch.hear(Exited, attempt)
    assert ranch.written[attempt] == b"".join(b"line %d\n" % number for number in range(20))


# -- after another daemon -------------------------------------------------------------------------


@on_a_ranch()
async def test_the_next_daemon_finds_what_runs_and_what_ended_meanwhile(ranch: Ranch) -> None:
    ends = ranch.start("print=x", "sleep=0.5", "exit=3", run="ends")
    lives = ranch.start("print=y", "sleep=3", "print=z", "exit=0", run="lives")
    for attempt in (ends, lives):
        await ranch.hear(Started, attempt)
    await ranch.until(lambda: len(ranch.written) == 2)
    await ranch.driver.close()
    await asyncio.sleep(1.0)
    await ranch.again()
    assert (await ranch.hear(Exited, ends)).exit.code == 3
    assert (await ranch.hear(Exited, lives)).exit.code == 0
    assert ranch.written[lives] == b"y\nz\n"  # nothing twice


@on_a_ranch()
async def test_a_kill_that_nobody_remembered_is_found_with_its_reason(ranch: Ranch) -> None:
    attempt = ranch.start("deaf", "sleep=60")
    await ranch.hear(Started, attempt)
    ranch.driver.kill(attempt, Stop(Outcome.CANCELLED, "killed on request"))
    await ranch.until(lambda: bool(ranch.cluster.the_jobs()[0]["spec"].get("suspend")))
    await ranch.again()
    found = await ranch.hear(StopFound, attempt)
    assert (found.outcome, found.because) == (Outcome.CANCELLED, "killed on request")
    assert (await ranch.hear(Exited, attempt)).exit.signal == 9


@on_a_ranch()
async def test_a_start_asked_for_again_by_the_next_daemon_is_the_same_start(ranch: Ranch) -> None:
    attempt = ranch.start("sleep=1", "exit=0")
    await ranch.hear(Started, attempt)
    await ranch.driver.close()
    ranch.driver = make_driver(ranch.api, ranch.written)
    await ranch.driver.connect()
    ranch.heard.clear()
    ranch.start("sleep=1", "exit=0")  # it did not ask what is there
    assert (await ranch.hear(Exited, attempt)).exit.code == 0
    assert len(ranch.cluster.begun()) == 1
