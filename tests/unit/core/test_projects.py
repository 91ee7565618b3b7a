"""Bounds that a project sets for its own runs: kept, told, and nobody else's trouble."""

from __future__ import annotations

from typing import Any

from paddock.core.policy import Admission
from paddock.core.run import Bounds, Priority, Running, RunSpec
from paddock.core.units import GIB
from tests.kit.factories import a_policy, a_spec, with_parts
from tests.kit.yard import Yard, refusals

FILE = "/repo/.paddock/config.yaml"


def of_project(name: str, *, file: str = FILE, **bounds: Any) -> RunSpec:
    return a_spec(name, memory="1G", bounds=Bounds(project=file, **bounds))


def several(count: int, **bounds: Any) -> list[RunSpec]:
    return [of_project(f"p{i}", **bounds) for i in range(count)]


def test_a_projects_cap_holds_for_its_runs_and_for_nobody_else() -> None:
    yard = Yard()
    yard.run(*several(4, agents=1))
    yard.run(a_spec("other", memory="1G"), of_project("elsewhere", file="/b", agents=1))
    assert sorted(yard.live) == ["elsewhere", "other", "p0"]
    yard.end("p0")
    assert sorted(yard.live) == ["elsewhere", "other", "p1"]


def test_its_many_that_wait_do_not_hide_a_run_behind_them() -> None:
    """More than a look goes deep, of the same group and the same priority."""
    yard = Yard(a_policy(backfill_depth=4))
    yard.run(*several(40, agents=1))
    yard.submit(a_spec("other", memory="1G"))
    assert sorted(yard.live) == ["other", "p0"]


def test_why_says_that_its_project_allows_no_more() -> None:
    yard = Yard()
    yard.run(*several(3, agents=1))
    why = yard.why("p1")
    assert "the one agent that its project allows at once is at work" in why
    assert FILE in why


def test_an_urgent_run_of_a_full_project_stops_nobody() -> None:
    """Nobody's memory would help it."""
    yard = Yard(a_policy(min_run_s=0.0))
    yard.run(of_project("first", agents=1))
    low = a_spec("low", memory="1G", priority=Priority.LOW)
    yard.run(low)
    yard.advance(60)
    bounds = Bounds(project=FILE, agents=1)
    yard.submit(a_spec("urgent", memory="1G", priority=Priority.CRITICAL, bounds=bounds))
    assert sorted(yard.live) == ["first", "low"]


def test_what_the_newest_was_submitted_with_holds_for_all_of_the_project() -> None:
    yard = Yard()
    yard.run(*several(3, agents=1))
    yard.submit(of_project("more", agents=3))
    assert sorted(yard.live) == ["p0", "p1", "p2"]
    yard.submit(of_project("fewer", agents=1))
    yard.end("p0")
    yard.end("p1")
    assert sorted(yard.live) == ["p2"]


def test_the_cap_is_kept_over_a_restart() -> None:
    yard = Yard()
    yard.run(*several(3, agents=1))
    again = yard.reborn()
    again.sample()
    again.submit(of_project("new", agents=1))
    assert sorted(again.live) == ["p0"]
    again.end("p0")
    assert sorted(again.live) == ["p1"]


def test_more_than_may_wait_of_a_project_are_refused_with_the_file_that_says_so() -> None:
    yard = Yard()
    actions = yard.submit(*several(3, agents=1, waiting=2))
    (refusal,) = refusals(actions)
    assert "its project's queue is full: 0 of 2 places are taken and 3 are asked for" in refusal
    assert FILE in refusal
    yard.submit(*several(2, agents=1, waiting=2))
    yard.submit(of_project("third", agents=1, waiting=2))
    (refusal,) = refusals(yard.submit(of_project("fourth", agents=1, waiting=2)))
    assert "2 of 2 places are taken" in refusal
    yard.submit(a_spec("other", memory="1G"))
    assert "other" in yard.live


def test_a_project_that_wants_guarantees_is_counted_with_its_limits() -> None:
    """Its group was seen to use little; others of the group go by that."""
    yard = Yard(with_parts(a_policy(admission=Admission.LEARNED), sizing={"evidence": 2}))
    for name in ("one", "two", "three"):
        yard.run(a_spec(name, memory="4G"))
        yard.sample(**{name: "100M"})
        yard.advance(600)
        yard.end(name)
    yard.sample()
    usual, bound = a_spec("usual", memory="4G"), Bounds(project=FILE, by_limits=True)
    strict = a_spec("strict", memory="4G", bounds=bound)
    yard.run(usual, strict)
    assert yard.in_state("usual", Running).hold.expected_bytes < 4 * GIB
    assert yard.in_state("strict", Running).hold.expected_bytes == 4 * GIB


def test_runs_on_other_machines_are_not_bound() -> None:
    yard = Yard()
    bounds = Bounds(project=FILE, agents=1)
    yard.submit(*(a_spec(f"far{i}", memory="1G", away=True, bounds=bounds) for i in range(3)))
    assert len(yard.live) == 3
