"""The drivers that the contract suite is run on, one bed each."""

from __future__ import annotations

from pathlib import Path

import pytest

from paddock.core.run import Attempt
from paddock.core.units import GIB
from paddock.drivers.fake.driver import FakeDriver
from tests.contract.drivers.bed import WITHIN_S, Bed, MakeBed
from tests.contract.drivers.kubernetes_bed import kubernetes
from tests.integration.container.pasture import DOCKER, ROOMS, Pasture, Room
from tests.kit.grounds import Grounds
from tests.kit.keeping import agent
from tests.kit.stable import Stable
from tests.kit.walls import WalledStable


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


def bed_on(grounds: Grounds, *, patience_s: float = WITHIN_S) -> Bed:
    directory = grounds.directory
    return Bed(
        driver=grounds.driver,
        speak=lambda *words: tuple(agent("scripted", *words)),
        directory=directory,
        missing_command=("no-such-command",),
        output=grounds.written,
        is_awake=lambda attempt: (directory / f"awake.{attempt.run}.{attempt.number}").exists(),
        finish=grounds.go_home,
        begun=grounds.known,
        patience_s=patience_s,
    )


async def local(directory: Path) -> Bed:
    return bed_on(Stable(directory))


async def walls(directory: Path) -> Bed:
    return bed_on(WalledStable(directory, wall_bytes=16 * GIB))


def containers(room: Room) -> MakeBed:
    async def bed(directory: Path) -> Bed:
        found = bed_on(Pasture(directory, room=room), patience_s=60.0)  # fifty take two cores 10 s
        found.many = 20 if room is DOCKER else found.many  # which takes twice as long for each
        return found

    return bed


BEDS: dict[str, MakeBed] = {
    "fake": fake,
    "local": local,
    "walls": walls,
    "kubernetes": kubernetes,
}
BEDS |= {name: containers(room) for name, room in ROOMS.items()}


@pytest.fixture(params=BEDS)
def make_bed(request: pytest.FixtureRequest) -> MakeBed:
    room = ROOMS.get(request.param)
    if room is not None and (reason := room.lacking()) is not None:
        pytest.skip(reason)
    return BEDS[request.param]
