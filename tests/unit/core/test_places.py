"""Runs for which there was no place to work in: they wait, and that is all."""

from __future__ import annotations

from paddock.core.actions import StartAttempt
from paddock.core.events import PlacesFreed, RepositoryWeighed, Started, StartPutOff
from paddock.core.run import Complexity, Outcome, Priority, Queued, Running, Starting
from tests.kit.factories import a_spec
from tests.kit.yard import Yard, only

FULL = "all 10 workspaces are in use"


def put_off(yard: Yard, name: str, *, retry_s: float = 3600.0, place: bool = True) -> None:
    yard.tell(StartPutOff(yard.now, yard.attempt(name), FULL, retry_s, awaits_place=place))


def test_waiting_for_a_workspace_is_no_attempt_and_says_why() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    put_off(yard, "a")
    assert isinstance(yard.state("a"), Queued) and not yard.live
    assert (yard["a"].attempts, yard["a"].failures, yard["a"].losses) == (0, 0, 0)
    assert yard.why("a") == f"waits for a workspace: {FULL}"


def test_nothing_is_told_of_it_until_a_place_comes_free() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    put_off(yard, "a")
    yard.advance(1800)
    yard.sample()
    assert yard.fleet.changes == []
    [start] = only(yard.tell(PlacesFreed(yard.now, 1)), StartAttempt)
    assert start.attempt == ("a", 1) and not start.resume, "it never ran"
    yard.tell(Started(yard.now, start.attempt))
    yard.end("a")
    assert yard.outcome("a") is Outcome.SUCCEEDED and yard["a"].attempts == 1


def test_places_go_to_those_whose_turn_it_is() -> None:
    yard = Yard()
    yard.submit(a_spec("a"), a_spec("b"), a_spec("urgent", priority=Priority.CRITICAL))
    for name in ("b", "a", "urgent"):
        put_off(yard, name)
    yard.tell(PlacesFreed(yard.now, 2))
    assert yard.live == ["a", "urgent"] and yard.queued == ["b"]
    yard.tell(PlacesFreed(yard.now, 5))
    assert yard.live == ["a", "b", "urgent"]


def test_should_nobody_tell_it_is_tried_again_all_the_same() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    put_off(yard, "a", retry_s=20.0)
    yard.advance(20)
    assert isinstance(yard.state("a"), Starting)
    put_off(yard, "a", retry_s=2.0, place=False)
    waits = yard.in_state("a", Queued)
    assert waits.not_before_at == yard.now + 2.0 and not waits.awaits_place
    yard.tell(PlacesFreed(yard.now, 1))
    assert isinstance(yard.state("a"), Queued), "it waits for something else"
    yard.advance(2.0)
    assert isinstance(yard.state("a"), Starting)


def test_who_waits_for_a_place_still_does_after_a_restart() -> None:
    yard = Yard()
    yard.submit(a_spec("a"), a_spec("b"))
    put_off(yard, "a")
    yard = yard.reborn()
    yard.sample()
    assert list(yard.fleet.placeless) == ["a"]
    yard.cancel("a")
    assert not yard.fleet.placeless


def test_a_repository_weighed_after_the_fetch_makes_the_timeout_longer() -> None:
    yard = Yard()
    names = ("plain", "large")
    yard.submit(*(a_spec(name, complexity=Complexity.SIMPLE) for name in names))
    yard.submit(a_spec("said", hard_timeout_s=60.0))
    for name in ("large", "said"):
        yard.tell(RepositoryWeighed(yard.now, yard.attempt(name), 1.5))
    assert yard.reborn()["large"].repository_factor == 1.5
    yard.confirm()
    ends = {name: yard.in_state(name, Running).hard_at for name in (*names, "said")}
    simple_s = yard.fleet.policy.timeouts.simple_s
    assert ends == {
        "plain": yard.now + simple_s,
        "large": yard.now + 1.5 * simple_s,
        "said": yard.now + 60.0,
    }
    yard.tell(RepositoryWeighed(yard.now, yard.attempt("plain"), 2.0))
    assert yard.in_state("plain", Running).hard_at == yard.now + simple_s, "it runs already"


def test_a_project_may_say_what_a_simple_change_takes() -> None:
    yard = Yard()
    yard.submit(a_spec("a", complexity=Complexity.SIMPLE, simple_s=100.0))
    yard.tell(RepositoryWeighed(yard.now, yard.attempt("a"), 1.25))
    yard.confirm()
    assert yard.in_state("a", Running).hard_at == yard.now + 125.0
