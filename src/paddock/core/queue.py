"""The order in which waiting runs are looked at. It does not know memory, only order.

Within a priority, groups take turns: the k-th waiting run of a group gets the tag
`max(last tag served, last tag of the group) + 1`, and runs are served by (tag, sequence). One
group alone is first in, first out; a group with a thousand waiting runs cannot hold up one with
five; and since every new tag is above the last one served, no stream of newcomers starves anyone.
A run that comes back (preempted, retried) keeps its tag, and so its place.

Runs of a project that has bounds of its own take turns as if they were a group of their own: a
group, as far as it is of one such project, is a lane.

Between priorities the heads are compared by `enqueued_at + ageing * priority`: a fixed virtual
time, so waiting long enough beats any priority, and nothing is ever re-sorted.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from sortedcontainers import SortedList

from .run import Priority, Run

Lane = tuple[str, str]
GROUP: Final = 0  # the parts of a lane
PROJECT: Final = 1


class Entry(NamedTuple):
    tag: int
    sequence: int
    run: str
    group: str
    enqueued_at: float
    project: str = ""  # that has bounds of its own

    @property
    def lane(self) -> Lane:
        return self.group, self.project


@dataclass(slots=True)
class _Level:
    served_tag: int = 0
    entries: SortedList[Entry] = field(default_factory=SortedList)
    lanes: dict[Lane, SortedList[Entry]] = field(default_factory=dict)
    # First entry of each lane that may start: a closed lane costs one removal, not thousands.
    heads: SortedList[Entry] = field(default_factory=SortedList)
    closed: tuple[set[str], set[str]] = field(default_factory=lambda: (set(), set()))

    def is_open(self, lane: Lane) -> bool:
        return lane[GROUP] not in self.closed[GROUP] and lane[PROJECT] not in self.closed[PROJECT]


class Queue:
    __slots__ = ("_entries", "_levels")

    def __init__(self) -> None:
        self._levels = {priority: _Level() for priority in Priority}
        self._entries: dict[str, tuple[Priority, Entry]] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def lengths(self) -> dict[Priority, int]:
        return {priority: len(level.entries) for priority, level in self._levels.items()}

    def __contains__(self, run: str) -> bool:
        return run in self._entries

    def new_tag(self, priority: Priority, *, lane: Lane) -> int:
        level = self._levels[priority]
        waiting = level.lanes.get(lane)
        last = waiting[-1].tag if waiting else 0
        return max(level.served_tag, last) + 1

    def add(self, entry: Entry, priority: Priority) -> None:
        level = self._levels[priority]
        self._entries[entry.run] = (priority, entry)
        level.entries.add(entry)
        waiting = level.lanes.setdefault(entry.lane, SortedList())
        old_head = waiting[0] if waiting else None
        waiting.add(entry)
        if waiting[0] is entry and level.is_open(entry.lane):
            if old_head is not None:
                level.heads.remove(old_head)
            level.heads.add(entry)

    def remove(self, run: str, *, served: bool = False) -> int:
        """The tag it had, which is its place should it come back."""
        priority, entry = self._entries.pop(run)
        level = self._levels[priority]
        if served:
            self.was_served(priority, tag=entry.tag)
        level.entries.remove(entry)
        waiting = level.lanes[entry.lane]
        was_head = waiting[0] is entry
        waiting.remove(entry)
        if was_head and level.is_open(entry.lane):
            level.heads.remove(entry)
            if waiting:
                level.heads.add(self._next_head(level, waiting, priority))
        if not waiting:
            del level.lanes[entry.lane]
        return entry.tag

    def _next_head(self, level: _Level, waiting: SortedList[Entry], priority: Priority) -> Entry:
        """A lane's first is never more than one turn away, also when those before it left."""
        head = waiting[0]
        if head.tag <= level.served_tag + 1:
            return head
        sooner = head._replace(tag=level.served_tag + 1)
        for entries in (level.entries, waiting):
            entries.remove(head)
            entries.add(sooner)
        self._entries[head.run] = (priority, sooner)
        return sooner

    def was_served(self, priority: Priority, *, tag: int) -> None:
        level = self._levels[priority]
        level.served_tag = max(level.served_tag, tag)

    def park(self, group: str) -> None:
        """Leave the group's runs in their places, but pass them over (its breaker is open)."""
        self._pass_over(group, GROUP, on=True)

    def unpark(self, group: str) -> None:
        self._pass_over(group, GROUP, on=False)

    def hold(self, project: str) -> None:
        """Likewise the project's runs (as many as it allows are at work)."""
        self._pass_over(project, PROJECT, on=True)

    def release(self, project: str) -> None:
        self._pass_over(project, PROJECT, on=False)

    def _pass_over(self, name: str, part: int, *, on: bool) -> None:
        for priority, level in self._levels.items():
            closed = level.closed[part]
            if (name in closed) is on:
                continue
            lanes = [lane for lane in level.lanes if lane[part] == name]
            were_open = {lane for lane in lanes if level.is_open(lane)}
            (closed.add if on else closed.discard)(name)
            for lane in lanes:
                waiting = level.lanes[lane]
                if lane in were_open:
                    level.heads.remove(waiting[0])
                elif level.is_open(lane):
                    level.heads.add(self._next_head(level, waiting, priority))

    def may_start(self, run: str) -> bool:
        """In line, and not passed over."""
        if run not in self._entries:
            return False
        priority, entry = self._entries[run]
        return self._levels[priority].is_open(entry.lane)

    @property
    def is_of_one_priority(self) -> bool:
        """Of those that may start, that is."""
        return sum(bool(level.heads) for level in self._levels.values()) <= 1

    def in_sight(self, run: str, depth: int, *, ageing_s: float) -> bool:
        """Whether a look goes as far as this run; by the order of a look, not by its place."""
        if len(self) <= depth:
            return True
        if self._surely_behind(run, depth):
            return False
        return run in islice(self.in_order(ageing_s=ageing_s), depth)

    def _surely_behind(self, run: str, places: int) -> bool:
        """Whether at least so many of its own priority come before it, without counting them."""
        priority, entry = self._entries[run]
        level = self._levels[priority]
        if any(level.closed):
            return False
        return level.entries.bisect_left(entry) >= places

    def is_parked(self, group: str) -> bool:
        return any(group in level.closed[GROUP] for level in self._levels.values())

    def is_held(self, project: str) -> bool:
        return any(project in level.closed[PROJECT] for level in self._levels.values())

    def in_order(self, *, ageing_s: float, above: Priority | None = None) -> Iterator[str]:
        """Runs that may start, most entitled first; `above` leaves out that priority and lower.

        Lazy, so that the cost is that of the few that are looked at. Do not change the queue
        while iterating.
        """
        streams = [
            _level_in_order(level, handicap_s=ageing_s * priority)
            for priority, level in self._levels.items()
            if level.heads and (above is None or priority < above)
        ]
        # Most queues hold one priority only: then there is nothing to merge, at half the cost.
        for _, _, entry in streams[0] if len(streams) == 1 else heapq.merge(*streams):
            yield entry.run

    def place(self, run: str, *, ageing_s: float = math.inf) -> int:
        """1 for the first. Counts the priorities whose turn is before its own, and those ahead."""
        priority, entry = self._entries[run]
        ahead = self._levels[priority].entries.bisect_left(entry)
        # Most queues hold one priority only: then there are no turns to compare.
        others = [p for p, level in self._levels.items() if level.entries and p is not priority]
        if others:
            own_turn = self._turn(priority, ageing_s)
            before = (p for p in others if self._turn(p, ageing_s) < own_turn)
            ahead += sum(len(self._levels[p].entries) for p in before)
        return ahead + 1

    def _turn(self, priority: Priority, ageing_s: float) -> tuple[float, Priority]:
        """The virtual time of a priority: that of the one at its head."""
        entries = self._levels[priority].entries
        if math.isinf(ageing_s) or not entries:
            return 0.0, priority
        return entries[0].enqueued_at + ageing_s * priority, priority

    def ahead_of(self, run: str, *, most: int) -> list[str]:
        """Some of those in front of a run in its own priority, the nearest first."""
        priority, entry = self._entries[run]
        entries = self._levels[priority].entries
        index = entries.bisect_left(entry)
        return [entries[i].run for i in range(index - 1, max(-1, index - 1 - most), -1)]


def entry_of(run: Run) -> Entry:
    """Bounds are about this host: who lives elsewhere has none."""
    bounds = None if run.spec.away else run.spec.bounds
    project = bounds.project if bounds is not None else ""
    return Entry(run.tag, run.sequence, run.id, run.spec.group, run.enqueued_at, project)


def _level_in_order(level: _Level, *, handicap_s: float) -> Iterator[tuple[float, int, Entry]]:
    """Merge the lanes of one priority by (tag, sequence), touching only what is asked for."""
    heads = iter(level.heads)
    upcoming: Entry | None = next(heads, None)
    opened: list[tuple[Entry, int]] = []
    key = float("-inf")
    while upcoming is not None or opened:
        if upcoming is not None and (not opened or upcoming < opened[0][0]):
            entry, index = upcoming, 0
            upcoming = next(heads, None)
        else:
            entry, index = heapq.heappop(opened)
        waiting = level.lanes[entry.lane]
        if index + 1 < len(waiting):
            heapq.heappush(opened, (waiting[index + 1], index + 1))
        # heapq.merge wants rising keys: behind an old head a younger one may have an older key.
        key = max(key, entry.enqueued_at + handicap_s)
        yield key, entry.sequence, entry
