"""The past is written beside the loop: what cannot be kept is tried again, and nothing twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from paddock.config.places import Places
from paddock.daemon import recording
from paddock.daemon.observing import Observing
from paddock.daemon.recording import Recording, When
from paddock.logs.output import OutputStore
from paddock.ports import LedgerEntry
from paddock.storage.errors import StoreFailed
from paddock.storage.memory import MemoryStore
from paddock.storage.rollup import DAY_S, HOUR_S, MINUTE_S, fleet_span
from paddock.workspaces.room import Room
from tests.kit.factories import a_policy, a_spec
from tests.kit.supervising import Supervised, supervised, until


def starts_in(store: MemoryStore, step_s: int) -> int:
    found = store.rollups(step_s, since=(0, ""), until_at=9e18, limit=1000)
    return sum(fleet_span(one.data).starts for one in found if one.group is None)


def a_recording(one: Supervised, directory: Path) -> Recording:
    room = Room(directory / "workspaces")
    return Recording(one.supervisor, room, places=Places(directory / "state"), epoch=1)


def test_what_the_store_refused_goes_with_the_next_and_is_not_counted_twice(tmp_path: Path) -> None:
    async def play() -> MemoryStore:
        store = MemoryStore()
        async with supervised(store, a_policy()) as one:
            past = a_recording(one, tmp_path)
            for name in ("a", "b"):
                await one.submit(a_spec(name), "sleep=0.01")
            await one.ended("a", "b")
            store.trouble = StoreFailed(Path("memory"), "it is full")
            await past.flush(with_groups=True)
            assert starts_in(store, MINUTE_S) == 0
            store.trouble = None
            await past.flush()
            await past.flush(with_groups=True)
        return store

    store = asyncio.run(play())
    assert (starts_in(store, MINUTE_S), starts_in(store, HOUR_S)) == (2, 2)
    [life] = store.ledger(since_at=0.0)
    assert life.kind == recording.LIFE


class Faulty(MemoryStore):
    """Meets a bug of its own in so many batches, and whenever its ledger is read until then."""

    def __init__(self, faults: int) -> None:
        super().__init__()
        self.faults = faults

    def record(self, rollups, entries=(), *, now_at):  # type: ignore[no-untyped-def]
        if self.faults > 0:
            self.faults -= 1
            raise ZeroDivisionError
        super().record(rollups, entries, now_at=now_at)

    def ledger(self, *, since_at: float, limit: int = 10_000) -> tuple[LedgerEntry, ...]:
        if self.faults > 0:
            raise ZeroDivisionError
        return super().ledger(since_at=since_at, limit=limit)


@pytest.mark.parametrize(("faults", "kept"), [(1, 2), (2, 1), (3, 1)])
def test_a_bug_costs_a_batch_at_most_and_never_the_daemon(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, faults: int, kept: int
) -> None:
    async def play() -> MemoryStore:
        store = Faulty(faults)
        async with supervised(store, a_policy()) as one:
            past = a_recording(one, tmp_path)
            await one.submit(a_spec("a"), "sleep=0.01")
            await one.ended("a")
            for _ in range(faults):
                await past.flush()
            await one.submit(a_spec("b"), "sleep=0.01")
            await one.ended("b")
            for _ in range(2):
                await past.flush()
        return store

    store = asyncio.run(play())
    assert starts_in(store, HOUR_S) == kept
    assert [one.getMessage() for one in caplog.records] == ["the history waits: ZeroDivisionError"]


def test_a_ledger_that_cannot_be_read_is_no_reason_to_end(tmp_path: Path) -> None:
    async def play() -> None:
        store = Faulty(1)
        async with supervised(store, a_policy()) as one:
            past = a_recording(one, tmp_path)
            keeping = asyncio.ensure_future(past.keep())
            await until(lambda: store.faults == 0)
            await past.flush()
            assert not keeping.done()
            keeping.cancel()
        assert store.ledger(since_at=0.0)

    asyncio.run(play())


class Unreadable(Room):
    asked = 0

    def occupied(self) -> dict[Path, bool]:
        self.asked += 1
        raise KeyError("a bug")


def test_looking_and_weighing_go_on_whatever_they_meet(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    looked = 0

    def wall() -> float:
        nonlocal looked
        looked += 1
        if looked in range(10, 20):
            raise OverflowError("no such time")
        return 1.79e9

    async def play() -> None:
        async with supervised(MemoryStore(), a_policy()) as one:
            room, places = Unreadable(tmp_path / "workspaces"), Places(tmp_path / "state")
            when = When(wall, look_s=0.001, weigh_s=0.001)
            past = Recording(one.supervisor, room, places=places, epoch=1, when=when)
            keeping = asyncio.ensure_future(past.keep())
            await until(lambda: keeping.done() or (looked > 25 and room.asked > 3))
            assert not keeping.done()
            keeping.cancel()

    asyncio.run(play())
    told = sorted(one.getMessage() for one in caplog.records)
    assert told == [
        "the fleet is not looked at: no such time",
        "workspaces cannot be weighed: 'a bug'",
    ]


def test_no_news_can_fail_the_loop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def play() -> int:
        async with supervised(MemoryStore(), a_policy()) as one:
            supervisor = one.supervisor
            listening = len(supervisor.on_change)
            a_recording(one, tmp_path)
            observing = Observing(supervisor, OutputStore(tmp_path / "output"), Places(tmp_path))
            tells = supervisor.on_change[listening:]
            for tell in (*tells, *tells):
                tell(None)  # type: ignore[arg-type]  # which none of them can count
            observing.close()
        return len(tells)

    assert asyncio.run(play()) == 2
    assert len(caplog.records) == 2  # of the history, and of the metrics


def test_many_groups_go_in_small_batches(tmp_path: Path) -> None:
    sizes = []

    class Counting(MemoryStore):
        def record(self, rollups, entries=(), *, now_at):  # type: ignore[no-untyped-def]
            sizes.append(len(rollups))
            super().record(rollups, entries, now_at=now_at)

    async def play() -> MemoryStore:
        store = Counting()
        async with supervised(store, a_policy()) as one:
            past = a_recording(one, tmp_path)
            names = [f"r{n}" for n in range(150)]
            for name in names:
                await one.submit(a_spec(name, group=f"of {name}", memory="16M"), "sleep=0.01")
            await one.ended(*names, within_s=60.0)
            await past.finish(None)
        return store

    store = asyncio.run(play())
    assert max(sizes) <= recording.BATCH and sum(sizes) >= 300
    days = store.rollups(DAY_S, since=(0, ""), until_at=9e18, limit=1000)
    assert len({one.group for one in days}) == 150
    [life] = store.ledger(since_at=0.0)
    assert life.verdict == recording.STOPPED
