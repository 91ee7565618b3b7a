"""What can be asked of a cgroup, whatever the version; `v1` and `v2` are the two kinds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Protocol, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Walls:
    """None: no wall of that kind. Swap is never allowed where memory is walled (ISO-2)."""

    limit_bytes: int | None = None
    high_bytes: int | None = None  # v2 only: v1 has nothing like it
    pids: int | None = None
    cpus: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """What the kernel counted since the cgroup was made. None: it does not count that here."""

    oom: int = 0  # times its own wall was reached and nothing could be reclaimed
    oom_kills: int = 0  # processes of it, and below it, that were killed, at whichever wall
    peak_bytes: int | None = None  # page cache included
    cache_bytes: int = 0  # of it now
    throttled: int | None = None  # times `memory.high` was passed
    refused_forks: int = 0


class Group(Protocol):
    """Nothing here waits for a process; what is not there raises FileNotFoundError."""

    @property
    def path(self) -> str:
        """For people, and to tell groups apart: where its memory is counted."""

    @property
    def procs(self) -> tuple[str, ...]:
        """The files that a process writes `0` to in order to join."""

    def child(self, name: str) -> Self: ...

    def exists(self) -> bool: ...

    def make(self) -> None:
        """FileExistsError: it is there already, and may hold anything."""

    def ensure(self) -> None:
        """Made, unless it is there."""

    def hand_down(self) -> None:
        """Let groups below it have walls of their own. No process may be in it (v2)."""

    def set(self, walls: Walls) -> None:
        """NotSet (an OSError): one of them could not be set, or reads back otherwise."""

    def walls(self) -> Walls:
        """As they are."""

    def missing(self) -> tuple[str, ...]:
        """The kinds of walls that cannot be had here: some of `pids`, `cpu`, `freeze`, `swap`."""

    def used_bytes(self) -> int:
        """What could not be reclaimed: no page cache."""

    def cpu_s(self) -> float | None:
        """CPU time since it was made, by all that were ever in it; None: not counted here."""

    def counters(self) -> Counters: ...

    def peak_bytes(self) -> int | None:
        """Page cache included."""

    def refused_forks(self) -> int: ...

    def kills(self) -> int:
        """Of `oom_kills` those of processes right in it, not below."""

    def pids(self) -> list[int]:
        """Of it and of everything below."""

    def partly(self, turn: int) -> frozenset[int]:
        """Those that are behind some of its walls and not behind all: v1 has a tree for each. One
        tree a turn is held against that of its memory."""

    def children(self) -> list[str]: ...

    def kill(self) -> None:
        """SIGKILL to every process of it and below; who forks meanwhile dies, too."""

    def freeze(self) -> bool: ...

    def thaw(self) -> bool: ...

    def join(self, pid: int) -> None: ...

    def remove(self) -> bool:
        """It and everything below; False while some process is still leaving."""


def remove_tree(path: str) -> bool:
    """rmdir from the leaves up; most have none."""
    try:
        os.rmdir(path)  # noqa: PTH106
    except FileNotFoundError:
        return True
    except OSError:
        pass
    else:
        return True
    try:
        names = [entry.name for entry in os.scandir(path) if entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return True
    gone = [remove_tree(f"{path}/{name}") for name in names]  # all of them, whatever one says
    if not all(gone):
        return False
    try:
        os.rmdir(path)  # noqa: PTH106
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
