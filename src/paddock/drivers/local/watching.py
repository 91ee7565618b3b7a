"""One look a tick at all attempts: what they use, who stands at a wall, who has left its cgroup."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from paddock.cgroups.mounts import cgroups_of
from paddock.core.events import LimitPassed, Noticed
from paddock.core.run import Attempt
from paddock.drivers.cpu import processes_s
from paddock.drivers.local.containment import Containment
from paddock.drivers.local.keeper.members import Process, look_at, read_proc, send
from paddock.drivers.local.keeper.shim import is_still_shim
from paddock.drivers.local.life import Life
from paddock.drivers.local.memory import Marks, Meter

MOST_ESCAPES: Final = 3  # who leaves again and again means it
# A pass over all of /proc: 2.7 ms with 100 processes, most of what a look costs. Under pressure
# there may be 20 looks a second, and it is not for those who leave that they are.
ESCAPES_S: Final = 0.9

log = logging.getLogger("paddock.walls")


class Watching:
    def __init__(self, containment: Containment, marks: Marks) -> None:
        self._containment = containment
        self._marks = marks
        self._meter = Meter(marks)
        self._escapes: dict[Attempt, int] = {}
        self._looked_for_them_at = -ESCAPES_S
        self._turn = 0  # v1's trees one after the other: all at once would be 60 µs an attempt

    def look(
        self, lives: Mapping[Attempt, Life], keeper: int, *, now: float
    ) -> Mapping[Attempt, int]:
        """What each uses: as its cgroup counts, or else its processes added up."""
        used = {one: used for one, used in self._containment.look().items() if one in lives}
        others = [life for attempt, life in lives.items() if attempt not in used]
        counted = self._meter.look(others, keeper)
        used |= {life.attempt: counted[life.mark] for life in others}
        for attempt, life in lives.items():
            life.peak_bytes = max(life.peak_bytes, used[attempt])
        self._mind_the_walls(lives, keeper, now)
        return used

    def cpu_s(self, lives: Mapping[Attempt, Life], keeper: int) -> Mapping[Attempt, float]:
        """As its cgroup counts, or else its processes added up."""
        found = {one: used for one, used in self._containment.cpu_s().items() if one in lives}
        others = [life for attempt, life in lives.items() if attempt not in found]
        if others:
            members = self._marks.census(others, keeper).members
            for life in others:
                found[life.attempt] = processes_s(one.pid for one in members.get(life.mark, []))
        return found

    def processes(self, lives: Mapping[Attempt, Life], keeper: int) -> Mapping[Attempt, int]:
        """As its cgroup lists them, or else by marks, sessions and descent."""
        held = {one: self._containment.pids(one) for one in lives if self._containment.holds(one)}
        found = {one: len(pids) for one, pids in held.items()}
        others = [life for attempt, life in lives.items() if attempt not in found]
        if others:
            members = self._marks.census(others, keeper).members
            found |= {life.attempt: len(members.get(life.mark, [])) for life in others}
        return found

    def _mind_the_walls(self, lives: Mapping[Attempt, Life], keeper: int, now: float) -> None:
        for notice in self._containment.notices(now):
            life = lives.get(notice.attempt)
            if life is not None and not life.is_over:
                event = LimitPassed if notice.over else Noticed
                life.tell(event(now, notice.attempt, notice.text))
        held = [life for life in lives.values() if self._is_held(life)]
        if held and now >= self._looked_for_them_at + ESCAPES_S:
            self._looked_for_them_at = now
            # After what follows from this look: a rescue does not wait for it.
            loop = asyncio.get_running_loop()
            loop.call_soon(self._find_escapes, held, keeper, now)
        self._escapes = {one: count for one, count in self._escapes.items() if one in lives}

    def _is_held(self, life: Life) -> bool:
        return bool(life.pid) and not life.is_over and bool(self._containment.holds(life.attempt))

    def _find_escapes(self, held: Iterable[Life], keeper: int, now: float) -> None:
        self._turn += 1
        held = [life for life in held if self._is_held(life)]
        members = self._marks.census(held, keeper).members
        for life in held:
            for one in self._outside(life.attempt, members.get(life.mark, [])):
                if self._has_left(life.attempt, one):
                    self._catch(life, one, now)

    def _outside(self, attempt: Attempt, marked: Sequence[Process]) -> list[Process]:
        """As the lists of its cgroups tell. Whoever left one of v1's trees is known by the others,
        with a mark or without."""
        partly = self._containment.partly(attempt, self._turn)
        walled = self._containment.pids(attempt) - partly
        others = partly.difference(one.pid for one in marked)
        return [
            *(one for one in marked if one.pid not in walled),
            *filter(None, map(look_at, others)),
        ]

    def _has_left(self, attempt: Attempt, one: Process) -> bool:
        """Looked at itself: it may have come, or gone, between the two lists."""
        where = cgroups_of(one.pid)
        if not where or self._containment.is_inside(attempt, where):
            return False
        words = read_proc(one.pid, "cmdline")
        # A zombie has no words any more, and needs no wall; the shim is on its way in.
        return bool(words) and not is_still_shim(words)

    def _catch(self, life: Life, one: Process, now: float) -> None:
        back = self._containment.take_back(life.attempt, one.pid)
        back = back and self._containment.is_inside(life.attempt, cgroups_of(one.pid))
        if not back:
            send(one.pid, one.start, signal.SIGKILL)
        done = "was put back" if back else "was killed, because it could not be put back"
        text = f"process {one.pid} had left its cgroup and {done}"
        log.warning("%s: %s", life.attempt, text)
        escapes = self._escapes[life.attempt] = self._escapes.get(life.attempt, 0) + 1
        if escapes < MOST_ESCAPES:
            life.tell(Noticed(now, life.attempt, text))
        elif escapes == MOST_ESCAPES:
            why = f"its processes left its cgroup {escapes} times"
            life.tell(LimitPassed(now, life.attempt, why))
