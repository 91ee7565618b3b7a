"""Hard walls: a fresh cgroup for every attempt, below one with the fleet's own wall (ISO-2, ISO-7).

An attempt's `RUN.N` carries the walls; its processes live in `RUN.N/main`, so that a single command
of it can have a wall of its own beside `main`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from paddock.cgroups.files import write
from paddock.cgroups.group import Group, Walls
from paddock.cgroups.home import FLEET, SUPERVISOR, Home
from paddock.cgroups.mounts import UNIFIED, cgroup_at, cgroups_of
from paddock.cgroups.use import held_bytes
from paddock.cgroups.v1 import Group1
from paddock.cgroups.v2 import Group2
from paddock.core.run import Attempt, Priority
from paddock.drivers.attempts import OOM_SCORES, attempt_of, name_of
from paddock.drivers.dwell import DWELL_S
from paddock.drivers.local.containment import Place
from paddock.drivers.local.containment.leaf import Leaf
from paddock.drivers.local.release import release
from paddock.drivers.victims import KernelLog
from paddock.drivers.watched import Notice, Toll
from paddock.ports import Guarantees

LOWER_WALL_SLACK: Final = 16 << 20

Release = Callable[[Collection[int]], object]

log = logging.getLogger("paddock.walls")


def _places_of(home: Home) -> dict[str, str]:
    """The fleet's cgroup in every hierarchy, as /proc calls it."""
    fleet, own = home.fleet, cgroups_of()
    paths = fleet.directories if isinstance(fleet, Group1) else {UNIFIED: fleet.path}
    return {name: _place_of(path, name, own.get(name, "")) for name, path in paths.items()}


def _place_of(path: str, controller: str, own: str) -> str:
    """By our own, which is beside it: in a namespace of cgroups that is younger than the mounts
    these say nothing, and whoever is not found where it should be is killed."""
    home = path.rpartition("/")[0]
    if own.endswith(f"/{home.rpartition('/')[2]}/{SUPERVISOR}"):
        return f"{own.rpartition('/')[0]}/{FLEET}"
    return cgroup_at(path, controller) or path


def _unheld(lacks: Collection[str], *, version: int) -> frozenset[str]:
    """Systemd hands its users memory and pids and no more, unless it is told to."""
    throttle = ("memory_high",) if version == 1 else ()
    return frozenset({"cpu", "pids"}.intersection(lacks).union(throttle))


