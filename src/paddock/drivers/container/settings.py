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
    cgroup_parent: str = ""  # the fleet's wall; "": where the engine puts them
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


def mount_in(text: str) -> Mount:
    """`SOURCE[:TARGET][:ro]`, as people know it from docker; without TARGET the same path."""
    parts = text.split(":")
    read_only = len(parts) > 1 and parts[-1] in ("ro", "rw") and parts.pop() == "ro"
    source, target = parts[0], parts[-1]
    if len(parts) > 2 or not source.startswith("/") or not target.startswith("/"):
        raise ValueError(f"mount {text!r} is not /SOURCE[:/TARGET][:ro]")
    return Mount(source, target, read_only)
