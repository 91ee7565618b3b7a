"""The drivers that the contract suite is run on, one bed each."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.drivers.fake.driver import FakeDriver
from tests.contract.drivers.bed import Bed, MakeBed


async def fake(directory: Path) -> Bed:
    output: dict[Attempt, bytes] = {}

    def write(attempt: Attempt, data: bytes) -> None:
        output[attempt] = output.get(attempt, b"") + data

    return Bed(
        driver=FakeDriver(write=write),
        speak=lambda *words: words,
        directory=directory,
        missing_command=("no-such-word",),
        output=output,
    )


BEDS: dict[str, MakeBed] = {"fake": fake}


@pytest.fixture(params=BEDS)
def make_bed(request: pytest.FixtureRequest) -> MakeBed:
    return BEDS[request.param]
