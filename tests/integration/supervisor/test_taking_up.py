"""A driver that was silent when the daemon began, and answers while others submit."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import cast

from paddock.core.events import Event
from paddock.core.run import Attempt, Outcome
from paddock.drivers.fake.driver import FakeDriver
from paddock.ports import Driver, Guarantees
from paddock.supervisor.recovery import take_up
from tests.kit.factories import a_spec
from tests.kit.supervising import Supervised, in_a_loop, supervised

NAME = "cluster"


class AwayDriver(FakeDriver):
    """On other machines; what it was asked to start it has."""

    @property
    def guarantees(self) -> Guarantees:
        return dataclasses.replace(super().guarantees, away=True)

    def adopt(self, tell: Callable[[Event], None]) -> frozenset[Attempt]:  # noqa: ARG002
        return frozenset(self._known)


def appears(one: Supervised) -> None:
    cast(dict[str, Driver], one.supervisor.drivers)[NAME] = AwayDriver()


def test_one_that_is_let_in_while_the_store_is_asked_is_started_once_it_is_remembered() -> None:
    async def scenario() -> None:
        async with supervised() as one:
            appears(one)
            taking = asyncio.create_task(take_up(one.supervisor, NAME))
            await asyncio.sleep(0)  # it asks the store, and what is thought now comes after that
            await one.submit(a_spec("late", away=True), "exit=0", labels={"driver": NAME})
            await taking
            (state,) = await one.ended("late")
            assert state.outcome is Outcome.SUCCEEDED, state

    in_a_loop(scenario)
