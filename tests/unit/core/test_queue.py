"""Order alone: turns between groups, priorities that age, places that are kept."""

from __future__ import annotations

from paddock.core.queue import Entry, Queue
from paddock.core.run import Priority

NORMAL, HIGH, LOW = Priority.NORMAL, Priority.HIGH, Priority.LOW


class Line:
    """A queue that gives numbers and tags as a fleet does."""

    def __init__(self) -> None:
        self.queue = Queue()
        self._sequence = 0

    def add(
        self, *names: str, group: str = "g", priority: Priority = NORMAL, at: float = 0
    ) -> None:
        for name in names:
            self._sequence += 1
            tag = self.queue.new_tag(priority, lane=(group, ""))
            self.queue.add(Entry(tag, self._sequence, name, group, at), priority)

    def order(self, *, ageing_s: float = 3600.0, above: Priority | None = None) -> str:
        return " ".join(self.queue.in_order(ageing_s=ageing_s, above=above))

    def serve(self) -> str:
        first = next(self.queue.in_order(ageing_s=3600.0))
        self.queue.remove(first, served=True)
        return first


def test_one_group_is_served_first_in_first_out() -> None:
    line = Line()
    line.add("a", "b", "c")
    assert line.order() == "a b c"


def test_groups_take_turns() -> None:
    line = Line()
    line.add("a1", "a2", "a3", "a4", group="a")
    line.add("b1", "b2", group="b")
    assert line.order() == "a1 b1 a2 b2 a3 a4"


def test_a_latecomer_of_another_group_does_not_wait_for_a_thousand() -> None:
    line = Line()
    line.add(*(f"a{i}" for i in range(1000)), group="a")
    for _ in range(500):
        line.serve()
    line.add("b", group="b")
    assert [line.serve() for _ in range(3)] == ["a500", "b", "a501"]


def test_a_group_that_was_away_has_saved_up_no_turns() -> None:
    line = Line()
    line.add("a0", "a1", "a2", "a3", "a4", group="a")
    for _ in range(3):
        line.serve()
    line.add("b0", "b1", "b2", group="b")
    assert line.order() == "a3 b0 a4 b1 b2"


def test_no_stream_of_new_groups_starves_anyone() -> None:
    line = Line()
    line.add(*(f"a{i}" for i in range(10)), group="a")
    served: list[str] = []
    for number in range(60):
        line.add(f"new{number}", group=f"g{number}")
        served.append(line.serve())
    assert "a9" in served


def test_the_more_urgent_go_first() -> None:
    line = Line()
    line.add("low", priority=LOW)
    line.add("normal")
    line.add("high", priority=HIGH)
    line.add("critical", priority=Priority.CRITICAL)
    assert line.order() == "critical high normal low"


def test_waiting_long_enough_beats_any_priority() -> None:
    line = Line()
    line.add("low", priority=LOW, at=0)
    line.add("early", priority=Priority.CRITICAL, at=3 * 3600 - 1)
    line.add("late", priority=Priority.CRITICAL, at=3 * 3600 + 1, group="other")
    assert line.order() == "early low late"


def test_a_priority_and_all_below_it_can_be_left_out() -> None:
    line = Line()
    line.add("low", priority=LOW)
    line.add("normal")
    assert line.order(above=LOW) == "normal"


def test_who_comes_back_with_its_tag_has_its_place_again() -> None:
    line = Line()
    line.add("a", "b", "c")
    _, entry = line.queue._entries["a"]  # noqa: SLF001
    assert line.serve() == "a"
    line.queue.add(entry, NORMAL)
    assert line.order() == "a b c"


def test_a_parked_group_keeps_its_places_and_is_passed_over() -> None:
    line = Line()
    line.add("a1", "a2", group="a")
    line.add("b1", group="b")
    line.queue.park("a")
    line.add("a3", group="a")
    assert line.order() == "b1"
    assert line.queue.place("a2") == 3
    assert len(line.queue) == 4
    line.queue.unpark("a")
    assert line.order() == "a1 b1 a2 a3"


def test_one_can_leave_a_parked_group() -> None:
    line = Line()
    line.add("a1", "a2", group="a")
    line.queue.park("a")
    line.queue.remove("a1")
    line.queue.unpark("a")
    assert line.order() == "a2"


def test_places_count_the_more_urgent_and_those_ahead() -> None:
    line = Line()
    line.add("a", "b")
    line.add("urgent", priority=HIGH)
    assert [line.queue.place(name) for name in ("urgent", "a", "b")] == [1, 2, 3]
    assert line.queue.ahead_of("b", most=2) == ["a"]
    assert line.queue.ahead_of("a", most=2) == []


def test_newcomers_line_up_behind_the_last_turn_that_was_served() -> None:
    line = Line()
    line.queue.was_served(NORMAL, tag=7)
    assert line.queue.new_tag(NORMAL, lane=("x", "")) == 8
    assert line.queue.new_tag(HIGH, lane=("x", "")) == 1
