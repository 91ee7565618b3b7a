"""What a tree of processes uses, added up: for hosts where agents have no cgroup of their own."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from .places import number, read, table

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGE = os.sysconf("SC_PAGE_SIZE")
# The children of an agent are looked at this often; its own use is read each time.
CHILDREN_S = 0.25
MOST = 10_000  # processes: a loop in what /proc tells must not become one here


class Tree:
    """From `leader` down: the first process of the attempt. 0: from this one."""

    def __init__(self, leader: int) -> None:
        self._leader = leader
        self._rough = (0.0, 0)  # until when it counts, and the sum without this process
        self._exact = (0.0, 0)
        self._own = (0, -1)  # this process, and the file that tells what it uses

    def __del__(self) -> None:
        if self._own[1] >= 0:
            os.close(self._own[1])

    def rough(self) -> int:
        """Anonymous pages, as resident minus shared. Too high after a fork, while parent and child
        share what neither has written; never too low."""
        until, others = self._rough
        if time.monotonic() >= until:
            others = sum(rough_bytes(pid) for pid in self._pids() if pid != os.getpid())
            self._rough = (time.monotonic() + CHILDREN_S, others)
        return others + self._own_bytes()

    def _own_bytes(self) -> int:
        """From a file that stays open: 2 µs instead of 14. After a fork it is the parent's."""
        pid, file = self._own
        if pid != os.getpid():
            try:
                file = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:  # a system without /proc does not tell
                return 0
            self._own = (os.getpid(), file)
        return _anonymous(os.pread(file, 128, 0).split())

    def exact(self) -> int:
        """By each process's share of what it shares (PSS): up to 250 µs a process."""
        until, found = self._exact
        if time.monotonic() >= until:
            found = sum(exact_bytes(pid) for pid in self._pids())
            self._exact = (time.monotonic() + CHILDREN_S, found)
        return found

    def _pids(self) -> list[int]:
        own = os.getpid()
        leader = self._leader or own
        found, seen = [leader], {leader}
        for pid in found:
            new = [child for child in children_of(pid) if child not in seen]
            seen.update(new)
            found += new
            if len(found) > MOST:
                break
        # One that left its first process's tree counts all the same, as it does with paddock.
        return found if own in seen else [*found, *Tree(own)._pids()]  # noqa: SLF001


def children_of(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:
        return []
    words = (read(f"/proc/{pid}/task/{thread}/children").split() for thread in threads)
    return [child for each in words for word in each if (child := number(word))]


def rough_bytes(pid: int) -> int:
    return _anonymous(read(f"/proc/{pid}/statm").split())


def _anonymous(statm: Sequence[str | bytes]) -> int:
    return (int(statm[1]) - int(statm[2])) * PAGE if len(statm) > 2 else 0


def exact_bytes(pid: int) -> int:
    rollup = table(read(f"/proc/{pid}/smaps_rollup"))
    if "Pss_Anon" not in rollup:
        return rough_bytes(pid)
    return sum(rollup.get(name, 0) for name in ("Pss_Anon", "Pss_Shmem", "SwapPss"))
