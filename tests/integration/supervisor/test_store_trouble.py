"""A store in trouble: nothing that was promised is lost, and whoever waits is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from paddock.core.events import CancelRequested, HeartbeatDeclared
from paddock.core.run import Ended, Outcome, Priority, Running
from paddock.ports import Step
from paddock.storage.errors import StoreFull, StoreGone
from paddock.storage.memory import MemoryStore
from paddock.storage.sqlite import open_store
from paddock.supervisor.trouble import StoreTrouble
from tests.kit.factories import a_host, a_spec
from tests.kit.supervising import SlowStore, a_recipe, in_a_loop, supervised, until


def test_a_full_disk_takes_nothing_new_stops_what_is_told_and_goes_on_when_there_is_room() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with supervised(store) as one:
            await one.submit(a_spec("old"), "sleep=60")
            await until(lambda: isinstance(one.run("old").state, Running))
            store.trouble = StoreFull(Path("/somewhere/paddock.db"))
            with pytest.raises(StoreTrouble, match="no room left"):
                await one.submit(a_spec("new"), "sleep=60")
            with pytest.raises(StoreTrouble, match="no room left"):
                await one.submit(a_spec("newer"), "sleep=60")
            await one.supervisor.ask(lambda now: CancelRequested(now, "old"))
            await until(lambda: isinstance(one.run("old").state, Ended))
            assert store.run("old") is not None and not isinstance(store.run("old").state, Ended)  # type: ignore[union-attr]
            store.trouble = None
            await until(lambda: one.supervisor.trouble is None)
            await one.supervisor.settled()
            assert await one.submit(a_spec("later"), "exit=0") == ()
            await one.ended("later")
        kept = store.run("old")
        assert kept is not None and isinstance(kept.state, Ended)
        new = store.run("new")
        assert new is not None and isinstance(new.state, Ended)
        assert new.state.outcome is Outcome.REFUSED
        assert store.run("newer") is None

    in_a_loop(scenario)


def test_a_recipe_that_nobody_can_keep_takes_no_other_along() -> None:
    """All three come to the store in one batch."""

    async def scenario() -> None:
        store = SlowStore()
        async with supervised(store) as one:
            await one.submit(a_spec("first"), "exit=0")
            await one.ended("first")
            store.gate.clear()
            held = asyncio.ensure_future(one.submit(a_spec("held"), "exit=0"))
            await asyncio.sleep(0)
            commands = {"good": "exit=0", "bad": "a zero \0 byte", "fine": "exit=3"}
            asked = [
                asyncio.ensure_future(one.submit(a_spec(name), command))
                for name, command in commands.items()
            ]
            await until(lambda: set(commands) <= one.supervisor.fleet.runs.keys())
            store.gate.set()
            answers = await asyncio.gather(held, *asked, return_exceptions=True)
            assert [type(answer) for answer in answers] == [tuple, tuple, StoreTrouble, tuple]
            assert "zero byte" in str(answers[2])
            ends = await one.ended("held", *commands)
        outcomes = [end.outcome for end in ends]
        taken = [Outcome.SUCCEEDED, Outcome.SUCCEEDED, Outcome.REFUSED, Outcome.FAILED]
        assert outcomes == taken
        assert store.recipe("good") is not None and store.recipe("bad") is None

    in_a_loop(scenario)


def test_nothing_starts_while_it_could_not_be_remembered() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with supervised(store) as one:
            for n in range(8):
                await one.submit(a_spec(f"r{n}", memory="4G"), "sleep=0.2")
            store.trouble = StoreFull(Path("/somewhere/paddock.db"))
            # Three fit at once; they end, and nobody takes their place.
            await until(
                lambda: (
                    sum(isinstance(r.state, Ended) for r in one.supervisor.fleet.runs.values()) == 3
                )
            )
            await asyncio.sleep(0.2)
            waiting = [
                r for r in one.supervisor.fleet.runs.values() if not isinstance(r.state, Ended)
            ]
            assert len(waiting) == 5
            store.trouble = None
            one.look()
            await one.ended(*(f"r{n}" for n in range(8)))
            assert all(
                e.outcome is Outcome.SUCCEEDED
                for e in await one.ended(*(f"r{n}" for n in range(8)))
            )

    in_a_loop(scenario)


def test_a_store_removed_under_the_daemon_is_put_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "state" / "paddock.db"
        store = open_store(path)
        async with supervised(store) as one:
            await one.submit(a_spec("before"), "exit=3")
            await one.ended("before")
            for file in path.parent.iterdir():
                file.unlink()
            assert await one.submit(a_spec("after"), "exit=4") == ()
            await one.ended("after")
            assert one.supervisor.trouble is None
        store.close()
        again = open_store(path)
        codes = [again.run(name).state.exit_code for name in ("before", "after")]  # type: ignore[union-attr]
        again.close()
        assert codes == [3, 4]

    in_a_loop(scenario)


def test_a_store_that_cannot_be_put_back_is_trouble_and_no_loss(tmp_path: Path) -> None:
    class Gone(MemoryStore):
        def mend(self) -> None:
            raise StoreFull(tmp_path)

    async def scenario() -> None:
        store = Gone()
        async with supervised(store) as one:
            store.trouble = StoreGone(tmp_path, missing="paddock.db")
            with pytest.raises(StoreTrouble, match="was removed"):
                await one.submit(a_spec("a"), "exit=0")
            store.trouble = None
            await until(lambda: one.supervisor.trouble is None)

    in_a_loop(scenario)


@pytest.mark.parametrize("method", ["remember_many", "recipe"])
def test_a_bug_in_the_store_ends_the_daemon_and_not_only_its_writer(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with supervised(store) as one:

            def wrong(_: object) -> None:
                raise RuntimeError("a bug")

            monkeypatch.setattr(store, method, wrong)
            asked = asyncio.ensure_future(one.submit(a_spec("a"), "exit=0"))
            with pytest.raises(RuntimeError, match="a bug"):
                await one.supervisor.broken
            asked.cancel()

    in_a_loop(scenario)


def test_a_store_that_fails_with_a_crowd_behind_it_leaves_nobody_without_an_answer() -> None:
    class FailingLater(SlowStore):
        def remember_many(self, steps: Sequence[Step]) -> None:
            self.gate.wait(10)
            super().remember_many(steps)

    async def scenario() -> None:
        store = FailingLater()
        async with supervised(store) as one:
            store.gate.clear()
            asked = [
                asyncio.ensure_future(one.submit(a_spec(f"r{n}", memory="16M"), "exit=0"))
                for n in range(1100)
            ]
            await asyncio.sleep(0.3)
            store.trouble = StoreFull(Path("/somewhere/paddock.db"))
            store.gate.set()
            told = await asyncio.wait_for(asyncio.gather(*asked, return_exceptions=True), 10)
            assert all(isinstance(each, StoreTrouble) for each in told[1:])
            store.trouble = None
            await until(lambda: one.supervisor.trouble is None)
            await one.supervisor.settled()
            live = [r for r in one.supervisor.fleet.runs.values() if not isinstance(r.state, Ended)]
            assert live == []

    in_a_loop(scenario)


def test_what_is_remembered_after_trouble_is_the_latest() -> None:
    async def scenario() -> None:
        store = MemoryStore()
        async with supervised(store) as one:
            beat = a_spec("health", memory="64M", priority=Priority.LOW)
            await one.supervisor.ask(
                lambda now: HeartbeatDeclared(now, beat, every_s=1.0),
                heartbeat_recipes={"health": a_recipe("exit=0")},
            )
            store.trouble = StoreFull(Path("/somewhere/paddock.db"))
            for _ in range(3):
                one.look(a_host(used_percent=75.0))  # beats are skipped, and that is counted
                await asyncio.sleep(1.1)
            store.trouble = None
            await until(lambda: one.supervisor.trouble is None)
            await one.supervisor.settled()
            (kept,) = store.load().heartbeats
            assert kept == one.supervisor.fleet.heartbeats["health"]

    in_a_loop(scenario)
