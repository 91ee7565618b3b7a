"""The queue against a plain list that is sorted anew each time it is asked."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from paddock.core.queue import Entry, Lane, Queue
from paddock.core.run import Priority

GROUPS = st.sampled_from(["a", "b", "c"])
PROJECTS = st.sampled_from(["", "", "p", "q"])
PRIORITIES = st.sampled_from(Priority)
AGEING_S = 100.0


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.queue = Queue()
        self.waiting: dict[str, tuple[Priority, Entry]] = {}
        self.served: list[tuple[Priority, Entry]] = []
        self.parked: set[str] = set()
        self.held: set[str] = set()
        self.now = 0.0
        self.count = 0

    def some_wait(self) -> bool:
        return bool(self.waiting)

    @rule(
        lane=st.tuples(GROUPS, PROJECTS),
        priority=PRIORITIES,
        seconds=st.sampled_from([0.0, 30.0, 150.0]),
    )
    def line_up(self, lane: Lane, priority: Priority, seconds: float) -> None:
        self.now += seconds
        self.count += 1
        tag = self.queue.new_tag(priority, lane=lane)
        assert all(tag > entry.tag for p, entry in self.served if p is priority)
        own = [e for p, e in self.waiting.values() if p is priority and e.lane == lane]
        assert all(tag > entry.tag for entry in own), "first in, first out within a group"
        self._add(Entry(tag, self.count, f"r{self.count}", lane[0], self.now, lane[1]), priority)

    def _add(self, entry: Entry, priority: Priority) -> None:
        self.waiting[entry.run] = (priority, entry)
        self.queue.add(entry, priority)

    @precondition(some_wait)
    @rule(number=st.integers(0, 1000), served=st.booleans())
    def leave(self, number: int, *, served: bool) -> None:
        name = list(self.waiting)[number % len(self.waiting)]
        self._go(name, served=served)

    def _go(self, name: str, *, served: bool) -> None:
        priority, entry = found = self.waiting.pop(name)
        assert self.queue.remove(name, served=served) == entry.tag
        if served:
            self.served.append(found)
        own = self._lane(priority, entry.lane)
        if own and entry < own[0] and self._is_open(entry.lane):
            self._come_forward(priority, own[0])

    def _come_forward(self, priority: Priority, head: Entry) -> None:
        """Those before it left: it is one turn away at most."""
        turn = max((e.tag for p, e in self.served if p is priority), default=0) + 1
        if head.tag > turn:
            self.waiting[head.run] = (priority, head._replace(tag=turn))

    def _lane(self, priority: Priority, lane: Lane) -> list[Entry]:
        return [entry for entry in self._level(priority) if entry.lane == lane]

    def _is_open(self, lane: Lane) -> bool:
        return lane[0] not in self.parked and lane[1] not in self.held

    @precondition(some_wait)
    @rule()
    def serve_the_first(self) -> None:
        name = next(self.queue.in_order(ageing_s=AGEING_S), None)
        if name is not None:
            self._go(name, served=True)

    @rule(number=st.integers(0, 1000))
    def come_back(self, number: int) -> None:
        if self.served:
            priority, entry = self.served[number % len(self.served)]
            if entry.run not in self.waiting:
                self._add(entry, priority)

    @rule(group=GROUPS, park=st.booleans())
    def park_or_unpark(self, group: str, *, park: bool) -> None:
        were_shut = self._shut()
        (self.queue.park if park else self.queue.unpark)(group)
        (self.parked.add if park else self.parked.discard)(group)
        self._opened(were_shut)

    @rule(project=st.sampled_from(["p", "q"]), hold=st.booleans())
    def hold_or_release(self, project: str, *, hold: bool) -> None:
        were_shut = self._shut()
        (self.queue.hold if hold else self.queue.release)(project)
        (self.held.add if hold else self.held.discard)(project)
        self._opened(were_shut)

    def _shut(self) -> set[Lane]:
        lanes = {entry.lane for _, entry in self.waiting.values()}
        return {lane for lane in lanes if not self._is_open(lane)}

    def _opened(self, were_shut: set[Lane]) -> None:
        for priority in Priority:
            for lane in filter(self._is_open, were_shut):
                for head in self._lane(priority, lane)[:1]:
                    self._come_forward(priority, head)

    # -- the plain list -------------------------------------------------------------------

    def _level(self, priority: Priority) -> list[Entry]:
        return sorted(entry for p, entry in self.waiting.values() if p is priority)

    def _in_order(self, above: Priority | None) -> list[str]:
        """Merge the levels: always the head whose key (never below the last) is smallest."""
        levels = {
            p: [e for e in self._level(p) if self._is_open(e.lane)]
            for p in Priority
            if above is None or p < above
        }
        floors = dict.fromkeys(levels, float("-inf"))
        order: list[str] = []
        while any(levels.values()):
            heads = [
                (max(floors[p], entries[0].enqueued_at + AGEING_S * p), entries[0].sequence, p)
                for p, entries in levels.items()
                if entries
            ]
            key, _, priority = min(heads)
            floors[priority] = key
            order.append(levels[priority].pop(0).run)
        return order

    @invariant()
    def the_order_is_that_of_a_sorted_list(self) -> None:
        for above in (None, Priority.LOW):
            seen = list(self.queue.in_order(ageing_s=AGEING_S, above=above))
            assert seen == self._in_order(above)

    @invariant()
    def places_are_counted_right(self) -> None:
        line = [entry.run for p in Priority for entry in self._level(p)]
        assert [self.queue.place(run) for run in line] == list(range(1, len(line) + 1))
        assert len(self.queue) == len(line)
        for priority in Priority:
            level = [entry.run for entry in self._level(priority)]
            for index, run in enumerate(level):
                assert self.queue.ahead_of(run, most=2) == level[max(0, index - 2) : index][::-1]

    @invariant()
    def the_parked_are_known(self) -> None:
        for group in ("a", "b", "c"):
            assert self.queue.is_parked(group) == (group in self.parked)
        for project in ("p", "q"):
            assert self.queue.is_held(project) == (project in self.held)
        for run, (_, entry) in self.waiting.items():
            assert self.queue.may_start(run) == self._is_open(entry.lane)


TestQueue = QueueMachine.TestCase
