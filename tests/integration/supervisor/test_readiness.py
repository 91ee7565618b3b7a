"""Ready markers in a supervised fleet: soon, at the last moment, and of a later attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.core.events import CancelRequested, Event, Noticed
from paddock.core.policy import RetryPolicy
from paddock.core.run import Attempt, Ended, Outcome, Running
from paddock.ports import Launch
from paddock.supervisor.readiness import Readiness
from paddock.supervisor.wanted import MARKER_LABEL
from tests.kit.factories import a_policy, a_spec
from tests.kit.repositories import git
from tests.kit.stand import Noting, Stand, of
from tests.kit.supervising import in_a_loop, until


@pytest.mark.parametrize("by", ["commit", "file"])
def test_a_ready_marker_is_heard_of_within_two_seconds(
    stand: Stand, repository: Path, by: str
) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            ready = Readiness(one.supervisor, stand.room)
            heard: list[str] = []
            one.supervisor.on_change.append(lambda change: heard.append(change.because))
            labels = {**of(repository), MARKER_LABEL: "TESTS-GREEN"}
            await one.submit(a_spec("a"), "sleep=60", labels=labels)
            await until(lambda: "a" in ready._watched)  # noqa: SLF001
            path = stand.driver.launched["a"].directory
            if by == "commit":
                git(path, "commit", "--allow-empty", "-m", "all done: TESTS-GREEN")
            else:
                (path / "TESTS-GREEN").touch()
            await until(lambda: any(text.startswith("ready: ") for text in heard), within_s=2.0)
            one.supervisor.post(CancelRequested(0.0, "a", force=True))
            await one.ended("a")
            ready.close()

    in_a_loop(scenario)


def test_nothing_is_heard_of_a_marker_that_is_not_there(stand: Stand, repository: Path) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            ready = Readiness(one.supervisor, stand.room)
            told: list[Event] = []
            post = one.supervisor.post

            def noting(event: Event) -> None:
                told.append(event)
                post(event)

            one.supervisor.post = noting  # type: ignore[method-assign]
            labels = {**of(repository), MARKER_LABEL: "TESTS-GREEN"}
            await one.submit(a_spec("a"), "sleep=60", labels=labels)
            await until(lambda: "a" in ready._watched)  # noqa: SLF001
            git(stand.driver.launched["a"].directory, "commit", "--allow-empty", "-m", "not yet")
            await asyncio.sleep(0.5)
            one.supervisor.post(CancelRequested(0.0, "a", force=True))
            assert isinstance((await one.ended("a"))[0], Ended)
            await until(lambda: "a" not in ready._watched)  # noqa: SLF001
            assert not [event for event in told if isinstance(event, Noticed)]
            ready.close()

    in_a_loop(scenario)


class Hasty(Noting):
    """Does something in the moment in which it ends."""

    def __init__(self, last: Callable[[Launch], object]) -> None:
        super().__init__()
        self._last = last

    def start(self, launch: Launch, tell: Callable[[Event], None]) -> None:
        def telling(event: Event) -> None:
            if type(event).__name__ == "Exited":
                self._last(launch)
            tell(event)

        super().start(launch, telling)


@pytest.mark.parametrize("script", ["sleep=1", "exit=0"])
@pytest.mark.parametrize("by", ["commit", "file"])
def test_what_a_run_does_last_is_told_before_its_end(
    stand: Stand, repository: Path, by: str, script: str
) -> None:
    def last(launch: Launch) -> None:
        if by == "commit":
            git(launch.directory, "commit", "--allow-empty", "-m", "all done: TESTS-GREEN")
        else:
            (launch.directory / "TESTS-GREEN").touch()

    stand.driver = Hasty(last)

    async def scenario() -> None:
        async with stand.life() as one:
            ready = Readiness(one.supervisor, stand.room)
            heard: list[str] = []
            one.supervisor.on_change.append(lambda change: heard.append(change.because))
            labels = {**of(repository), MARKER_LABEL: "TESTS-GREEN"}
            await one.submit(a_spec("a"), script, labels=labels)
            [end] = await one.ended("a")
            assert end.outcome is Outcome.SUCCEEDED
            assert heard[-2].startswith("ready: ") and heard[-1] == "exit code 0"
            ready.close()

    in_a_loop(scenario)


def test_an_end_does_not_wait_for_a_look_that_takes_too_long(
    stand: Stand, repository: Path
) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            ready = Readiness(one.supervisor, stand.room)
            labels = {**of(repository), MARKER_LABEL: "TESTS-GREEN"}
            await one.submit(a_spec("a"), "sleep=60", labels=labels)
            await until(lambda: "a" in ready._watched)  # noqa: SLF001
            watched = ready._watched["a"]  # noqa: SLF001
            await until(lambda: watched.marker is not None and not watched.looking)
            watched.looking = True  # as by a disk that does not answer
            one.supervisor.post(CancelRequested(0.0, "a", force=True))
            [end] = await one.ended("a")
            assert end.outcome is Outcome.CANCELLED
            ready.close()

    in_a_loop(scenario)


def test_a_run_without_a_marker_is_not_looked_at(stand: Stand, repository: Path) -> None:
    async def scenario() -> None:
        async with stand.life() as one:
            ready = Readiness(one.supervisor, stand.room)
            taken: list[bool] = []

            def noting(event: Event) -> bool:
                taken.append(ready.takes(event))
                return taken[-1]

            one.supervisor.hands.last_look = noting
            await one.submit(a_spec("a"), "exit=0", labels=of(repository))
            await one.ended("a")
            assert taken and not any(taken)
            ready.close()

    in_a_loop(scenario)


def test_the_marker_of_a_later_attempt_is_watched_too(stand: Stand, repository: Path) -> None:
    policy = replace(a_policy(), retry=RetryPolicy(first_s=0.05))

    async def scenario() -> None:
        async with stand.life(policy) as one:
            ready = Readiness(one.supervisor, stand.room)
            heard: list[str] = []
            one.supervisor.on_change.append(lambda change: heard.append(change.because))
            labels = {**of(repository), MARKER_LABEL: "TESTS-GREEN"}
            await one.submit(a_spec("a", retries=1), "sleep=60", labels=labels)
            await until(lambda: isinstance(one.run("a").state, Running))
            stand.driver.terminate(Attempt("a", 1))
            second = Attempt("a", 2)
            await until(lambda: stand.driver.launched["a"].attempt == second, within_s=20)
            await until(lambda: one.run("a").attempt == second)
            path = stand.driver.launched["a"].directory
            git(path, "commit", "--allow-empty", "-m", "all done: TESTS-GREEN")
            await until(lambda: any(text.startswith("ready: ") for text in heard), within_s=2.0)
            one.supervisor.post(CancelRequested(0.0, "a", force=True))
            await one.ended("a")
            ready.close()

    in_a_loop(scenario)