class CgroupContainment:
    def __init__(self, home: Home, *, dwell_s: float = DWELL_S, release: Release = release) -> None:
        self._dwell_s, self._release = dwell_s, release
        # Of its own: all others may just be pushing out what frozen agents hold.
        self._releasing = ThreadPoolExecutor(2, thread_name_prefix="release")
        self._fleet = home.fleet
        self._leaves: dict[Attempt, Leaf] = {}
        self._leftovers: dict[str, Group] = {}
        self._wall_bytes: int | None = None  # to be set; None once it is
        self._kernel_log = KernelLog()
        self._places = _places_of(home)
        lacks = self._fleet.missing()
        self.guarantees = Guarantees(
            name=f"local (cgroup v{home.version})",
            hard_memory_wall=True,
            kills_whole_tree=True,
            can_freeze="freeze" not in lacks,
            survives_daemon=True,
            fleet_wall=True,
            unheld=_unheld(lacks, version=home.version),
        )

    # -- an attempt's life ----------------------------------------------------------------

    def prepare(self, attempt: Attempt, walls: Walls, *, priority: Priority) -> Place:
        if attempt not in self._leaves:
            self._leaves[attempt] = self._fresh(attempt, walls)
        return Place(self._leaves[attempt].main.procs, OOM_SCORES[priority])

    def _fresh(self, attempt: Attempt, walls: Walls) -> Leaf:
        name = name_of(attempt)
        group = self._fleet.child(name)
        # Found at the start and not yet gone: from here on the name is this one's, and who tidies
        # up by it would kill a fresh agent.
        self._leftovers.pop(name, None)
        leaf = Leaf(attempt, group, walls, dwell_s=self._dwell_s)
        try:
            leaf.prepare()
        except FileExistsError:
            # Of a start that came to nothing. Counters of another life would tell lies about it.
            group.kill()
            if not group.remove():
                text = f"{group.path} is left from before, and processes in it do not end"
                raise OSError(errno.EBUSY, text) from None
            leaf.prepare()
        return leaf

    def set_priority(self, attempt: Attempt, priority: Priority) -> None:
        """Lowering it takes rights that not every daemon has: then the kernel's stays as it was."""
        for pid in self.pids(attempt):
            with contextlib.suppress(OSError):
                write(f"/proc/{pid}/oom_score_adj", str(OOM_SCORES[priority]))

    def adopt(self, attempts: Collection[Attempt]) -> None:
        for name in self._fleet.children():
            attempt = attempt_of(name)
            group = self._fleet.child(name)
            if attempt in attempts and attempt is not None:
                leaf = Leaf(attempt, group, group.walls(), dwell_s=self._dwell_s)
                self._leaves.setdefault(attempt, leaf)
            elif attempt is not None:
                self._leftovers[name] = group

    def remove(self, attempt: Attempt) -> None:
        leaf = self._leaves.pop(attempt, None)
        if leaf is not None:
            leaf.close()
            self._leftovers[name_of(attempt)] = leaf.group
            self._tidy()

    def _tidy(self) -> None:
        """A process that was reaped a moment ago may still be leaving its cgroup."""
        for name, group in list(self._leftovers.items()):
            if group.remove():
                del self._leftovers[name]
            elif group.pids():
                group.kill()

    # -- looking --------------------------------------------------------------------------

    def look(self) -> Mapping[Attempt, int]:
        self._tidy()
        self._mind_the_wall()
        used = {}
        for attempt, leaf in self._leaves.items():
            try:
                used[attempt] = leaf.used_bytes()
            except OSError as error:
                log.warning("%s: %s", leaf.group.path, error)
        return used

    def cpu_limits(self) -> Mapping[Attempt, float]:
        return {one: leaf.walls.cpus for one, leaf in self._leaves.items() if leaf.walls.cpus}

    def cpu_s(self) -> Mapping[Attempt, float]:
        return {attempt: leaf.cpu_s() for attempt, leaf in self._leaves.items()}

    def notices(self, now: float) -> list[Notice]:
        return [notice for leaf in self._leaves.values() for notice in leaf.notices(now)]

    def holds(self, attempt: Attempt) -> bool:
        return attempt in self._leaves

    def pids(self, attempt: Attempt) -> frozenset[int]:
        leaf = self._leaves.get(attempt)
        return frozenset() if leaf is None else frozenset(leaf.pids())

    def partly(self, attempt: Attempt, turn: int) -> frozenset[int]:
        leaf = self._leaves.get(attempt)
        return frozenset() if leaf is None else leaf.group.partly(turn)

    def is_inside(self, attempt: Attempt, where: Mapping[str, str]) -> bool:
        """In every hierarchy: with one of v1 left, that wall is gone. Not by its name alone: who
        may make cgroups can call one elsewhere as its own."""
        name = name_of(attempt)
        return all(
            f"{where.get(each, '')}/".startswith(f"{fleet}/{name}/")
            for each, fleet in self._places.items()
        )

    def toll(self, attempt: Attempt, *, failed: bool) -> Toll:
        leaf = self._leaves.get(attempt)
        return Toll() if leaf is None else leaf.toll(self._kernel_log, failed=failed)

    # -- pressing -------------------------------------------------------------------------

    def take_back(self, attempt: Attempt, pid: int) -> bool:
        leaf = self._leaves.get(attempt)
        try:
            if leaf is not None:
                leaf.main.join(pid)
        except OSError:
            return False
        return leaf is not None

    def kill(self, attempt: Attempt) -> bool:
        leaf = self._leaves.get(attempt)
        if leaf is None:
            return False
        try:
            struck = leaf.pids()
            leaf.group.kill()
        except OSError as error:
            log.error("%s could not be killed: %s", leaf.group.path, error)
            return False
        self._take_back(struck)
        return True

    def _take_back(self, struck: list[int]) -> None:
        """Their memory, without waiting for their turn on a core; in a thread, as it takes as long
        as it takes. Without a loop we are no daemon, and in no hurry."""
        with contextlib.suppress(RuntimeError):
            asyncio.get_running_loop().run_in_executor(self._releasing, self._release, struck)

    def freeze(self, attempt: Attempt, *, reclaim: bool) -> bool:
        leaf = self._leaves.get(attempt)
        if leaf is None or not leaf.group.freeze():
            return False
        if reclaim and isinstance(leaf.group, Group2):
            # It takes as long as it takes.
            size_bytes = max(leaf.total_bytes, 1)
            asyncio.get_running_loop().run_in_executor(None, leaf.group.reclaim, size_bytes)
        return True

    def thaw(self, attempt: Attempt) -> bool:
        leaf = self._leaves.get(attempt)
        return leaf is not None and leaf.group.thaw()

    # -- the fleet's wall -----------------------------------------------------------------

    def set_wall(self, limit_bytes: int) -> None:
        self._wall_bytes = limit_bytes
        self._mind_the_wall()

    def _mind_the_wall(self) -> None:
        """Lowered below what is in use, the kernel would kill at once, and whom it likes: the
        ladder makes room first. Containers are in it, too, so our own leaves are not all."""
        if self._wall_bytes is None:
            return
        used = held_bytes(self._fleet.path, is_v2=isinstance(self._fleet, Group2)) or 0
        lowest = used + LOWER_WALL_SLACK
        self._fleet.set(Walls(limit_bytes=max(self._wall_bytes, lowest)))
        if lowest <= self._wall_bytes:
            self._wall_bytes = None

    def close(self) -> None:
        for leaf in self._leaves.values():
            leaf.close()
        self._leaves.clear()
        self._kernel_log.close()
        self._releasing.shutdown(wait=False, cancel_futures=True)
