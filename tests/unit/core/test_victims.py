"""ADM-3: who gives way, and what is said about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from paddock.core.run import Priority
from paddock.core.units import GIB, parse_size
from paddock.core.victims import Bytes, Candidate, because, choose, ranked


def a_candidate(name: str, *, used: str = "2G", expected: str = "2G", **facts: Any) -> Candidate:
    plain = Candidate(
        run=name,
        name=name,
        priority=Priority.NORMAL,
        used_bytes=parse_size(used),
        expected_bytes=parse_size(expected),
        started_at=0.0,
        sequence=0,
    )
    return replace(plain, **facts)


def names(candidates: list[Candidate]) -> list[str]:
    return [candidate.run for candidate in candidates]


def freeing(gib: int, candidates: list[Candidate]) -> list[str]:
    return names(choose(candidates, Bytes(gib * GIB)))


def test_the_lowest_priority_goes_first() -> None:
    low = a_candidate("low", priority=Priority.LOW)
    high = a_candidate("high", priority=Priority.HIGH, used="9G")
    assert names(ranked([high, low])) == ["low", "high"]


def test_then_the_largest_use_over_its_expected_size() -> None:
    over = a_candidate("over", used="3G", expected="1G")
    large = a_candidate("large", used="8G", expected="8G")
    assert names(ranked([large, over])) == ["over", "large"]


def test_then_the_newest() -> None:
    old, new = a_candidate("old", started_at=1.0), a_candidate("new", started_at=2.0)
    assert names(ranked([old, new])) == ["new", "old"]


def test_the_protected_go_last_among_their_like() -> None:
    tired = a_candidate("tired", protected=True, started_at=9.0)
    fresh = a_candidate("fresh")
    assert names(ranked([tired, fresh])) == ["fresh", "tired"]


def test_no_more_are_chosen_than_are_needed() -> None:
    three = [a_candidate(f"r{i}", started_at=i) for i in range(3)]
    assert freeing(4, three) == ["r2", "r1"]
    assert freeing(0, three) == []


def test_one_that_turned_out_not_to_be_needed_is_let_off() -> None:
    small = a_candidate("small", used="1G", priority=Priority.LOW)
    large = a_candidate("large", used="8G")
    assert freeing(8, [small, large]) == ["large"]


def test_where_all_together_are_not_enough_all_are_named() -> None:
    assert sorted(freeing(100, [a_candidate("a"), a_candidate("b")])) == ["a", "b"]


def test_the_reason_says_why_what_is_freed_and_who_is_spared() -> None:
    victim = a_candidate("v", priority=Priority.LOW, used="3G", expected="2G")
    spared = [a_candidate(f"s{i}") for i in range(5)]
    assert because(victim, cause="host memory at 96 %", spared=spared) == (
        "host memory at 96 %; frees 3 GiB (low priority, 1 GiB over its expected size); "
        "spared s0 (normal), s1 (normal), s2 (normal) and 2 more"
    )
    assert because(victim, cause="x", spared=[]).endswith("over its expected size)")
