"""Docker's own ways: its daemon dies or ends, and a whole paddock with it."""

from __future__ import annotations

import functools
import signal
from pathlib import Path

import pytest

from paddock.core.events import Exited, Started
from paddock.drivers.local.containment.choosing import read_home
from tests.integration.container import docker_room, engine_room
from tests.integration.container.docker_room import dockerd
from tests.integration.container.pasture import DOCKER, Pasture
from tests.kit.grounds import scenarios_on
from tests.kit.house import a_house
from tests.kit.waiting import until

with_docker = scenarios_on(functools.partial(Pasture, room=DOCKER), lacking=DOCKER.lacking)
CONFIG = f"""\
sandbox:
  container_engine: docker
  container_image: {engine_room.IMAGE}
  container_network: host
"""


@with_docker
async def test_agents_do_not_notice_that_dockers_daemon_was_killed(pasture: Pasture) -> None:
    script = "until [ -e go ]; do sleep 0.01; done; echo still here; exit 5"
    attempt = pasture.start("/bin/sh", "-c", script)
    await pasture.hear(Started, attempt)
    dockerd().end(signal.SIGKILL)
    try:
        (pasture.directory / "go").touch()
        assert (await pasture.hear(Exited, attempt)).exit.code == 5
        assert pasture.written(attempt) == b"still here\n"
    finally:
        assert dockerd().start() is None


@with_docker
async def test_a_docker_that_is_stopped_takes_its_containers_along_and_that_is_told(
    pasture: Pasture,
) -> None:
    attempt = pasture.start("/bin/sh", "-c", "echo up; sleep 60")
    await pasture.until(lambda: pasture.written(attempt) == b"up\n")
    dockerd().end()
    assert dockerd().start() is None
    ended = await pasture.hear(Exited, attempt)
    assert (ended.exit.signal, ended.exit.oom) == (signal.SIGKILL, False)


def test_a_run_in_a_container_of_docker_has_its_code_and_is_within_the_fleets_wall(
    tmp_path: Path,
) -> None:
    lacking = docker_room.lacking()
    if lacking is not None:
        pytest.skip(lacking)
    with a_house(tmp_path, config=CONFIG) as house:
        house.env |= docker_room.environment()
        options = ("--driver", "container", "--memory", "64M", "--")
        done = house.paddock("run", *options, "sh", "-c", "echo inside; exit 3")
        assert (done.returncode, done.stdout) == (3, "inside\n"), done.stderr
        assert house.paddock("submit", *options, "sleep", "60").returncode == 0
        home = read_home(house.places.keeper)
        assert home is not None and home.fleet.walls().limit_bytes
        fleet = home.fleet.child("containers")
        until(lambda: any(fleet.child(name).pids() for name in fleet.children()), within_s=30)
        assert house.paddock("kill", "--all", "--force").returncode == 0
        until(lambda: not fleet.exists(), within_s=30)
