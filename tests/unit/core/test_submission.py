"""Taking runs in: whole, or not at all."""

from __future__ import annotations

import pytest

from paddock.core.events import PolicyChanged
from paddock.core.run import Outcome, Queued, RunSpec
from tests.kit.factories import a_policy, a_spec
from tests.kit.yard import Yard, refusals


def refused(yard: Yard, *specs: RunSpec, known: dict[str, Outcome] | None = None) -> str:
    before = dict(yard.fleet.runs)
    (because,) = refusals(yard.submit(*specs, known=known))
    assert yard.fleet.runs == before
    return because


def test_a_full_queue_refuses_and_keeps_what_it_has() -> None:
    yard = Yard(a_policy(queue_depth=2, max_agents=1))
    yard.submit(a_spec("live"))
    yard.submit(a_spec("a"), a_spec("b"))
    assert refused(yard, a_spec("c")) == (
        "the queue is full: 2 of 2 places are taken and 1 are asked for; "
        "wait for some to end, or raise queue.depth"
    )


def test_one_bad_run_refuses_the_whole_submission() -> None:
    yard = Yard()
    assert "big: its limit" in refused(yard, a_spec("ok"), a_spec("big", memory="13G"))


def test_the_same_submission_again_is_the_same_submission() -> None:
    yard = Yard()
    yard.submit(a_spec())
    assert yard.submit(a_spec()) == []
    assert list(yard.fleet.runs) == ["a"]


def test_another_run_with_a_known_id_is_refused() -> None:
    yard = Yard()
    yard.submit(a_spec())
    assert refused(yard, a_spec(memory="3G")) == "a: there is already a run with the id a"
    assert refused(yard, a_spec("b"), a_spec("b")) == "two runs of one submission have the same id"


def test_a_need_is_waited_for() -> None:
    yard = Yard()
    yard.submit(a_spec("build"), a_spec("test", needs=("build",)))
    assert yard.live == ["build"]
    assert yard.why("test") == "waits for build to succeed"
    yard.end("build")
    assert yard.live == ["test"]


def test_all_needs_are_waited_for() -> None:
    yard = Yard()
    yard.submit(a_spec("a"), a_spec("b"), a_spec("c", needs=("a", "b")))
    yard.end("a")
    assert yard.why("c") == "waits for b to succeed"
    yard.end("b")
    assert yard.live == ["c"]


def test_a_need_may_be_retried_before_it_succeeds() -> None:
    yard = Yard()
    yard.submit(a_spec("a", retries=1), a_spec("b", needs=("a",)))
    yard.end("a", 1)
    assert isinstance(yard.state("b"), Queued)
    yard.advance(6)
    yard.end("a")
    assert yard.live == ["b"]


def test_a_failed_need_skips_everything_behind_it() -> None:
    yard = Yard()
    yard.submit(a_spec("a"), a_spec("b", needs=("a",)), a_spec("c", needs=("b",)), a_spec("d"))
    yard.end("a", 1)
    assert yard.outcome("b") is yard.outcome("c") is Outcome.SKIPPED
    assert yard.why("c") == "skipped: it needs b, which ended as skipped"
    assert yard.live == ["d"]


def test_needs_in_a_circle_are_refused_with_the_circle() -> None:
    because = refused(Yard(), a_spec("a", needs=("b",)), a_spec("b", needs=("a",)))
    assert because.startswith("these need each other in a circle: ")
    assert because.count("a") >= 1 and " → " in because
    assert "circle" in refused(Yard(), a_spec("a", needs=("a",)))


def test_an_unknown_or_failed_need_is_refused() -> None:
    yard = Yard()
    assert refused(yard, a_spec(needs=("x",))) == "a: it needs x, and there is no such run"
    yard.submit(a_spec("bad"))
    yard.end("bad", 1)
    assert refused(yard, a_spec(needs=("bad",))) == "a: it needs bad, which ended as failed"


def test_needs_that_ended_long_ago_are_told_of() -> None:
    yard = Yard()
    yard.submit(a_spec("a", needs=("old",)), known={"old": Outcome.SUCCEEDED})
    assert yard.live == ["a"]
    assert "ended as lost" in refused(yard, a_spec("b", needs=("x",)), known={"x": Outcome.LOST})


def test_a_need_that_ended_well_is_met() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    yard.end("a")
    yard.submit(a_spec("b", needs=("a",)))
    assert yard.live == ["b"]


def test_a_smaller_wall_refuses_what_waits_and_could_wait_for_ever() -> None:
    yard = Yard(sampled=False)
    yard.submit(
        a_spec("big", memory="10G"), a_spec("small"), a_spec("behind", needs=("big",), memory="9G")
    )
    yard.tell(PolicyChanged(yard.now, a_policy(reserve="8G")))
    assert yard.outcome("big") is Outcome.REFUSED
    assert "can never fit: the fleet's wall is 8 GiB" in yard.why("big")
    assert yard.outcome("behind") is Outcome.SKIPPED
    assert yard.queued == ["small"]


def test_it_does_so_however_few_ended_runs_are_kept() -> None:
    yard = Yard(sampled=False)
    yard.submit(*(a_spec(f"r{i}", memory="10G") for i in range(5)))
    yard.submit(a_spec("behind", needs=("r0",), memory="10G"))
    yard.tell(PolicyChanged(yard.now, a_policy(reserve="8G", keep_ended=1)))
    assert set(yard.outcomes()) == {"behind", *(f"r{i}" for i in range(5))}


@pytest.mark.parametrize("how", ["later", "lost", "failed"])
def test_what_runs_when_the_wall_shrinks_goes_on_but_does_not_come_back(how: str) -> None:
    yard = Yard()
    yard.run(a_spec("big", memory="10G", retries=1))
    yard.tell(PolicyChanged(yard.now, a_policy(reserve="8G")))
    assert yard.running == ["big"]
    match how:
        case "later":
            yard.end("big", 75)
        case "lost":
            yard.lose("big")
        case _:
            yard.end("big", 1)
    assert yard.outcome("big") is Outcome.REFUSED
    assert "can never fit" in yard.why("big")


def test_only_so_many_ended_runs_are_kept_in_memory() -> None:
    yard = Yard(a_policy(keep_ended=2))
    for number in range(4):
        yard.submit(a_spec(f"r{number}"))
        yard.end(f"r{number}")
    assert list(yard.fleet.runs) == ["r2", "r3"]
