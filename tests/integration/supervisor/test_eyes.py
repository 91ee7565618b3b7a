"""How often the eyes look: seldom with room, often near the end, at once when they are rung."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from paddock.core.events import Host
from paddock.core.pressure import Rung
from paddock.supervisor.eyes import IDLE_TICK_S, TICK_S, Eyes
from tests.kit.factories import a_host, a_spec
from tests.kit.supervising import Supervised, in_a_loop, supervised, until


class Probe:
    def __init__(self, host: Host | None = None, *, cost_s: float = 0.0) -> None:
        self.host = host or a_host()
        self.cost_s = cost_s
        self.looks = 0
        self.glances = 0
        self.glanced: Host | None = None

    def sample(self) -> Host:
        self.looks += 1
        over_at = time.thread_time() + self.cost_s
        while time.thread_time() < over_at:
            pass
        return self.host

    def glance(self, last: Host) -> Host | None:
        self.glances += 1
        return self.glanced or last


async def looks_within(one: Supervised, probe: Probe, seconds: float) -> int:
    eyes = Eyes(one.supervisor, probe)
    watching = asyncio.create_task(eyes.watch())
    await asyncio.sleep(seconds)  # it is the pace that is measured
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    return probe.looks


def test_with_room_it_looks_once_a_tick() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            await one.submit(a_spec("a"), "sleep=60")
            assert await looks_within(one, Probe(), TICK_S * 0.9) == 1

    in_a_loop(scenario)


def test_near_the_last_step_it_looks_many_times_a_second() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            await one.submit(a_spec("a"), "sleep=60")
            near = a_host(used_percent=93.0, available="900M")
            assert await looks_within(one, Probe(near), 1.0) >= 5

    in_a_loop(scenario)


def test_where_a_look_is_costly_a_glance_finds_the_last_step() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            await one.submit(a_spec("a"), "sleep=60")
            near = a_host(used_percent=90.0, available="1600M")
            probe = Probe(near, cost_s=0.05)  # for which it would rest a second
            watching = asyncio.create_task(Eyes(one.supervisor, probe).watch())
            await until(lambda: probe.glances >= 3, within_s=1.0)
            assert probe.looks == 1
            probe.glanced = a_host(used_percent=97.0)
            await until(lambda: one.supervisor.fleet.ladder.rung is Rung.EMERGENCY, within_s=0.5)
            assert probe.looks == 1
            watching.cancel()

    in_a_loop(scenario)


def test_with_room_or_cheap_looks_nobody_glances() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            await one.submit(a_spec("a"), "sleep=60")
            near = a_host(used_percent=90.0, available="1600M")
            for probe in (Probe(cost_s=0.05), Probe(near)):
                await looks_within(one, probe, 0.4)
                assert probe.glances == 0

    in_a_loop(scenario)


def test_rung_it_looks_at_once_and_no_more_than_it_can() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            await one.submit(a_spec("a"), "sleep=60")
            probe = Probe()
            eyes = Eyes(one.supervisor, probe)
            watching = asyncio.create_task(eyes.watch())
            await until(lambda: probe.looks == 1)
            for _ in range(100):
                eyes.ring()
            await until(lambda: probe.looks == 2, within_s=0.5)
            watching.cancel()

    in_a_loop(scenario)


def test_rung_while_it_is_told_to_end_it_ends() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            await one.submit(a_spec("a"), "sleep=60")
            for _ in range(20):
                probe = Probe()
                eyes = Eyes(one.supervisor, probe)
                watching = asyncio.create_task(eyes.watch())
                await until(lambda seen=probe: seen.looks == 1)  # type: ignore[misc]
                await asyncio.sleep(0.06)  # past the shortest rest, into the one that is rung
                eyes.ring()
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await asyncio.wait_for(watching, 5)
                assert watching.cancelled()

    in_a_loop(scenario)


def test_an_idle_fleet_is_looked_at_seldom_and_the_first_run_wakes_it() -> None:
    async def scenario() -> None:
        assert IDLE_TICK_S > 2 * TICK_S
        async with supervised() as one:
            probe = Probe()
            eyes = Eyes(one.supervisor, probe)
            watching = asyncio.create_task(eyes.watch())
            await until(lambda: probe.looks == 1)
            await one.submit(a_spec("a"), "sleep=60")
            await until(lambda: probe.looks == 2, within_s=2 * TICK_S)
            watching.cancel()

    in_a_loop(scenario)


def test_what_cannot_be_read_counts_as_pressure_and_is_not_invented() -> None:
    class Blind:
        def sample(self) -> Host:
            raise OSError("no /proc here")

        def glance(self, last: Host) -> Host | None:
            raise OSError(f"no /proc here, and {last} is the last")

    async def scenario() -> None:
        async with supervised() as one:
            Eyes(one.supervisor, Blind()).look()
            host = one.supervisor.fleet.host
            assert host is not None and host.used_percent is None and host.available_bytes is None

    in_a_loop(scenario)
