"""A daemon that only starts one agent and listens: STATE DIRECTORY COMMAND...

Made to be killed. With DOCKER_HOST set it uses docker.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from paddock.core.events import Event, Started
from paddock.core.run import Attempt
from paddock.core.units import MIB
from paddock.drivers.container.docker import DockerEngine, socket_of
from paddock.drivers.container.driver import ContainerDriver
from paddock.drivers.container.fleet_wall import FleetWall
from paddock.drivers.container.settings import ContainerSettings
from paddock.drivers.local.containment.choosing import read_home
from paddock.ports import Launch
from tests.integration.container import engine_room


async def live(state: Path, directory: Path, command: tuple[str, ...]) -> None:
    settings = ContainerSettings(
        image=engine_room.IMAGE,
        network="none",
        mounts=engine_room.mounts(),
    )
    home = read_home(state / "keeper")
    assert home is not None
    with_docker = "DOCKER_HOST" in os.environ
    driver = ContainerDriver(
        *(state, state / "output"),
        engine=DockerEngine(socket_of(os.environ)) if with_docker else engine_room.engine(state),
        settings=settings,
        wall=FleetWall(home.fleet),
    )
    driver.connect()

    def hear(event: Event) -> None:
        if isinstance(event, Started):
            (directory / "heard-of-the-start").touch()

    driver.adopt(hear)
    launch = Launch(
        attempt=Attempt("a", 1),
        command=command,
        environment={"PATH": "/bin"},
        directory=directory,
        limit_bytes=256 * MIB,
    )
    driver.start(launch, hear)
    await asyncio.Event().wait()


if __name__ == "__main__":
    state, directory, *command = sys.argv[1:]
    asyncio.run(live(Path(state), Path(directory), tuple(command)))
