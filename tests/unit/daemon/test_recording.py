"""The past is written beside the loop: what cannot be kept is tried again, and nothing twice."""

from __future__ import annotations

import asyncio
from pathlib import Path

from paddock.config.places import Places
from paddock.daemon import recording
from paddock.daemon.recording import Recording
from paddock.storage.errors import StoreFailed
from paddock.storage.memory import MemoryStore
from paddock.storage.rollup import DAY_S, HOUR_S, MINUTE_S, fleet_span
from paddock.workspaces.room import Room
from tests.kit.factories import a_policy, a_spec
from tests.kit.supervising import Supervised, supervised


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
