"""A cgroup of the unified hierarchy: one directory for all controllers."""

# ruff: noqa: PTH102, PTH103, PTH110, PTH112
from __future__ import annotations

import os
import signal
from collections.abc import Iterator

from .files import number, pids_in, put, read, read_or_empty, table, write
from .group import Counters, Walls, remove_tree

WANTED = ("memory", "pids", "cpu")
PERIOD_US = 100_000
# Neither page cache nor what the kernel can take back: slab that it can reclaim is not in it.
HELD = ("anon", "shmem", "slab_unreclaimable", "kernel_stack", "pagetables", "percpu", "sock")
ROUNDS = 20  # of a kill without `cgroup.kill`, before 5.14


class Group2:
    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Group2({self.path!r})"

    @property
    def procs(self) -> tuple[str, ...]:
        return (f"{self.path}/cgroup.procs",)

    def child(self, name: str) -> Group2:
        return Group2(f"{self.path}/{name}")

    def exists(self) -> bool:
        return os.path.isdir(self.path)

    def make(self) -> None:
        os.mkdir(self.path)

    def ensure(self) -> None:
        os.makedirs(self.path, exist_ok=True)

    def controllers(self) -> set[str]:
        return set(read_or_empty(f"{self.path}/cgroup.controllers").split())

    def handed_down(self) -> set[str]:
        return set(read_or_empty(f"{self.path}/cgroup.subtree_control").split())

    def hand_down(self) -> None:
        wanted = [name for name in WANTED if name in self.controllers() - self.handed_down()]
        for name in wanted:  # one by one: one that is refused must not take the others along
            try:
                write(f"{self.path}/cgroup.subtree_control", f"+{name}")
            except OSError:
                if name == "memory":
                    raise

    def set(self, walls: Walls) -> None:
        if walls.limit_bytes is not None:
            put(f"{self.path}/memory.max", walls.limit_bytes)
            if os.path.exists(f"{self.path}/memory.swap.max"):  # not with swap left out of a kernel
                put(f"{self.path}/memory.swap.max", 0)
        if walls.high_bytes is not None:
            put(f"{self.path}/memory.high", walls.high_bytes)
        if walls.pids is not None and "pids" in self.controllers():
            put(f"{self.path}/pids.max", walls.pids)
        if "cpu" in self.controllers():
            put(f"{self.path}/cpu.weight", 100)
            if walls.cpus is not None:
                put(f"{self.path}/cpu.max", f"{int(walls.cpus * PERIOD_US)} {PERIOD_US}")

    def walls(self) -> Walls:
        names = ("memory.max", "memory.high", "pids.max")
        limit, high, pids = (number(read_or_empty(f"{self.path}/{name}")) for name in names)
        quota, _, period = read_or_empty(f"{self.path}/cpu.max").strip().partition(" ")
        most, each = number(quota), number(period)
        cpus = most / each if most and each else None
        return Walls(limit_bytes=limit, high_bytes=high, pids=pids, cpus=cpus)

    def missing(self) -> tuple[str, ...]:
        has = self.controllers()
        lacks = [name for name in ("pids", "cpu") if name not in has]
        if not os.path.exists(f"{self.path}/cgroup.freeze"):
            lacks.append("freeze")
        return tuple(lacks)

    def used_bytes(self) -> int:
        found = table(read(f"{self.path}/memory.stat"))
        return sum(found.get(name, 0) for name in HELD)

    def cpu_s(self) -> float | None:
        """Counted in every cgroup, with the controller or without."""
        used_us = table(read_or_empty(f"{self.path}/cpu.stat")).get("usage_usec")
        return None if used_us is None else used_us / 1e6

    def counters(self) -> Counters:
        events = table(read(f"{self.path}/memory.events"))
        local = table(read_or_empty(f"{self.path}/memory.events.local")) or events
        stat = table(read_or_empty(f"{self.path}/memory.stat"))
        return Counters(
            oom=local.get("oom", 0),
            oom_kills=events.get("oom_kill", 0),
            peak_bytes=self.peak_bytes(),
            cache_bytes=max(0, stat.get("file", 0) - stat.get("shmem", 0)),
            throttled=local.get("high", 0),
            refused_forks=self.refused_forks(),
        )

    def peak_bytes(self) -> int | None:
        return number(read_or_empty(f"{self.path}/memory.peak"))

    def kills(self) -> int:
        local = read_or_empty(f"{self.path}/memory.events.local")
        return table(local or read(f"{self.path}/memory.events")).get("oom_kill", 0)

    def refused_forks(self) -> int:
        return refused_forks(self.path)

    def pids(self) -> list[int]:
        return [pid for path in self._tree() for pid in pids_in(f"{path}/cgroup.procs")]

    def partly(self, turn: int) -> frozenset[int]:  # noqa: ARG002 - all walls are one tree
        return frozenset()

    def children(self) -> list[str]:
        return children_of(self.path)

    def _tree(self) -> Iterator[str]:
        return tree_of(self.path)

    def kill(self) -> None:
        try:
            write(f"{self.path}/cgroup.kill", "1")
        except FileNotFoundError:
            if self.exists():
                self._kill_one_by_one()

    def _kill_one_by_one(self) -> None:
        """Frozen, nobody forks away; a frozen process dies of SIGKILL all the same."""
        frozen = self.freeze()
        for _ in range(ROUNDS):
            pids = self.pids()
            kill_each(pids)
            if frozen or not pids:
                break
        self.thaw()

    def freeze(self) -> bool:
        return self._freeze("1")

    def thaw(self) -> bool:
        return self._freeze("0")

    def _freeze(self, word: str) -> bool:
        try:
            write(f"{self.path}/cgroup.freeze", word)
        except OSError:
            return False
        return True

    def is_frozen(self) -> bool:
        return table(read_or_empty(f"{self.path}/cgroup.events")).get("frozen", 0) == 1

    def reclaim(self, size_bytes: int) -> None:
        """May take as long as it takes, so never in the loop. EAGAIN: there was not so much."""
        try:
            write(f"{self.path}/memory.reclaim", str(size_bytes))
        except OSError:
            return

    def join(self, pid: int) -> None:
        write(f"{self.path}/cgroup.procs", str(pid))

    def remove(self) -> bool:
        return remove_tree(self.path)


def children_of(path: str) -> list[str]:
    try:
        if os.stat(path).st_nlink == 2:  # noqa: PTH116 - a tenth of a look at all its files
            return []
        return sorted(e.name for e in os.scandir(path) if e.is_dir(follow_symlinks=False))
    except OSError:
        return []


def tree_of(path: str) -> Iterator[str]:
    yield path
    for name in children_of(path):
        yield from tree_of(f"{path}/{name}")


def refused_forks(path: str) -> int:
    """Since 6.11 counted where the limit is and above; before that, and in v1, where the process
    was that wanted to fork."""
    own = table(read_or_empty(f"{path}/pids.events")).get("max", 0)
    return max(own, sum(refused_forks(f"{path}/{name}") for name in children_of(path)))


def kill_each(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue
