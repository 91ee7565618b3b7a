"""How near the wall is: what this agent uses of its limit, by cgroup v2, v1, or process by process.

Asked between two units of work, perhaps a thousand times a second, so the usual answer is one read
of a file that stays open (about 2 µs). Only near the wall it looks closer.
"""

# os instead of pathlib: a Path costs more than the whole answer.
from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from typing import NamedTuple

from .places import Place, limited_place, number, read, table
from .processes import Tree

NEAR = 0.8  # of the limit
# Of cgroup v2's memory.high, where that is lower: above it the kernel all but stops a program.
NEAR_HIGH = 0.95
LOOK_AGAIN_S = 10.0  # limits are changed now and then, and not often


class Memory(NamedTuple):
    """In bytes. `limit` is None where there is none; `used` is 0 where the system does not say."""

    used: int
    limit: int | None

    @property
    def share(self) -> float:
        """Of the limit; 0 where there is none."""
        return self.used / self.limit if self.limit else 0.0


def should_reduce_memory() -> bool:
    """Whether 80 % of the limit is in use: time to let go of caches, and to start fewer children.

    Page cache does not count: the kernel takes it back by itself.
    """
    gauge = _gauge()
    if gauge.near is None:
        return False
    try:
        return gauge.rough() >= gauge.near and gauge.exact() >= gauge.near
    except (OSError, ValueError):  # moved to another cgroup, and this one is gone
        forget()
        return False


def memory() -> Memory:
    gauge = _gauge()
    try:
        return Memory(gauge.exact(), gauge.limit)
    except (OSError, ValueError):
        forget()
        return Memory(0, gauge.limit)


class _Gauge(ABC):
    """Who is counted, against what."""

    near: int | None = None
    limit: int | None = None

    @abstractmethod
    def rough(self) -> int:
        """Quick, and never too low."""

    @abstractmethod
    def exact(self) -> int: ...


class _CgroupGauge(_Gauge):
    def __init__(self, place: Place) -> None:
        self.place = place
        self._file = os.open(f"{place.path}/{place.used_file}", os.O_RDONLY | os.O_CLOEXEC)
        self.take(place)

    def take(self, place: Place) -> None:
        """The limits as they are now."""
        self.limit = place.limit
        near = int(place.limit * NEAR)
        self.near = near if place.high is None else min(near, int(place.high * NEAR_HIGH))

    def rough(self) -> int:
        return int(os.pread(self._file, 32, 0))

    def exact(self) -> int:
        """Without what the kernel can take back. The sum is exact, the parts may be late (2 s), so
        they are only taken off."""
        stat = table(read(f"{self.place.path}/memory.stat"))
        return max(0, self.rough() - sum(stat.get(name, 0) for name in self.place.reclaimable))

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            os.close(self._file)


class _TreeGauge(_Gauge):
    """Without a wall paddock adds processes up, and stops who is over; so does this."""

    def __init__(self, limit: int | None, tree: Tree) -> None:
        self.limit = limit
        self.near = None if limit is None else int(limit * NEAR)
        self._tree = tree

    def rough(self) -> int:
        return self._tree.rough()

    def exact(self) -> int:
        return self._tree.exact()


_kept: tuple[float, _Gauge] | None = None


def _gauge() -> _Gauge:
    global _kept  # noqa: PLW0603 - one for the process, and the point is that it stays open
    now = time.monotonic()
    if _kept is not None and now < _kept[0]:
        return _kept[1]
    gauge = _found(None if _kept is None else _kept[1])
    _kept = (now + LOOK_AGAIN_S, gauge)
    return gauge


def forget() -> None:
    """Look for the wall anew at the next question: after a move to another cgroup."""
    global _kept  # noqa: PLW0603
    _kept = None


def _found(before: _Gauge | None) -> _Gauge:
    stated = number(os.environ.get("PADDOCK_MEMORY_LIMIT", "")) or None
    place = limited_place()
    # A cgroup that allows more than paddock does is somebody else's: a container around us all.
    if place is None or (stated is not None and place.limit > stated):
        whole = stated is not None
        return _TreeGauge(stated, Tree(os.getsid(0) if whole else 0))
    if isinstance(before, _CgroupGauge) and before.place.path == place.path:
        before.take(place)
        return before
    try:
        return _CgroupGauge(place)
    except OSError:
        return _TreeGauge(stated, Tree(0))
