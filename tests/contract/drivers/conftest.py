"""The drivers that the contract suite is run on, one bed each."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.drivers.fake.driver import FakeDriver
from tests.contract.drivers.bed import Bed, MakeBed
from tests.kit.keeping import agent
from tests.kit.stable import Stable


async def fake(directory: Path) -> Bed:
    output: dict[Attempt, bytes] = {}

    def write(attempt: Attempt, data: bytes) -> None:
        output[attempt] = output.get(attempt, b"") + data

    return Bed(
        driver=FakeDriver(write=write),
        speak=lambda *words: words,
        directory=directory,
        missing_command=("no-such-word",),
        output=lambda attempt: output.get(attempt, b""),
    )


async def local(directory: Path) -> Bed:
    stable = Stable(directory)
    return Bed(
        driver=stable.driver,
        speak=lambda *words: tuple(agent("scripted", *words)),
        directory=directory,
        missing_command=("no-such-command",),
        output=stable.written,
        is_awake=lambda attempt: (directory / f"awake.{attempt.run}.{attempt.number}").exists(),
        finish=stable.go_home,
        begun=stable.known,
    )


BEDS: dict[str, MakeBed] = {"fake": fake, "local": local}


@pytest.fixture(params=BEDS)
def make_bed(request: pytest.FixtureRequest) -> MakeBed:
    return BEDS[request.param]
