"""A cgroup of the old hierarchies: one directory a controller, all of the same name."""

# ruff: noqa: PTH102, PTH103, PTH112, PTH110
from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from .files import NotSet, number, pids_in, put, read, read_or_empty, table, write
from .group import Counters, Walls, remove_tree
from .v2 import PERIOD_US, children_of, kill_each, refused_forks, tree_of

WANTED = ("memory", "pids", "cpu", "freezer")
# v1 does not say which of its kernel memory could be reclaimed, so none of it is counted.
HELD = ("total_rss", "total_shmem")
ROUNDS = 20
SLACK_BYTES = 256 * 1024  # charges come in batches of pages, one for each core


class Group1:
    """`memory` is always among its directories; what else there is says `missing`."""

    __slots__ = ("_directories", "_no_cpuacct", "path")

    def __init__(self, directories: Mapping[str, str]) -> None:
        self._directories = {name: directories[name] for name in WANTED if name in directories}
        self.path = self._directories["memory"]
        self._no_cpuacct = False  # as was seen once: that file never comes

    def __repr__(self) -> str:
        return f"Group1({self._directories!r})"

    @property
    def directories(self) -> Mapping[str, str]:
        return self._directories

    @property
    def procs(self) -> tuple[str, ...]:
        # cpu and cpuacct are often one directory with two names.
        return tuple(f"{path}/cgroup.procs" for path in dict.fromkeys(self._directories.values()))

    def child(self, name: str) -> Group1:
        return Group1({one: f"{path}/{name}" for one, path in self._directories.items()})

    def exists(self) -> bool:
        return os.path.isdir(self.path)

    def make(self) -> None:
        made = []
        try:
            for path in dict.fromkeys(self._directories.values()):
                os.mkdir(path)
                made.append(path)
        except OSError:
            for path in made:
                remove_tree(path)
            raise

    def ensure(self) -> None:
        for path in self._directories.values():
            os.makedirs(path, exist_ok=True)

    def hand_down(self) -> None:
        """Before 5.11 a limit held for those below only where this was set."""
        path = f"{self.path}/memory.use_hierarchy"
        if number(read_or_empty(path)) == 0:
            put(path, 1)

    def set(self, walls: Walls) -> None:
        if walls.limit_bytes is not None:
            self._wall_memory(walls.limit_bytes)
        if walls.pids is not None and "pids" in self._directories:
            put(f"{self._directories['pids']}/pids.max", walls.pids)
        if walls.cpus is not None and "cpu" in self._directories:
            # Shares need no writing: a new cgroup has 1024, as all others.
            quota = f"{self._directories['cpu']}/cpu.cfs_quota_us"
            put(f"{self._directories['cpu']}/cpu.cfs_period_us", PERIOD_US)
            put(quota, int(walls.cpus * PERIOD_US))

    def _wall_memory(self, limit_bytes: int) -> None:
        both = f"{self.path}/memory.memsw.limit_in_bytes"  # memory and swap together
        limit = f"{self.path}/memory.limit_in_bytes"
        try:
            put(limit, limit_bytes)
        except NotSet as error:
            if error.errno != errno.EINVAL:
                raise
            put(both, limit_bytes)  # it was below: raised, it goes first
            put(limit, limit_bytes)
        try:
            put(both, limit_bytes)
        except NotSet as error:
            if error.errno != errno.ENOENT:
                raise
            put(f"{self.path}/memory.swappiness", 0)  # this kernel does not count swap

    def walls(self) -> Walls:
        """Without a limit the kernel says a very large one."""
        limit = number(read_or_empty(f"{self.path}/memory.limit_in_bytes"))
        pids = number(read_or_empty(f"{self._directories.get('pids', '')}/pids.max"))
        cpu = self._directories.get("cpu", "")
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        quota, period = (number(read_or_empty(f"{cpu}/{name}")) for name in names)
        cpus = quota / period if quota and period else None  # -1: none is set
        return Walls(limit_bytes=limit, pids=pids, cpus=cpus)

    def missing(self) -> tuple[str, ...]:
        names = {"pids": "pids", "cpu": "cpu", "freezer": "freeze"}
        lacks = [word for name, word in names.items() if name not in self._directories]
        if not os.path.exists(f"{self.path}/memory.memsw.limit_in_bytes"):
            lacks.append("swap")
        return tuple(lacks)

    def used_bytes(self) -> int:
        found = table(read(f"{self.path}/memory.stat"))
        return sum(found.get(name, 0) for name in HELD)

    def cpu_s(self) -> float | None:
        """Nearly everywhere `cpu` and `cpuacct` are one directory; where not, it is not known."""
        if self._no_cpuacct:
            return None
        used_ns = number(read_or_empty(f"{self._directories.get('cpu', '')}/cpuacct.usage"))
        self._no_cpuacct = used_ns is None
        return None if used_ns is None else used_ns / 1e9

    def counters(self) -> Counters:
        read(f"{self.path}/memory.oom_control")  # raises where there is no such cgroup
        stat = table(read_or_empty(f"{self.path}/memory.stat"))
        peak = self.peak_bytes()
        limit = number(read_or_empty(f"{self.path}/memory.limit_in_bytes"))
        # v1 counts kills where the process was, and not again further up.
        killed = sum(_kills_in(path) for path in tree_of(self.path))
        return Counters(
            oom=killed if _met(peak, limit) else 0,
            oom_kills=killed,
            peak_bytes=peak,
            cache_bytes=max(0, stat.get("total_cache", 0) - stat.get("total_shmem", 0)),
            refused_forks=self.refused_forks(),
        )

    def peak_bytes(self) -> int | None:
        return number(read_or_empty(f"{self.path}/memory.max_usage_in_bytes"))

    def kills(self) -> int:
        return table(read(f"{self.path}/memory.oom_control")).get("oom_kill", 0)

    def refused_forks(self) -> int:
        path = self._directories.get("pids")
        return refused_forks(path) if path else 0

    def pids(self) -> list[int]:
        return _pids_below(self.path)

    def partly(self, turn: int) -> frozenset[int]:
        others = [path for path in dict.fromkeys(self._directories.values()) if path != self.path]
        if not others:
            return frozenset()
        return frozenset(self.pids()).symmetric_difference(_pids_below(others[turn % len(others)]))

    def children(self) -> list[str]:
        return children_of(self.path)

    def kill(self) -> None:
        """A frozen process of v1 dies only when it is thawed."""
        self.freeze()
        seen: set[int] = set()
        for _ in range(ROUNDS):
            new = set(self.pids()) - seen
            if not new:
                break
            kill_each(list(new))
            seen |= new
        self.thaw_all()

    def thaw_all(self) -> None:
        """Below, too: whoever was frozen there waits with the signal in its hand."""
        self.thaw()
        for name in self.children():
            self.child(name).thaw_all()

    def freeze(self) -> bool:
        return self._freeze("FROZEN")

    def thaw(self) -> bool:
        return self._freeze("THAWED")

    def _freeze(self, word: str) -> bool:
        path = self._directories.get("freezer")
        if path is None:
            return False
        try:
            write(f"{path}/freezer.state", word)
        except OSError:
            return False
        return True

    def is_frozen(self) -> bool:
        path = self._directories.get("freezer")
        return path is not None and read_or_empty(f"{path}/freezer.state").strip() == "FROZEN"

    def join(self, pid: int) -> None:
        for path in self.procs:
            write(path, str(pid))

    def remove(self) -> bool:
        paths = dict.fromkeys(self._directories.values())
        gone = [remove_tree(path) for path in paths]
        return all(gone)


def _pids_below(path: str) -> list[int]:
    return [pid for each in tree_of(path) for pid in pids_in(f"{each}/cgroup.procs")]


def _kills_in(path: str) -> int:
    return table(read_or_empty(f"{path}/memory.oom_control")).get("oom_kill", 0)


def _met(peak: int | None, limit: int | None) -> bool:
    """Whether the kill was at its own wall: `memory.failcnt` stays 0 on newer kernels."""
    return peak is not None and limit is not None and peak > limit - SLACK_BYTES
