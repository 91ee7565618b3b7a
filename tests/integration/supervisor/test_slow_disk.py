"""A rescue on real processes while the disk does not answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, cast

from paddock.core.events import CancelRequested, Sampled
from paddock.core.run import Outcome, Priority, Running
from paddock.drivers.local.driver import LocalDriver
from paddock.ports import Step, Store
from paddock.storage.sqlite import SqliteStore, open_store
from paddock.supervisor.loop import Supervisor
from paddock.supervisor.recovery import inherit, recover
from tests.kit import leaks
from tests.kit.factories import a_host, a_policy, a_spec
from tests.kit.supervising import Supervised

FSYNC_S = 2.0


class SlowDisk:
    """The store of a disk whose fsync takes two seconds from now on."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.slow = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def remember_many(self, steps: Sequence[Step], **more: Any) -> None:
        if self.slow:
            time.sleep(FSYNC_S)
        self._store.remember_many(steps, **more)


@asynccontextmanager
async def on_a_slow_disk(directory: Path) -> AsyncIterator[tuple[Supervised, SlowDisk]]:
    """The real driver and the real store; ends what it started, whatever the test found."""
    disk = SlowDisk(open_store(directory / "paddock.db"))
    inherited = inherit(cast(Store, disk), a_policy())
    driver = LocalDriver(directory / "keeper", directory / "output", epoch=inherited.epoch)
    driver.connect()
    supervisor = Supervisor(
        inherited.fleet, cast(Store, disk), inherited.clock, {"local": driver}, "local"
    )
    writer = asyncio.create_task(supervisor.write())
    supervisor.begin(inherited.epoch)
    await recover(supervisor, inherited)
    one = Supervised(supervisor, driver)
    one.look()
    try:
        yield one, disk
    finally:
        disk.slow = False
        await _end(one)
        writer.cancel()
        with suppress(asyncio.CancelledError):
            await writer
        driver.leave(retire=True)
        await supervisor.close()


def test_an_fsync_of_two_seconds_does_not_hold_up_a_kill_under_pressure(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with on_a_slow_disk(tmp_path / "state") as (one, disk):
            await one.submit(a_spec("hog", priority=Priority.LOW), "sleep", "60")
            while not isinstance(one.run("hog").state, Running):
                await asyncio.sleep(0.01)
            await one.supervisor.settled()
            (pid,) = leaks.marked("PADDOCK_RUN=hog")
            disk.slow = True
            used = dict.fromkeys(one.driver.used_bytes(), 2 << 30)
            began = time.monotonic()
            pressed = a_host(used_percent=97.0, available="300M")
            one.supervisor.post(Sampled(0.0, pressed, used))
            while leaks.is_alive(pid):
                await asyncio.sleep(0.005)
            assert time.monotonic() - began < FSYNC_S / 2
            assert disk.slow and not one.supervisor.is_settled

    asyncio.run(scenario())


async def _end(one: Supervised) -> None:
    await one.supervisor.ask(lambda now: CancelRequested(now, "hog", force=True))
    (end,) = await one.ended("hog")
    assert end.outcome is Outcome.CANCELLED
    await one.supervisor.settled()
