"""What a scrape gathers: CPU time that only grows, workspaces weighed seldom, one page for many."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from paddock.config.places import Places
from paddock.core.run import Attempt
from paddock.daemon.observing import Observing
from paddock.daemon.weighing import Scales
from paddock.drivers.fake.driver import FakeDriver
from paddock.logs.output import OutputStore
from tests.kit.factories import a_spec
from tests.kit.supervising import in_a_loop, supervised, until


class Falling(FakeDriver):
    """Its attempts' CPU time falls, as a sum over processes does when one of them goes."""

    used_s = 5.0

    def cpu_s(self) -> Mapping[Attempt, float]:
        return dict.fromkeys(super().cpu_s(), self.used_s)

    def cpu_limits(self) -> Mapping[Attempt, float]:
        return dict.fromkeys(super().cpu_s(), 1.5)


def _value(page: bytes, name: str) -> str:
    [line] = [line for line in page.decode().splitlines() if line.startswith(f"{name}{{")]
    return line.rpartition(" ")[2]


def test_cpu_time_never_falls_within_an_attempt(tmp_path: Path) -> None:
    async def scenario() -> None:
        driver = Falling()
        async with supervised(driver=driver) as one:
            observing = Observing(
                one.supervisor, OutputStore(tmp_path / "output"), Places(tmp_path)
            )
            await one.submit(a_spec("a"), "sleep=60")
            await until(lambda: one.states()["a"] == "Running")
            for driver.used_s, told in ((5.0, "5.0"), (3.0, "5.0"), (6.0, "6.0")):
                page = await observing.page()
                assert _value(page, "paddock_agent_cpu_seconds_total") == told
            assert _value(page, "paddock_agent_cpu_limit_cores") == "1.5"
            observing.close()

    in_a_loop(scenario)


def test_scrapes_at_the_same_moment_share_a_page(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with supervised() as one:
            output = OutputStore(tmp_path / "output")
            observing = Observing(one.supervisor, output, Places(tmp_path))
            first, second = await asyncio.gather(observing.page(), observing.page())
            assert first is second
            assert await observing.page() is not first
            observing.close()

    in_a_loop(scenario)


def test_a_new_workspace_is_weighed_soon_and_a_known_one_seldom(tmp_path: Path) -> None:
    async def scenario() -> None:
        scales = Scales(every_s=3600.0)
        places = {name: tmp_path / name for name in ("one", "two")}
        for place in places.values():
            place.mkdir()
            (place / "file").write_bytes(b"x" * 100_000)
        scales.weigh_if_due({"one": places["one"]})
        await until(lambda: "one" in scales.weights)
        first = scales.weights["one"]
        assert 100_000 <= first < 1_000_000
        (places["one"] / "more").write_bytes(b"x" * 1_000_000)

        def both() -> bool:
            scales.weigh_if_due(places)
            return "two" in scales.weights

        await until(both, within_s=30.0)
        assert scales.weights["one"] == first
        scales.close()

    in_a_loop(scenario)


def test_who_has_given_its_workspace_back_is_forgotten(tmp_path: Path) -> None:
    async def scenario() -> None:
        scales = Scales(every_s=0.0)
        places = {name: tmp_path / name for name in ("one", "two")}
        for place in places.values():
            place.mkdir()
        scales.weigh_if_due(places)
        await until(lambda: len(scales.weights) == 2)

        def left() -> bool:
            scales.weigh_if_due({"two": places["two"]})
            return set(scales.weights) == {"two"}

        await until(left, within_s=30.0)
        scales.close()

    in_a_loop(scenario)


def test_a_weighing_that_failed_is_told_and_the_next_one_weighs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> None:
        scales = Scales()
        scales.weigh_if_due({"odd": Path("no\0name")})
        await until(lambda: bool(caplog.records))
        (tmp_path / "file").write_bytes(b"x" * 100_000)

        def weighed() -> bool:
            scales.weigh_if_due({"one": tmp_path})
            return "one" in scales.weights

        await until(weighed)
        scales.close()

    in_a_loop(scenario)
    [told] = caplog.records
    assert told.getMessage().startswith("workspaces are not weighed for the metrics: ")
