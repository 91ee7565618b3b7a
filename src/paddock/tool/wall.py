"""The wall around one command: a cgroup beside its agent's own, removed by whoever made it.

Reads the same files as the room `cgroups`, without it: a shim does this before every command of an
agent, and importing that room (dataclasses, typing) takes 30 ms where all of this takes 2.
"""

# ruff: noqa: PTH102, PTH106, PTH110
from __future__ import annotations

import fcntl
import os

from paddock.cgroups.files import lines_of, number, pids_in, put, read_or_empty, table

from .errors import NoWall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from paddock.cgroups.group import Group

OURS, FLEET, TOOL = "paddock", "fleet", "tool-"
UNIFIED = "unified"
WANTED_V1 = ("memory", "pids", "cpu", "freezer")
NAMES_TRIED = 20
LEAST_BYTES = 16 << 20  # below that not even a shell starts


class Seat:
    """An attempt's cgroup, `…/paddock-X/fleet/RUN.N`, which carries the agent's walls."""

    __slots__ = ("directories", "is_inside_a_wall", "version")

    def __init__(self, directories: dict[str, str], *, version: int, leaf: str) -> None:
        self.directories = directories
        self.version = version
        self.is_inside_a_wall = leaf.startswith(TOOL)

    @property
    def path(self) -> str:
        return self.directories[UNIFIED if self.version == 2 else "memory"]

    def room_bytes(self) -> int | None:
        """What can be shared out. Above `memory.high` the kernel holds agent and command back until
        they stand still (48 MiB, no swap: 15 s and more), so a wall there would never be met."""
        limit = self.limit_bytes()
        high = number(read_or_empty(f"{self.path}/memory.high"))  # v2 only
        return limit if high is None or (limit is not None and limit < high) else high

    def limit_bytes(self) -> int | None:
        """The agent's wall, or the nearest around it."""
        path = self.path
        file = "memory.max" if self.version == 2 else "memory.limit_in_bytes"
        while os.path.exists(f"{path}/cgroup.procs"):
            found = number(read_or_empty(f"{path}/{file}"))
            if found is not None and found < 1 << 60:  # v1 has no `max`, only a huge number
                return found
            path = path.rpartition("/")[0]
        return None


# -- where we are -------------------------------------------------------------------------------


def find_seat(proc: str = "/proc") -> Seat:
    """NoWall: this is no agent with walls."""
    own = _own_cgroups(proc)
    mounts = _mounts(proc)
    for version, controllers in ((1, WANTED_V1), (2, (UNIFIED,))):
        found = {}
        leaf = ""
        for name in controllers:
            attempt, below = attempt_in(own.get(name, ""))
            directory = _directory(mounts, name, attempt) if attempt else None
            if directory is not None:
                found[name], leaf = directory, below
        has_memory = "memory" in found or (
            UNIFIED in found and "memory" in read_or_empty(f"{found[UNIFIED]}/cgroup.controllers")
        )
        if has_memory:
            return Seat(found, version=version, leaf=leaf)
    raise NoWall("this is not inside an agent that has walls", expected=True)


def attempt_in(path: str) -> tuple[str, str]:
    """`…/fleet/RUN.N` of the innermost paddock, and what follows it; empty if there is none."""
    parts = path.split("/")
    for at in range(len(parts) - 2, 0, -1):
        if parts[at] == FLEET and parts[at - 1].startswith(OURS):
            return "/".join(parts[: at + 2]), "/".join(parts[at + 2 :])
    return "", ""


