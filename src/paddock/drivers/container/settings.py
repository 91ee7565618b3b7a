"""How containers are made: every choice of the user, with its reason."""

from __future__ import annotations

import os
from dataclasses import dataclass

from paddock.drivers.container.engine import Mount


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSettings:
    """`image` is for runs that do not name one themselves."""

    image: str = ""
    # As for local agents: models and package mirrors are reached without further set-up, and no
    # bridge or address translation has to be there.
    network: str = "host"
    mounts: tuple[Mount, ...] = ()  # besides the workspace
    pids: int = 512
    cpus: float = 0.0  # 0: as many as there are
    scratch_bytes: int | None = None  # of /tmp, which counts as memory; None: half of the limit
    user: str = ""  # UID:GID; "": the daemon's own, so that files in the workspace stay theirs
    starts_at_once: int = max(2, os.cpu_count() or 1)

    @property
    def owner(self) -> tuple[int, int]:
        """ValueError: it is not two numbers; names mean something else in every image."""
        if not self.user:
            return os.geteuid(), os.getegid()
        uid, _, gid = self.user.partition(":")
        if not (uid.isdecimal() and gid.isdecimal()):
            raise ValueError(f"user {self.user!r} is not UID:GID, two numbers")
        return int(uid), int(gid)
