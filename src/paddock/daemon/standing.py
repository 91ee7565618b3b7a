"""Where attempts stand, by the configuration: workspaces, scratch, ports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from paddock.config import settings as s
from paddock.config.places import Places
from paddock.drivers.attempts import instance_of
from paddock.host.prepared import SCRATCH, WORKSPACES
from paddock.supervisor.grounds import Grounds
from paddock.workspaces.port_blocks import PortBlocks
from paddock.workspaces.room import Room
from paddock.workspaces.scratch import Scratch

PREPARED: Final = "host"  # the profile of a host that was set up
SLOTS: Final = 4  # in advance, of each repository in use


def grounds_for(places: Places, settings: s.Settings) -> Grounds:
    """On a prepared host in the directories that were made for it, else in our own."""
    prepared = settings.profile.value == PREPARED
    room = Room(
        _place(places, "workspaces", WORKSPACES if prepared else None),
        most=settings[s.MAX_WORKTREES],
        idle_days=settings[s.WORKTREE_IDLE],
    )
    scratch = Scratch(_place(places, "scratch", SCRATCH if prepared else None))
    return Grounds(room, scratch, PortBlocks(), spare=SLOTS if prepared else 0)


def resize(grounds: Grounds, settings: s.Settings) -> None:
    """By a configuration that was read again. The directories stay where they are."""
    most, idle_days = settings[s.MAX_WORKTREES], settings[s.WORKTREE_IDLE]
    grounds.room.resize(most=most, idle_days=idle_days)


def _place(places: Places, name: str, made: str | None) -> Path:
    """Each daemon has its own part of it: two would take each other's for abandoned."""
    if made is not None and Path(made).is_dir() and os.access(made, os.W_OK | os.X_OK):
        return Path(made) / instance_of(places.state)
    return places.state / name