def _own_cgroups(proc: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines_of(f"{proc}/self/cgroup"):
        parts = line.split(":", 2)
        if len(parts) == 3:
            found |= dict.fromkeys(parts[1].split(",") if parts[1] else (UNIFIED,), parts[2])
    return found


def _mounts(proc: str) -> list[tuple[list[str], str, str]]:
    """Controllers, which part of the hierarchy is mounted, and where."""
    found = []
    for line in lines_of(f"{proc}/self/mountinfo"):
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if len(fields) >= 5 and len(kind) >= 3 and kind[0] in ("cgroup", "cgroup2"):
            controllers = [UNIFIED] if kind[0] == "cgroup2" else kind[2].split(",")
            found.append((controllers, fields[3], fields[4].replace("\\040", " ")))
    return found


def _directory(mounts: list[tuple[list[str], str, str]], name: str, path: str) -> str | None:
    for controllers, root, point in mounts:
        if name in controllers and root == "/":
            return point + path
        if name in controllers and path.startswith(f"{root}/"):
            return point + path[len(root) :]
    return None


# -- the wall -----------------------------------------------------------------------------------


class Wall:
    """`…/fleet/RUN.N/tool-PID`. A lock on its directory says that somebody waits for its command:
    the kernel drops it with the waiter, whatever ended that, and `sweep` finds what was left."""

    __slots__ = ("_lock", "directories", "limit_bytes", "version")

    def __init__(self, seat: Seat, name: str, limit_bytes: int) -> None:
        self.directories = {one: f"{path}/{name}" for one, path in seat.directories.items()}
        self.version = seat.version
        self.limit_bytes = limit_bytes
        self._lock = -1

    @property
    def path(self) -> str:
        return self.directories[UNIFIED if self.version == 2 else "memory"]

    @property
    def procs(self) -> list[str]:
        # cpu and cpuacct are often one directory with two names.
        return [f"{path}/cgroup.procs" for path in dict.fromkeys(self.directories.values())]

    def make(self) -> None:
        """FileExistsError: the name is taken. OSError: there can be no wall; nothing is left."""
        made = []
        try:
            for path in dict.fromkeys(self.directories.values()):
                os.mkdir(path)
                made.append(path)
            self._lock = _locked(self.path)
            self._set()
        except OSError:
            for path in made:
                _remove(path)
            self.let_go()
            raise

    def _set(self) -> None:
        if self.version == 2:
            put(f"{self.path}/memory.max", self.limit_bytes)
            if os.path.exists(f"{self.path}/memory.swap.max"):
                put(f"{self.path}/memory.swap.max", 0)
            put(f"{self.path}/memory.oom.group", 1)  # a command dies as a whole
            return
        put(f"{self.path}/memory.limit_in_bytes", self.limit_bytes)
        if os.path.exists(f"{self.path}/memory.memsw.limit_in_bytes"):
            put(f"{self.path}/memory.memsw.limit_in_bytes", self.limit_bytes)
        else:
            put(f"{self.path}/memory.swappiness", 0)

    def used_bytes(self) -> int:
        file = "memory.current" if self.version == 2 else "memory.usage_in_bytes"
        return number(read_or_empty(f"{self.path}/{file}")) or 0

    def oom_kills(self) -> int:
        file = "memory.events" if self.version == 2 else "memory.oom_control"
        return table(read_or_empty(f"{self.path}/{file}")).get("oom_kill", 0)

    def peak_bytes(self) -> int | None:
        """Page cache included. None: before 5.19 v2 does not count it."""
        file = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        return number(read_or_empty(f"{self.path}/{file}"))

    def pids(self) -> list[int]:
        return pids_in(f"{self.path}/cgroup.procs")

    def group(self) -> Group:
        """For what is rare, with the room `cgroups`: killing, and what was counted."""
        from paddock.cgroups.v1 import Group1
        from paddock.cgroups.v2 import Group2

        return Group2(self.path) if self.version == 2 else Group1(self.directories)

    def remove(self) -> bool:
        """True at once if nothing was left in it; its memory last, which says that it is there."""
        others = [path for path in self.directories.values() if path != self.path]
        gone = [_remove(path) for path in (*dict.fromkeys(others), self.path)]
        if all(gone):
            self.let_go()
        return all(gone)

    def let_go(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


def make_wall(seat: Seat, limit_bytes: int) -> Wall:
    """NoWall: it cannot be had, and why."""
    name = f"{TOOL}{os.getpid()}"
    for again in range(NAMES_TRIED):
        wall = Wall(seat, f"{name}-{again}" if again else name, limit_bytes)
        try:
            wall.make()
        except (FileExistsError, BlockingIOError, FileNotFoundError):
            continue  # taken, or swept away before it was locked
        except OSError as error:
            raise NoWall(f"{wall.path}: {error.strerror or error}", expected=False) from None
        return wall
    raise NoWall(f"{seat.path}: no cgroup can be made in it", expected=False)


def sweep(seat: Seat) -> list[str]:
    """Ends what is left of commands whose waiter was killed; says which they were."""
    swept = []
    try:
        names = [name for name in os.listdir(seat.path) if name.startswith(TOOL)]  # noqa: PTH208
    except OSError:
        return []
    for name in names:
        wall = Wall(seat, name, 0)
        try:
            lock = _locked(wall.path)
        except OSError:
            continue  # its waiter lives, or it is gone
        if not wall.remove():
            wall.group().kill()
            wall.group().remove()  # who is still dying is found by the next sweep
        os.close(lock)
        swept.append(name)
    return swept


def _locked(directory: str) -> int:
    """Close-on-exec, so that the command itself does not hold it."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _remove(path: str) -> bool:
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
