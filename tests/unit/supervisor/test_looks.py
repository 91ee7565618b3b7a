"""Looks at what agents left: a few at once, and one that hangs holds up nobody."""

from __future__ import annotations

import asyncio
import threading

import pytest

from paddock.supervisor.looks import AT_ONCE, Looks


def test_looks_that_hang_do_not_keep_the_others_waiting() -> None:
    """Two workspaces on a disk that is gone, and the steps of all others waited for minutes."""
    hung = threading.Event()

    async def play() -> None:
        looks = Looks("test")
        looks.slow_s = 0.02
        try:
            stuck = [asyncio.create_task(looks.seen(hung.wait, patience_s=60)) for _ in range(5)]
            async with asyncio.timeout(10):
                assert await looks.seen(lambda: "seen", patience_s=5) == "seen"
            assert not any(task.done() for task in stuck)
            hung.set()
            assert await asyncio.gather(*stuck) == [True] * 5
        finally:
            hung.set()
            looks.close()

    asyncio.run(play())


def test_only_a_few_look_at_once_while_they_are_quick() -> None:
    looking, seen = set[int](), list[int]()

    def see() -> None:
        looking.add(threading.get_ident())
        seen.append(len(looking))
        threading.Event().wait(0.005)  # so that others could come in
        looking.discard(threading.get_ident())

    async def play() -> None:
        looks = Looks("test")
        await asyncio.gather(*(looks.seen(see, patience_s=60) for _ in range(12)))
        looks.close()

    asyncio.run(play())
    assert len(seen) == 12
    assert max(seen) <= AT_ONCE


def test_the_time_spent_in_line_does_not_count_as_patience() -> None:
    """Nobody has looked yet: to give up would say that there was nothing to see."""

    async def play() -> None:
        looks, pause = Looks("test"), threading.Event()
        looks.slow_s = 0.3
        slow = [lambda: pause.wait(0.2) for _ in range(AT_ONCE)]
        ahead = [asyncio.create_task(looks.seen(see, patience_s=5)) for see in slow]
        await asyncio.sleep(0)
        assert await looks.seen(lambda: 1, patience_s=0.1) == 1
        await asyncio.gather(*ahead)
        looks.close()

    asyncio.run(play())


def test_patience_ends_and_the_thread_is_left_to_itself() -> None:
    hung = threading.Event()

    async def play() -> None:
        looks = Looks("test")
        looks.slow_s = 0.01
        with pytest.raises(TimeoutError):
            await looks.seen(hung.wait, patience_s=0.03)
        hung.set()
        looks.close()

    asyncio.run(play())
