"""The loop with a fake driver: think, remember, act, tell, in that order, and what may not wait."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from paddock.core.events import (
    CancelRequested,
    FreezeRequested,
    HeartbeatDeclared,
    Submitted,
    ThawRequested,
)
from paddock.core.run import Ended, Outcome, Priority, Queued, Running, Starting
from paddock.storage.memory import MemoryStore
from paddock.storage.sqlite import open_store
from paddock.supervisor.endings import Endings
from paddock.supervisor.thoughts import Parting
from paddock.supervisor.trouble import StoreTrouble
from tests.kit.factories import a_host, a_spec
from tests.kit.supervising import SlowStore, a_recipe, in_a_loop, supervised, until


def test_a_run_goes_all_the_way_and_is_remembered() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with supervised(store) as one:
            assert await one.submit(a_spec("a"), "exit=7") == ()
            (end,) = await one.ended("a")
            assert (end.outcome, end.exit_code) == (Outcome.FAILED, 7)
        kept = store.run("a")
        assert kept is not None and isinstance(kept.state, Ended)
        states = [move.state for move in store.story("a")]
        assert states == ["queued", "starting", "running", "ended"]
        recipe = store.recipe("a")
        assert recipe is not None and recipe.environment is None

    in_a_loop(scenario)


def test_an_answer_comes_after_it_is_remembered() -> None:
    async def scenario() -> None:
        store = SlowStore()
        async with supervised(store) as one:
            store.gate.clear()
            asked = asyncio.ensure_future(one.submit(a_spec("a"), "sleep=60"))
            await asyncio.sleep(0.1)
            assert not asked.done()
            assert isinstance(one.run("a").state, Starting)  # thought, and not yet done
            assert one.driver.used_bytes() == {}
            store.gate.set()
            assert await asked == ()

    in_a_loop(scenario)


def test_steps_that_come_together_are_remembered_together() -> None:
    async def scenario() -> None:
        store = SlowStore()
        async with supervised(store) as one:
            store.gate.clear()
            asked = [
                asyncio.ensure_future(one.submit(a_spec(f"r{n}"), "sleep=60")) for n in range(50)
            ]
            await asyncio.sleep(0.05)
            before = store.writes
            store.gate.set()
            await asyncio.gather(*asked)
            assert store.writes - before <= 3

    in_a_loop(scenario)


def test_a_start_that_nobody_waits_for_is_remembered_though_nothing_else_happens() -> None:
    async def scenario() -> None:
        store = SlowStore()
        async with supervised(store) as one:
            await one.submit(a_spec("a"), "sleep=60")
            await until(lambda: isinstance(one.run("a").state, Running))
            await one.supervisor.settled()
            kept = store.run("a")
            assert kept is not None and isinstance(kept.state, Running)

    in_a_loop(scenario)


def test_a_refusal_keeps_nothing_and_says_why() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with supervised(store) as one:
            (refused,) = await one.submit(a_spec("huge", memory="20G"), "exit=0")
            assert "can never fit" in refused.because
        assert store.run("huge") is None

    in_a_loop(scenario)


def test_a_kill_under_pressure_does_not_wait_for_a_slow_disk() -> None:
    async def scenario() -> None:
        store = SlowStore()
        async with supervised(store) as one:
            await one.submit(a_spec("hog", priority=Priority.LOW), "use=2G", "deaf", "sleep=60")
            await until(lambda: isinstance(one.run("hog").state, Running))
            store.gate.clear()  # an fsync that does not come back
            one.look(a_host(used_percent=97.0, available="400M"))
            began = time.monotonic()
            await until(lambda: one.driver.used_bytes() == {})
            assert time.monotonic() - began < 0.5
            store.gate.set()

    in_a_loop(scenario)


def test_a_run_cancelled_before_it_could_begin_is_never_started() -> None:
    async def scenario() -> None:
        store = SlowStore()
        async with supervised(store) as one:
            store.gate.clear()
            asked = asyncio.ensure_future(one.submit(a_spec("a"), "sleep=60"))
            await asyncio.sleep(0.05)
            cancel = asyncio.ensure_future(
                one.supervisor.ask(lambda now: CancelRequested(now, "a", force=True))
            )
            await asyncio.sleep(0.05)
            store.gate.set()
            await asyncio.gather(asked, cancel)
            (end,) = await one.ended("a")
            assert end.outcome is Outcome.CANCELLED
            assert "running" not in [move.state for move in store.story("a")]

    in_a_loop(scenario)


def test_a_timeout_rings_without_a_sample() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            await one.submit(a_spec("slow", hard_timeout_s=0.2), "sleep=60")
            (end,) = await one.ended("slow")
            assert end.outcome is Outcome.TIMEOUT_EXCEEDED

    in_a_loop(scenario)


def test_everybody_who_listens_hears_every_change_in_order() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            first = one.supervisor.news.subscribe()
            await one.submit(a_spec("a"), "exit=0")
            await one.ended("a")
            heard = [await first.__anext__() for _ in range(4)]
            assert [type(item.change.run.state).__name__ for item in heard] == [
                *("Queued", "Starting", "Running", "Ended")
            ]
            assert [item.n for item in heard] == sorted(item.n for item in heard)

    in_a_loop(scenario)


def test_a_listener_that_does_not_read_misses_the_oldest_and_holds_up_nobody() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            deaf = one.supervisor.news.subscribe()
            for n in range(400):
                await one.submit(a_spec(f"r{n}", memory="16M"), "exit=0")
            await one.ended(*(f"r{n}" for n in range(400)))
            first = await deaf.__anext__()
            assert first.n == one.supervisor.news.last - 1000 + 1

    in_a_loop(scenario)


def test_the_command_at_the_end_runs_once_with_what_it_needs_to_know(tmp_path: Path) -> None:
    async def scenario() -> None:
        told = tmp_path / "told"
        async with supervised() as one:
            endings = Endings(one.supervisor, tmp_path)
            command = f'echo "$PADDOCK_RUN_NAME $PADDOCK_OUTCOME $PADDOCK_EXIT_CODE" >> {told}'
            await one.submit(a_spec("a"), "exit=7", labels={"on_end": command})
            await one.ended("a")
            await until(told.exists)
            await endings.finish()
        assert told.read_text(encoding="utf-8") == "a failed 7\n"

    in_a_loop(scenario)


def test_a_heartbeat_of_a_fleet_stops_when_its_runs_have_ended() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            endings = Endings(one.supervisor, Path("/nowhere"))
            await one.submit(a_spec("work"), "sleep=0.2")
            beat = a_spec("health", memory="64M", priority=Priority.LOW)
            recipe = a_recipe("exit=0", labels={"while": "work"})
            await one.supervisor.ask(
                lambda now: HeartbeatDeclared(now, beat, every_s=1.0),
                heartbeat_recipes={"health": recipe},
            )
            endings.beat_while("health", recipe)
            assert "health" in one.supervisor.fleet.heartbeats
            await one.ended("work")
            await until(lambda: "health" not in one.supervisor.fleet.heartbeats)

    in_a_loop(scenario)


def test_the_same_submission_again_changes_nothing() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            for _ in range(2):
                assert await one.submit(a_spec("a"), "exit=0") == ()
            await one.ended("a")
            assert await one.submit(a_spec("a"), "exit=0") == ()

    in_a_loop(scenario)


def test_a_bug_in_a_step_is_told_and_nothing_half_done_is_remembered() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with supervised(store) as one:

            def wrong(_: float) -> Submitted:
                raise RuntimeError("a bug")

            asked = asyncio.ensure_future(one.supervisor.ask(wrong))
            with pytest.raises(RuntimeError, match="a bug"):
                await one.supervisor.broken
            with pytest.raises(StoreTrouble, match="start anew"):
                await one.supervisor.ask(wrong)
            asked.cancel()

    in_a_loop(scenario)


def test_a_bug_while_acting_ends_the_daemon_too() -> None:
    async def scenario() -> None:
        async with supervised() as one:

            def wrong(_: Parting) -> None:
                raise RuntimeError("a bug")

            one.supervisor.on_parting.append(wrong)
            asked = asyncio.ensure_future(one.submit(a_spec("a"), "exit=0"))
            with pytest.raises(RuntimeError, match="a bug"):
                await one.supervisor.broken
            asked.cancel()

    in_a_loop(scenario)


def test_queued_runs_survive_the_daemon(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "state" / "paddock.db"
        store = open_store(path)
        async with supervised(store) as one:
            await one.submit(a_spec("r0", memory="8G"), "sleep=60")
            for n in range(1, 5):
                await one.submit(a_spec(f"r{n}", memory="8G"), "sleep=0.05")
            assert isinstance(one.run("r4").state, Queued)
        store.close()
        again = open_store(path)
        async with supervised(again) as two:
            ends = await two.ended("r1", "r2", "r3", "r4", within_s=20)
            assert {end.outcome for end in ends} == {Outcome.SUCCEEDED}
        again.close()

    in_a_loop(scenario)


def test_what_died_with_a_driver_that_does_not_survive_is_lost_and_said_so() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with supervised(store) as one:
            await one.submit(a_spec("a"), "sleep=60")
            await until(lambda: isinstance(one.run("a").state, Running))
            await one.supervisor.settled()
        async with supervised(store) as two:
            await two.supervisor.settled()
            state = two.run("a").state
            assert isinstance(state, Ended) and state.outcome is Outcome.LOST

    in_a_loop(scenario)


def test_a_thaw_that_waits_for_the_store_undoes_no_freeze_that_came_after_it() -> None:
    """A freeze does not wait: without a look at how it stands now, the older thaw would win."""

    async def scenario() -> None:
        store = SlowStore()
        async with supervised(store) as one:
            await one.submit(a_spec("a"), "sleep=0.3", "exit=0")
            await until(lambda: isinstance(one.run("a").state, Running))
            await one.supervisor.ask(lambda now: FreezeRequested(now, "a"))
            store.gate.clear()
            asked = [
                one.supervisor.ask(lambda now: ThawRequested(now, "a")),
                one.supervisor.ask(lambda now: FreezeRequested(now, "a")),
            ]
            store.gate.set()
            await asyncio.gather(*asked)
            await one.submit(a_spec("clock"), "sleep=1", "exit=0")
            await one.ended("clock")
            state = one.run("a").state
            assert isinstance(state, Running) and state.frozen is not None
            await one.supervisor.ask(lambda now: ThawRequested(now, "a"))
            (end,) = await one.ended("a")
            assert end.outcome is Outcome.SUCCEEDED

    in_a_loop(scenario)
