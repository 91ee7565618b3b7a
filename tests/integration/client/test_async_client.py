"""The asynchronous client over a real socket: the same answers, and calls may overlap."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from paddock.client import AsyncClient, NoDaemon, NotFound
from paddock.config.places import Places
from tests.kit.desk import a_desk, an_agent


def test_it_does_what_the_other_one_does(tmp_path: Path) -> None:
    with a_desk(tmp_path) as desk:

        async def use() -> None:
            async with AsyncClient(desk.places) as client:
                order = desk.order(an_agent("one", "print=hello", "sleep=0.1", "exit=3"))
                [run] = (await client.submit(order)).runs
                text = [piece async for piece in client.log(run.id, follow=True)]
                assert text == [b"hello\n"]  # and nothing empty before it
                [view] = await client.wait([run.id])
                assert view.exit_code == 3
                assert (await client.status()).driver == "fake"
                assert (await client.upload_stdin([b"a", b"bc"])).size == 3
                with pytest.raises(NotFound):
                    await client.run("nobody")
                seen = []
                async for event in client.events(after=0):
                    seen.append(event.state)
                    if event.state == "ended":
                        break
                assert seen == ["queued", "starting", "running", "ended"]

        asyncio.run(use())


def test_calls_overlap(tmp_path: Path) -> None:
    with a_desk(tmp_path) as desk:
        desk.submit(an_agent("long", "sleep=60"))

        async def use() -> float:
            async with AsyncClient(desk.places) as client:
                waiting = asyncio.ensure_future(client.wait(["long"], timeout_s=20))
                began = time.monotonic()
                await asyncio.gather(*(client.status() for _ in range(10)))
                took = time.monotonic() - began
                await client.kill(["long"])
                assert (await waiting)[0].outcome == "cancelled"
                return took

        assert asyncio.run(use()) < 10


def test_nobody_there_is_told(tmp_path: Path) -> None:
    async def use() -> None:
        async with AsyncClient(Places(tmp_path)) as client:
            await client.status()

    with pytest.raises(NoDaemon):
        asyncio.run(use())
