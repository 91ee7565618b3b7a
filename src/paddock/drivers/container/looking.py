"""Looking at containers through their cgroups: use, notices and, at the end, the toll."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from paddock.cgroups.group import Group
from paddock.core.events import LimitPassed, Noticed
from paddock.core.run import Attempt
from paddock.drivers.container.life import Life
from paddock.drivers.victims import KernelLog
from paddock.drivers.watched import Toll, Watched


class Looking:
    def __init__(self) -> None:
        self._kernel_log = KernelLog()

    def watch(self, life: Life, group: Group) -> None:
        life.watched = Watched(life.attempt, group, group.walls())

    def used_bytes(self, lives: Iterable[Life]) -> Mapping[Attempt, int]:
        now, used = time.monotonic(), {}
        for life in lives:
            if not life.is_over:
                used[life.attempt] = self._look(life)
                self._tell_notices(life, now)
        return used

    def cpu_limits(self, lives: Iterable[Life]) -> Mapping[Attempt, float]:
        seen = ((life.attempt, life.watched) for life in lives if not life.is_over)
        known = ((attempt, watched.walls.cpus) for attempt, watched in seen if watched is not None)
        return {attempt: cpus for attempt, cpus in known if cpus}

    def cpu_s(self, lives: Iterable[Life]) -> Mapping[Attempt, float]:
        """Of those whose cgroup can be seen."""
        seen = ((life.attempt, life.watched) for life in lives if not life.is_over)
        return {attempt: watched.cpu_s() for attempt, watched in seen if watched is not None}

    def processes(self, lives: Iterable[Life]) -> Mapping[Attempt, int]:
        """Of those whose cgroup can be seen; our own shim is none of them."""
        seen = ((life.attempt, life.tether) for life in lives if not life.is_over)
        return {attempt: len(tether.pids()) for attempt, tether in seen if tether is not None}

    def _look(self, life: Life) -> int:
        known = life.asked_bytes
        if life.watched is not None:
            try:
                known = life.watched.used_bytes()
            except OSError:  # its container has just ended
                known = 0
        life.peak_bytes = max(life.peak_bytes, known)
        return known

    def _tell_notices(self, life: Life, now: float) -> None:
        if life.watched is None or life.exit is not None or life.forgotten:
            return
        for notice in life.watched.notices(now):
            event = LimitPassed if notice.over else Noticed
            life.tell(event(now, life.attempt, notice.text))

    def toll(self, life: Life, *, failed: bool) -> Toll:
        """At the end of an attempt: its counters begin with it, as does its cgroup."""
        if life.watched is None:
            return Toll()
        return life.watched.toll(self._kernel_log, failed=failed)

    def close(self) -> None:
        self._kernel_log.close()
