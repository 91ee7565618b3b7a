"""What attempts use, by adding up their processes: one pass over /proc for all of them.

A process counts with its anonymous pages, which `statm` gives as resident minus shared: 4 µs where
the exact figure (PSS) takes 50 and more. It is too high after a fork, when parent and child share
what neither has written, so whoever comes near its limit is looked at exactly before it is told.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import Final

from paddock.drivers.local.keeper.members import (
    Census,
    Leads,
    Process,
    mark_in,
    read_mark,
    read_proc,
    scan,
)
from paddock.drivers.local.life import Life
from paddock.drivers.local.rough import kilobytes, rough_bytes

TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
NEAR_ITS_LIMIT: Final = 0.8
# An exact figure serves until the sum has moved this far: agents near their limit tend to stay.
MOVED: Final = 0.02
# In the middle of an exec an environment reads empty; whoever is older has none.
SETTLED_S: Final = 2.0


class Marks:
    """Marks by identity, read once: an environment takes 13 µs, and there is one a process.

    And whose each process was when it was first seen: an agent must not have another one charged,
    or killed, for a child of its own that wears the other's mark.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], str | None] = {}
        self._met: dict[tuple[int, int], str] = {}

    def census(self, lives: Iterable[Life], keeper: int) -> Census:
        """Whose processes are whose; without a keeper (0) marks and main processes must tell."""
        processes = scan()
        processes.pop(os.getpid(), None)  # whatever it inherited: never counted, never killed
        leads = leads_of(lives, keeper, processes)
        old = (time.clock_gettime(time.CLOCK_BOOTTIME) - SETTLED_S) * TICKS_A_SECOND
        known = self._known = {
            (pid, start): mark
            for (pid, start), mark in self._known.items()
            if pid in processes and processes[pid].start == start
        }

        def mark_of(pid: int) -> str | None:
            key = (pid, processes[pid].start)
            if key in known:
                return known[key]
            environ = read_proc(processes[pid].task, "environ")
            mark = mark_in(environ)
            if environ or key[1] < old:
                known[key] = mark
            return mark

        met = {
            (pid, start): owner
            for (pid, start), owner in self._met.items()
            if pid in processes and processes[pid].start == start
        }
        marks = leads.marks
        owners = {pid: owner if owner in marks else "" for (pid, _), owner in met.items()}
        census = Census(processes, leads, mark_of, owners)
        for owner, members in census.members.items():
            for one in members:
                met.setdefault((one.pid, one.start), owner)
        self._met = met
        return census

    def disguised(self, mark: str) -> list[tuple[int, int]]:
        """First seen as its processes, and wearing another's mark now."""
        return [
            one
            for one, owner in self._met.items()
            if owner == mark and self._known.get(one) not in (None, mark)
        ]

    def living(self, instance: str) -> set[str]:
        """All marks of this paddock that a live process carries, also of attempts unknown to us."""
        own, begin = os.getpid(), f"{instance}."
        marks = (read_mark(pid) for pid in scan() if pid != own)
        return {mark for mark in marks if mark is not None and mark.startswith(begin)}


class Meter:
    """Keeps what makes the next look cheap."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._exact: dict[str, tuple[int, int]] = {}  # by mark: the sum then, and what it was

    def look(self, lives: Iterable[Life], keeper: int) -> dict[str, int]:
        """By mark. Who has no process left, or none yet, uses nothing."""
        counted = {life.mark: life for life in lives}
        if not counted:
            self._exact.clear()
            return {}
        members = self._marks.census(counted.values(), keeper).members
        used = {}
        for mark, life in counted.items():
            used[mark] = self._of(life, members.get(mark, []))
        self._exact = {mark: known for mark, known in self._exact.items() if mark in counted}
        return used

    def _of(self, life: Life, members: list[Process]) -> int:
        rough = sum(rough_bytes(one.task) for one in members)
        if not life.limit_bytes or rough < NEAR_ITS_LIMIT * life.limit_bytes:
            return rough
        then, exact = self._exact.get(life.mark, (0, 0))
        if abs(rough - then) > MOVED * then:
            then, exact = rough, sum(exact_bytes(one.task) for one in members)
            self._exact[life.mark] = (then, exact)
        return max(0, exact + rough - then)


def leads_of(lives: Iterable[Life], keeper: int, processes: Mapping[int, Process]) -> Leads:
    """What leads from processes to these attempts. A pid does only with the right start time."""
    leads = Leads(keeper)
    for life in lives:
        leads.marks[life.mark] = life.mark
        main = processes.get(life.pid)
        if main is not None and main.start == life.start:
            leads.mains[life.pid] = life.mark
        elif life.pid:
            leads.ended[life.pid] = life.mark
    return leads


def exact_bytes(pid: int) -> int:
    """This process's share of what it shares. Where it cannot be read: the rough figure."""
    rollup = read_proc(pid, "smaps_rollup")
    if b"Pss_Anon:" not in rollup:
        return rough_bytes(pid)
    return sum(kilobytes(rollup, name) for name in (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:"))
