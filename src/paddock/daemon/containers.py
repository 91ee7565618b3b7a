"""The container driver, where an engine for it is installed."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Final

from paddock.config import settings as s
from paddock.config.places import Places
from paddock.config.settings import Settings
from paddock.drivers.attempts import note_in
from paddock.drivers.container.driver import ContainerDriver, DriverTrouble
from paddock.drivers.container.engine import Mount
from paddock.drivers.container.fleet_wall import FleetWall
from paddock.drivers.container.naming import boot_id, used_file
from paddock.drivers.container.probe import engine_named
from paddock.drivers.container.settings import ContainerSettings
from paddock.drivers.local.containment.choosing import read_home

# Named so that the first that is there is taken, as by `probe.choose`, which would ask each of them
# and keep every start of a daemon waiting.
PROGRAMS: Final = {"podman": "podman", "docker": "docker", "apple": "container"}

log = logging.getLogger("paddock.daemon")


def container_driver(places: Places, settings: Settings, *, epoch: int) -> ContainerDriver | None:
    """Not yet connected; None: there is no engine that could run one, or that has what runs."""
    name = _engine(places, settings[s.CONTAINER_ENGINE])
    if name is None:
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


def _engine(places: Places, wanted: str) -> str | None:
    """While containers are there it is theirs: another would take them for removed, and let them
    run on for ever."""
    theirs = _whose(places)
    if wanted != "auto":
        return wanted if theirs in (None, wanted) else None
    names = PROGRAMS if theirs is None else (theirs,)
    return next((name for name in names if shutil.which(PROGRAMS[name])), None)


def left_alone(places: Places) -> str | None:
    """Why a daemon may not go on without the driver: attempts of this boot that only it knows would
    be taken for lost, and killed by the next daemon that has it."""
    boxes = _boxes(places)
    if not _has_any(boxes):
        return None
    engine = _whose(places) or "their engine"
    return (
        f"agents run in containers, and {engine} is not there, or sandbox.container_engine names "
        f"another: mend that; to give them up, remove {boxes}"
    )


def _whose(places: Places) -> str | None:
    """The engine of the containers of this boot; None: there are none, or it was not noted."""
    try:
        kind = note_in(used_file(places.state)).decode("ascii")
    except (OSError, ValueError):
        return None
    return kind if kind in PROGRAMS and _has_any(_boxes(places)) else None


def _boxes(places: Places) -> Path:
    return places.state / "containers" / boot_id()


def _has_any(boxes: Path) -> bool:
    try:
        return any(box.is_dir() for box in boxes.iterdir())
    except OSError:
        return False


def why_not(driver: ContainerDriver | None) -> str | None:
    """Connected; or why it cannot be used, as the end of a sentence. Runs of other drivers do not
    suffer for it."""
    if driver is None:
        return "needs podman or docker, and neither is installed"
    try:
        driver.connect()
    except DriverTrouble as error:
        log.error("there are no containers: %s", error)
        return f"cannot be used: {error}"
    return None
