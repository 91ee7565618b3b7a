"""What protects goes to the store at once; what was merely learned goes within a second."""

from __future__ import annotations

import asyncio

from paddock.core.breaker import Closed
from paddock.core.fleet import Fleet
from paddock.supervisor.lessons import LEARNED_S, Lessons
from tests.kit.factories import a_policy


def a_fleet() -> Fleet:
    fleet = Fleet(a_policy())
    fleet.group("coder")
    fleet.relearn("coder")
    return fleet


def test_the_first_lesson_goes_at_once_and_the_next_waits() -> None:
    async def play() -> None:
        fleet = a_fleet()
        lessons = Lessons(fleet, lambda: None)
        assert lessons.take() == {"coder"}
        fleet.relearn("coder")
        assert lessons.take() == set()
        assert fleet.changed_groups == {"coder"}
        lessons.close()

    asyncio.run(play())


def test_a_failure_that_the_breaker_counts_does_not_wait() -> None:
    async def play() -> None:
        fleet = a_fleet()
        lessons = Lessons(fleet, lambda: None)
        lessons.take()
        fleet.set_breaker("coder", Closed(failed_at=(1.0,)))
        assert lessons.take() == {"coder"}
        assert not fleet.changed_groups

    asyncio.run(play())


def test_the_room_that_an_oom_asked_for_does_not_wait() -> None:
    async def play() -> None:
        fleet = a_fleet()
        lessons = Lessons(fleet, lambda: None)
        lessons.take()
        fleet.groups["coder"].size.extra_bytes += 100e6
        fleet.relearn("coder")
        assert lessons.take() == {"coder"}

    asyncio.run(play())


def test_what_waits_is_called_for() -> None:
    async def play() -> None:
        fleet = a_fleet()
        called = asyncio.Event()
        lessons = Lessons(fleet, called.set)
        lessons.take()
        fleet.relearn("coder")
        lessons.take()
        await asyncio.wait_for(called.wait(), LEARNED_S + 5)
        assert lessons.take() == {"coder"}

    asyncio.run(play())


def test_whoever_cannot_wait_calls_for_it() -> None:
    async def play() -> None:
        fleet = a_fleet()
        calls: list[str] = []
        lessons = Lessons(fleet, lambda: calls.append("now"))
        lessons.take()
        fleet.relearn("coder")
        assert lessons.take() == set()
        lessons.hurry()
        assert calls == ["now"]
        assert lessons.take() == {"coder"}
        lessons.hurry()
        assert calls == ["now"]  # there is nothing left

    asyncio.run(play())


def test_what_could_not_be_kept_goes_with_the_next() -> None:
    async def play() -> None:
        fleet = a_fleet()
        lessons = Lessons(fleet, lambda: None)
        taken = lessons.take()
        lessons.untold(taken)
        assert lessons.take() == {"coder"}

    asyncio.run(play())
