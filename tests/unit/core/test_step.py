"""The shape of a step: allowed moves, the clock, and what a fleet must always be."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from paddock.core.events import Host, Submitted, TimePassed
from paddock.core.fleet import Fleet, ForbiddenMove
from paddock.core.invariants import violations
from paddock.core.pressure import Rung
from paddock.core.run import ALLOWED_MOVES, Ended, Outcome, Queued
from paddock.core.step import step
from paddock.core.timers import Timer, TimerKind
from paddock.core.units import GIB
from tests.kit.factories import a_policy, a_spec, with_parts
from tests.kit.yard import Yard, refusals


def test_a_forbidden_move_raises() -> None:
    yard = Yard()
    yard.submit(a_spec())
    yard.end("a")
    with pytest.raises(ForbiddenMove, match="run a: Ended to Queued"):
        yard.fleet.move(yard["a"], Queued(0.0), "again")


def test_nothing_leaves_the_end() -> None:
    assert ALLOWED_MOVES[Ended] == frozenset()


def test_the_changes_of_a_step_are_what_is_remembered() -> None:
    yard = Yard()
    yard.submit(a_spec())
    assert [type(change.before) for change in yard.fleet.changes] == [type(None), Queued]
    yard.advance(1)
    assert yard.fleet.changes == []


def test_a_sample_that_changes_nothing_writes_nothing() -> None:
    yard = Yard()
    yard.run(a_spec())
    for _ in range(3):
        yard.now += 1
        assert yard.sample(a="1G") == []
        assert yard.fleet.changes == []


def test_timers_that_no_longer_count_do_not_pile_up() -> None:
    fleet = Fleet(a_policy())
    for number in range(10_000):
        fleet.wake(Timer(float(number), TimerKind.WAKE, "nobody"))
    assert fleet.next_deadline is None


def test_the_same_events_give_the_same_actions() -> None:
    yard = Yard(with_parts(a_policy(), breaker={"failures": 99}))
    yard.run(*(a_spec(f"r{i}", retries=2) for i in range(4)))
    for _ in range(3):
        for name in yard.live:
            yard.end(name, 1)
        yard.advance(30)
    fleet = Fleet(yard.fleet.policy)
    assert [step(fleet, event) for event in yard.events] == yard.answers
    assert fleet.runs == yard.fleet.runs


def broken(yard: Yard) -> str:
    return "; ".join(violations(yard.fleet))


def test_the_invariants_see_a_lost_index() -> None:
    yard = Yard()
    yard.submit(a_spec("a"), a_spec("b", memory="12G"))
    assert broken(yard) == ""
    yard.fleet.waiting += 1
    assert "1 runs are queued, 2 are counted" in broken(yard)
    yard.fleet.waiting -= 1
    yard.fleet.queue.remove("b")
    assert "run b: ready without standing in line" in broken(yard)


def test_the_invariants_see_memory_that_nobody_holds() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    yard.fleet.demand.enter("ghost", group="coder", limit_bytes=1)
    assert "1 are live, 2 hold memory" in broken(yard)


def test_the_invariants_see_a_sum_that_is_wrong() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    sums = yard.fleet.demand.sums
    yard.fleet.demand.sums = sums._replace(fixed_bytes=sums.fixed_bytes - 1)
    assert "the sums of what is held are not what is held" in broken(yard)


def test_the_invariants_see_a_run_that_waits_for_nobody() -> None:
    yard = Yard()
    yard.submit(a_spec("a"), a_spec("b", needs=("a",)))
    yard.fleet.runs["a"] = replace(yard["a"], state=Ended(0.0, Outcome.FAILED, ""))
    assert "run b: waits for a, which has ended" in broken(yard)
    yard.fleet.dependents.clear()
    assert "run b: waits for a, which will not tell it" in broken(yard)


def test_the_invariants_see_an_attempt_that_was_never_counted() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    yard.fleet.runs["a"] = replace(yard["a"], attempts=2)
    assert "attempt 1 is under way, but 2 were started" in broken(yard)


def test_the_invariants_see_a_deadline_that_nobody_watches() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    yard.fleet.now = 1000.0
    assert "a deadline at 60.0 is past" in broken(yard)


def test_the_invariants_see_a_breaker_the_queue_does_not_know() -> None:
    yard = Yard()
    yard.submit(a_spec("a"))
    yard.fleet.queue.park("coder")
    assert "the queue and the breaker of coder disagree" in broken(yard)


def test_groups_without_runs_are_forgotten_in_the_end() -> None:
    yard = Yard(a_policy(keep_ended=1, keep_groups=3))
    for number in range(20):
        yard.run(a_spec(f"r{number}", group=f"g{number}"))
        yard.end(f"r{number}")
    assert len(yard.fleet.groups) <= 2 * 3 + 1
    assert "g19" in yard.fleet.groups


@pytest.mark.parametrize(
    "broken",
    [
        {"id": ""},
        {"limit_bytes": 0},
        {"limit_bytes": -1},
        {"soft_limit_bytes": 0},
        {"hard_timeout_s": float("nan")},
        {"hard_timeout_s": -1.0},
        {"soft_timeout_s": 0.0},
        {"repository_factor": float("nan")},
        {"simple_s": 0.0},
        {"retries": -1},
        {"priority": 7},
    ],
)
def test_a_malformed_run_is_refused_with_the_whole_submission(broken: dict[str, Any]) -> None:
    yard = Yard()
    specs = (a_spec("good"), replace(a_spec("bad"), **broken))
    assert len(refusals(yard.tell(Submitted(yard.now, specs)))) == 1
    assert yard.fleet.runs == {}


def test_a_host_figure_that_is_no_number_counts_as_unreadable() -> None:
    yard = Yard()
    yard.sample(Host(available_bytes=8 * GIB, used_percent=float("nan"), total_bytes=16 * GIB))
    assert yard.fleet.ladder.rung is Rung.QUEUE


def test_time_that_is_no_number_or_has_no_end_moves_nothing() -> None:
    yard = Yard()
    yard.run(a_spec("a"))
    for at in (float("inf"), float("nan"), -5.0):
        yard.tell(TimePassed(at))
    assert yard.running == ["a"]


def test_an_old_look_at_the_host_is_no_look() -> None:
    yard = Yard(a_policy(stale_s=30.0))
    yard.advance(31)
    yard.submit(a_spec("a"))
    assert yard.queued == ["a"]
    yard.sample()
    assert yard.live == ["a"]
