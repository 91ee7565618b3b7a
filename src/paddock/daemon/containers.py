"""The container driver, where an engine for it is installed."""

from __future__ import annotations

import logging
import os
import shutil
from typing import Final

from paddock.config import settings as s
from paddock.config.places import Places
from paddock.config.settings import Settings
from paddock.drivers.container.driver import ContainerDriver, DriverTrouble
from paddock.drivers.container.engine import Mount
from paddock.drivers.container.fleet_wall import FleetWall
from paddock.drivers.container.naming import boot_id
from paddock.drivers.container.probe import engine_named
from paddock.drivers.container.settings import ContainerSettings
from paddock.drivers.local.containment.choosing import read_home

# Named so that the first that is there is taken, as by `probe.choose`, which would ask each of them
# and keep every start of a daemon waiting.
PROGRAMS: Final = {"podman": "podman", "docker": "docker", "apple": "container"}

log = logging.getLogger("paddock.daemon")


def container_driver(places: Places, settings: Settings, *, epoch: int) -> ContainerDriver | None:
    """Not yet connected; None: nothing is installed that could run one."""
    name = settings[s.CONTAINER_ENGINE]
    if name == "auto":
        found = (engine for engine, program in PROGRAMS.items() if shutil.which(program))
        name = next(found, "")
    if not name:
        return None
    chosen = ContainerSettings(
        image=settings[s.CONTAINER_IMAGE] or "",
        network=settings[s.CONTAINER_NETWORK],
        mounts=tuple(Mount(*mount) for mount in settings[s.CONTAINER_MOUNTS]),
    )
    wall = _wall(places)
    return ContainerDriver(
        places.state,
        places.output,
        engine=engine_named(name, places.state, os.environ, walled=wall is not None),
        settings=chosen,
        epoch=epoch,
        wall=wall,
    )


def _wall(places: Places) -> FleetWall | None:
    """Within that of local agents, so that one wall holds both."""
    home = read_home(places.keeper)
    if home is not None and os.geteuid() == 0:
        return FleetWall(home.fleet)
    why = "there are no walls for local agents"
    if home is not None:
        why = "only an engine of root's can be told where to make cgroups"
    log.info("containers have no wall around them all, only each its own: %s", why)
    return None


def left_alone(places: Places) -> str | None:
    """Why a daemon may not go on without the driver: attempts of this boot that only it knows would
    be taken for lost, and killed by the next daemon that has it."""
    boxes = places.state / "containers" / boot_id()
    try:
        if not any(box.is_dir() for box in boxes.iterdir()):
            return None
    except OSError:
        return None
    return (
        f"containers of this paddock are there, and no engine for them: mend it, or remove {boxes}"
    )


def connected(driver: ContainerDriver) -> bool:
    """Runs of other drivers do not suffer for it."""
    try:
        driver.connect()
    except DriverTrouble as error:
        log.error("there are no containers: %s", error)
        return False
    return True
