"""Which walls there are on this host: the strongest that can be had, and why that one (ISO-1)."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Final

from paddock.cgroups.home import Home, NoHome, find_home, move_in
from paddock.cgroups.mounts import UNIFIED
from paddock.cgroups.protection import kept_bytes, protect
from paddock.cgroups.v1 import Group1
from paddock.cgroups.v2 import Group2
from paddock.drivers.attempts import note_in
from paddock.drivers.local.containment import Containment
from paddock.drivers.local.containment.cgroup import CgroupContainment
from paddock.drivers.local.containment.none import NoContainment
from paddock.drivers.local.naming import keep

Wanted = str  # one of `auto`, `cgroup`, `none`
RECORD: Final = "home"

log = logging.getLogger("paddock.walls")


class NoWalls(Exception):
    """Walls were asked for and cannot be had; says why and what to do."""


def choose(
    keeper: Path, instance: str, *, wall_bytes: int, wanted: Wanted = "auto"
) -> tuple[Containment, str]:
    """With a sentence for people. The caller has moved into the home's `supervisor` then."""
    if wanted == "none":
        return NoContainment(), "no walls, as the configuration says"
    try:
        home = _move_in(keeper, instance)
        walls = CgroupContainment(home)
        walls.set_wall(wall_bytes)
    except (NoHome, OSError) as error:
        if wanted == "cgroup":
            raise NoWalls(f"there are no walls to be had: {error}; try: paddock doctor") from None
        return NoContainment(), f"no walls: {error}; `paddock doctor` says what would help"
    _protect(home, kept_bytes(wall_bytes))
    return walls, f"cgroup v{home.version} at {home.group.path} ({home.because})"


def _protect(home: Home, size_bytes: int) -> None:
    """No wall: without it agents are held as well, only we are slower on a host without memory."""
    try:
        protect(home, size_bytes)
    except OSError as error:
        log.warning("daemon and keeper have no memory of their own: %s", error)


def _move_in(keeper: Path, instance: str) -> Home:
    """Where agents of an earlier daemon may still live, if that can be used."""
    before = read_home(keeper)
    if before is not None:
        try:
            move_in(before)
        except OSError as error:
            log.warning("%s cannot be used any more: %s", before.group.path, error)
        else:
            return before
    home = find_home(instance)
    move_in(home)
    write_home(keeper, home)
    return home


def read_home(keeper: Path) -> Home | None:
    try:
        found = json.loads(note_in(keeper / RECORD))
        directories = {str(name): str(path) for name, path in found["directories"].items()}
        group = Group2(directories[UNIFIED]) if found["version"] == 2 else Group1(directories)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return Home(group, found["version"], "as before") if group.exists() else None


def write_home(keeper: Path, home: Home) -> None:
    group = home.group
    directories = dict(group.directories) if isinstance(group, Group1) else {UNIFIED: group.path}
    record = json.dumps({"version": home.version, "directories": directories})
    keeper.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = keeper / f".{RECORD}.{os.getpid()}"
    keep(str(fresh), f"{record}\n")
    fresh.replace(keeper / RECORD)
