"""Whose a process is, from tables made by hand."""

from __future__ import annotations

import os

import pytest

from paddock.drivers.local.keeper.members import Census, Leads, Process, look_at, parse_stat, send

KEEPER = 10


def whose(
    lines: list[tuple[int, int, int]], marks: dict[int, str] | None = None, **leads: dict[int, str]
) -> dict[str, list[int]]:
    """`lines` are (pid, parent, session); the keeper is 10, and `a` and `b` are its attempts."""
    known = Leads(KEEPER)
    known.mains = leads.get("mains", {})
    known.ended = leads.get("ended", {})
    known.marks = {"mark-a": "a", "mark-b": "b"}
    table = {pid: Process(pid, "S", parent, session, start=1) for pid, parent, session in lines}
    table.setdefault(1, Process(1, "S", 0, 1, start=0))
    table.setdefault(KEEPER, Process(KEEPER, "S", 1, 9, start=0))
    found = Census(table, known, (marks or {}).get).members
    return {name: sorted(one.pid for one in members) for name, members in found.items()}


def test_descendants_of_a_main_process_are_its_own_whatever_they_changed() -> None:
    lines = [(20, KEEPER, 20), (21, 20, 21), (22, 21, 22), (30, KEEPER, 30), (31, 30, 30)]
    found = whose(lines, {22: "mark-b"}, mains={20: "a", 30: "b"})
    assert found == {"a": [20, 21, 22], "b": [30, 31]}


def test_a_daemonized_one_is_found_by_its_mark_and_takes_its_children_along() -> None:
    lines = [(40, KEEPER, 40), (41, 40, 41), (42, 41, 42)]
    assert whose(lines, {40: "mark-a"}) == {"a": [40, 41, 42]}


def test_a_mark_counts_also_where_the_keeper_is_no_ancestor() -> None:
    assert whose([(40, 1, 40), (41, 40, 40)], {40: "mark-a"}) == {"a": [40, 41]}


def test_an_orphan_without_mark_is_found_by_the_session_of_a_live_main() -> None:
    lines = [(20, KEEPER, 20), (25, KEEPER, 20)]
    assert whose(lines, mains={20: "a"}) == {"a": [20, 25]}


def test_an_orphan_without_mark_is_found_by_the_session_of_a_dead_main() -> None:
    assert whose([(25, KEEPER, 20), (26, 25, 26)], ended={20: "a"}) == {"a": [25, 26]}


def test_a_session_number_that_is_in_use_again_is_somebody_elses() -> None:
    lines = [(20, KEEPER, 20), (21, 20, 20)]
    assert whose(lines, ended={20: "a"}) == {}
    assert whose(lines, mains={20: "b"}, ended={20: "a"}) == {"b": [20, 21]}


def test_a_session_counts_only_below_the_keeper() -> None:
    assert whose([(25, 1, 20)], ended={20: "a"}) == {}


def test_the_keeper_itself_and_strangers_are_nobodys() -> None:
    assert whose([(50, 1, 50), (51, KEEPER, 51)], {50: "mark-x"}) == {}


def test_a_ring_of_parents_ends() -> None:
    """Read one by one, the lines of /proc are of different moments."""
    assert whose([(60, 61, 60), (61, 60, 60)], {61: "mark-a"}) == {"a": [60, 61]}


@pytest.mark.parametrize("name", ["sh", "a b", "(sd-pam)", ") R 1 2 3 (", "x)", "\xff"])
def test_the_name_of_a_program_may_be_anything(name: str) -> None:
    numbers = " ".join(str(number) for number in range(5, 40))
    line = f"123 ({name}) S 7 8 9 {numbers}".encode("latin-1")
    process = parse_stat(line)
    assert (process.pid, process.state, process.parent, process.session) == (123, "S", 7, 9)
    assert process.start == 20


def test_a_signal_wants_the_right_start() -> None:
    me = look_at(os.getpid())
    assert me is not None
    assert not send(me.pid, me.start - 1, 0)
    assert send(me.pid, me.start, 0)
