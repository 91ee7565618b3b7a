"""Followers are told, from whichever thread, and none of them is forgotten or kept for ever."""

from __future__ import annotations

import asyncio
import threading

from paddock.logs.bells import Bells


def test_a_follower_hears_what_came_before_it_listened_again() -> None:
    async def scenario() -> None:
        bells = Bells()
        with bells.listening("a") as bell, bells.listening("a") as other:
            bells.ring("b")
            assert not await bell.heard(0.01)
            bells.ring("a")
            bells.ring("a")
            assert await bell.heard(1.0)
            assert not await bell.heard(0.01)
            assert await other.heard(1.0)
            assert len(bells) == 2
        assert len(bells) == 0
        bells.ring("a")

    asyncio.run(scenario())


def test_it_may_be_rung_from_another_thread() -> None:
    async def scenario() -> None:
        bells = Bells()
        with bells.listening("a") as bell:
            threading.Thread(target=bells.ring, args=("a",)).start()
            assert await bell.heard(5.0)

    asyncio.run(scenario())
