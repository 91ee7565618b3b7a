"""Which agents are listed, and in what order."""

from __future__ import annotations

from paddock.tui.ordering import SORTS, Wish, listed
from paddock.tui.picture import Agent
from tests.kit.fleet_views import GIB, a_queued_view, a_run_view, an_ended_view

FLEET = [
    Agent(a_run_view("small", memory_bytes=1, priority="low"), cpu=0.1),
    Agent(a_run_view("Large", memory_bytes=GIB, priority="critical"), cpu=2.0),
    Agent(a_queued_view("waits", 1, "full")),
    Agent(an_ended_view("over", "failed", "exit code 3", group="nightly")),
]


def names(wish: Wish) -> list[str]:
    return [agent.run.name for agent in listed(FLEET, wish)]


def test_unsorted_they_stand_as_they_are_served() -> None:
    assert names(Wish()) == ["small", "Large", "waits", "over"]


def test_sections_stay_together_however_they_are_sorted() -> None:
    for sort in SORTS:
        for turned in (False, True):
            found = [agent.section for agent in listed(FLEET, Wish(sort=sort, upside_down=turned))]
            assert found == [0, 0, 1, 2]


def test_the_largest_and_the_most_urgent_come_first() -> None:
    for sort in ("memory", "share", "cpu", "priority", "name"):
        assert names(Wish(sort=sort))[0] == "Large", sort
        assert names(Wish(sort=sort, upside_down=True))[0] == "small", sort


def test_the_same_sort_once_more_turns_it_over() -> None:
    wish = Wish().sorted_by("memory")
    assert (wish.sort, wish.upside_down) == ("memory", False)
    assert wish.sorted_by("memory").upside_down
    assert not wish.sorted_by("memory").sorted_by("cpu").upside_down


def test_a_filter_takes_words_of_name_group_state_and_priority() -> None:
    assert names(Wish(text="lar")) == ["Large"]
    assert names(Wish(text="NIGHT")) == ["over"]
    assert names(Wish(text="queued")) == ["waits"]
    assert names(Wish(text="running !critical")) == ["small"]
    assert names(Wish(text="running queued")) == []
    assert names(Wish(ended=False)) == ["small", "Large", "waits"]
