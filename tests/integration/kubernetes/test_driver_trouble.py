"""A driver that nothing shakes off: broken lines, silent servers, daemons before this one."""

from __future__ import annotations

import asyncio

from paddock.core.events import (
    Exited,
    SpawnFailed,
    Started,
    StartTakesLonger,
    StopFound,
)
from paddock.core.run import Outcome
from paddock.core.units import GIB
from paddock.ports import Stop
from tests.kit.cluster.objects import JOB, Refusal
from tests.kit.cluster.ranch import Ranch, make_driver, on_a_ranch

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
        ranch.cluster.break_logs()
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
async def test_a_start_that_was_being_given_up_is_told_by_the_next_daemon(ranch: Ranch) -> None:
    attempt = ranch.start("exit=0", limit_bytes=2000 * GIB)
    await ranch.hear(StartTakesLonger, attempt)
    await ranch.driver.close()
    (job,) = ranch.cluster.the_jobs()
    ranch.cluster.patch(JOB, job["metadata"]["name"], {"spec": {"suspend": True}})
    await ranch.until(lambda: not ranch.cluster.pods())
    await ranch.again()
    failed = await ranch.hear(SpawnFailed, attempt)
    assert "suspended" in failed.reason and not failed.permanent


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
