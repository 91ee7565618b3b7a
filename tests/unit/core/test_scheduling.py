"""Who starts next: order, turns, ageing, and bounded passing."""

from __future__ import annotations

from typing import Any

import pytest

from paddock.core.events import BreakerReset, PriorityChanged, Sampled
from paddock.core.run import Priority
from paddock.core.units import GIB
from tests.kit.factories import a_host, a_policy, a_spec, with_parts
from tests.kit.yard import Yard, refusals


def one_at_a_time(**changes: Any) -> Yard:
    return Yard(a_policy(max_agents=1, **changes))


def serve(yard: Yard) -> str:
    """End the one that is live; what starts instead?"""
    (name,) = yard.live
    yard.end(name)
    return name


def serve_all(yard: Yard) -> list[str]:
    served = []
    while yard.live:
        served.append(serve(yard))
    return served


def test_runs_of_a_group_start_in_the_order_they_came() -> None:
    yard = one_at_a_time()
    yard.submit(*(a_spec(f"r{i}") for i in range(4)))
    assert serve_all(yard) == ["r0", "r1", "r2", "r3"]


def test_the_more_urgent_start_first() -> None:
    yard = one_at_a_time()
    yard.submit(a_spec("first"))
    for priority in reversed(Priority):
        yard.submit(a_spec(priority.word, priority=priority))
    assert serve_all(yard) == ["first", "critical", "high", "normal", "low"]


def test_a_group_with_many_does_not_hold_up_one_with_few() -> None:
    yard = one_at_a_time()
    yard.submit(*(a_spec(f"a{i}", group="a") for i in range(20)))
    yard.submit(a_spec("b0", group="b"), a_spec("b1", group="b"))
    assert serve_all(yard)[:6] == ["a0", "a1", "b0", "a2", "b1", "a3"]


def test_an_old_low_run_goes_before_a_new_urgent_one() -> None:
    yard = one_at_a_time()
    yard.run(a_spec("first", hard_timeout_s=1e6))
    yard.submit(a_spec("old", priority=Priority.LOW))
    yard.advance(3 * 3600 + 1)
    yard.submit(a_spec("new", priority=Priority.CRITICAL))
    assert serve_all(yard) == ["first", "old", "new"]


def test_no_stream_of_urgent_runs_starves_a_low_one() -> None:
    """An hour of waiting is worth a priority: after two hours it is level with a new high one."""
    yard = one_at_a_time()
    yard.submit(a_spec("first"), a_spec("low", priority=Priority.LOW))
    for minute in range(4 * 60):
        yard.submit(a_spec(f"u{minute}", priority=Priority.HIGH, group=f"g{minute % 7}"))
        if serve(yard) == "low":
            break
        yard.confirm()
        yard.advance(60)
    assert 60 < minute <= 2 * 60 + 1  # two priorities, an hour each


def test_a_small_run_may_pass_a_big_one_that_does_not_fit() -> None:
    yard = Yard()
    yard.submit(a_spec("half", memory="7G"))
    yard.submit(a_spec("big", memory="12G"), a_spec("small", memory="2G"))
    assert yard.live == ["half", "small"]


def test_passing_ends_and_the_door_is_held_for_the_big_one() -> None:
    yard = Yard(a_policy(backfill_s=600.0))
    yard.run(a_spec("half", memory="7G", hard_timeout_s=1e6))
    yard.submit(a_spec("big", memory="12G"))
    yard.advance(599)
    yard.submit(a_spec("small1", memory="2G"))
    assert yard.live == ["half", "small1"]
    yard.advance(1)
    yard.submit(a_spec("small2", memory="2G"))
    assert "small2" in yard.queued
    yard.end("small1")
    assert "small2" in yard.queued
    yard.end("half")
    assert yard.live == ["big"]


def test_a_stream_of_small_runs_cannot_delay_a_big_one_for_ever() -> None:
    yard = Yard()
    yard.run(*(a_spec(f"s{i}", memory="3G") for i in range(4)))
    yard.submit(a_spec("big", memory="12G"))
    number = 4
    for _ in range(200):
        if "big" in yard.live:
            break
        yard.confirm()
        yard.advance(30)
        yard.submit(a_spec(f"s{number}", memory="3G"))
        number += 1
        yard.end(next(iter(yard.fleet.live)))
    assert "big" in yard.live
    assert yard.now < 600 + 4 * 30 + 30


def test_no_further_than_the_backfill_depth_is_looked() -> None:
    yard = Yard(a_policy(backfill_depth=3))
    yard.submit(a_spec("half", memory="7G"))
    yard.submit(*(a_spec(f"big{i}", memory="12G") for i in range(3)))
    yard.submit(a_spec("small", memory="1G", group="other", priority=Priority.LOW))
    assert "small" in yard.queued


def test_nothing_starts_before_the_host_was_read() -> None:
    yard = Yard(sampled=False)
    yard.submit(a_spec())
    assert yard.queued == ["a"]
    yard.sample()
    assert yard.live == ["a"]


def test_a_waiting_group_under_a_breaker_and_an_unread_host_are_no_trouble() -> None:
    yard = Yard(with_parts(a_policy(), breaker={"failures": 1}))
    yard.run(a_spec())
    yard.end("a", 1)
    yard.submit(a_spec("b"))
    yard = yard.reborn()
    yard.advance(1)
    assert yard.queued == ["b"]
    yard.tell(BreakerReset(yard.now, "coder"))
    yard.sample()
    assert yard.live == ["b"]


def test_more_room_on_the_host_is_used_at_the_next_sample() -> None:
    yard = Yard(host=a_host(available="7G", used_percent=55.0))
    yard.submit(a_spec("a", memory="4G"), a_spec("b", memory="4G"))
    assert yard.live == ["a"]
    yard.sample(a_host(available="12G", used_percent=25.0))
    assert yard.live == ["a", "b"]


def test_room_that_others_left_is_seen_although_an_agent_took_as_much() -> None:
    """The free memory is the same, but `a` has taken what it was promised: 8 - (9 - 5) is left."""
    yard = Yard(host=a_host(available="8G", used_percent=50.0))
    yard.run(a_spec("a", memory="5G"))
    yard.sample(a_host(available="8G", used_percent=50.0), a="1G")
    yard.submit(a_spec("b", memory="4G"))
    assert yard.queued == ["b"]
    yard.sample(a_host(available="8G", used_percent=50.0), a="5G")
    assert yard.live == ["a", "b"]


def test_a_changed_priority_changes_the_place() -> None:
    yard = one_at_a_time()
    yard.submit(a_spec("first"), a_spec("a"), a_spec("b"))
    yard.tell(PriorityChanged(yard.now, "b", Priority.HIGH))
    assert yard["b"].priority is Priority.HIGH
    assert serve_all(yard) == ["first", "b", "a"]


def test_a_running_one_comes_back_with_its_new_priority() -> None:
    yard = Yard()
    yard.run(a_spec("a"))
    yard.tell(PriorityChanged(yard.now, "a", Priority.LOW))
    yard.end("a", 75)
    assert yard["a"].priority is Priority.LOW
    yard.drain()
    assert refusals(yard.tell(PriorityChanged(yard.now, "a", Priority.HIGH))) == [
        "it has already ended"
    ]
    assert refusals(yard.tell(PriorityChanged(yard.now, "x", Priority.HIGH))) == [
        "there is no such run"
    ]


@pytest.mark.parametrize("percent", [80.0, 90.0, None])
def test_nothing_starts_from_the_queue_step_on(percent: float | None) -> None:
    yard = Yard(host=a_host(used_percent=percent))
    yard.submit(a_spec(priority=Priority.CRITICAL, memory="1G"))
    assert yard.queued == ["a"]


def test_low_priority_waits_at_the_first_step() -> None:
    yard = Yard(host=a_host(used_percent=72.0))
    yard.submit(a_spec("low", memory="1G", priority=Priority.LOW), a_spec("normal", memory="1G"))
    assert yard.live == ["normal"]
    yard.now += 1
    yard.sample()
    yard.now += 5
    yard.sample()
    assert yard.live == ["low", "normal"]


def test_an_attempt_that_grew_over_its_limit_leaves_less_for_others() -> None:
    yard = Yard()
    yard.run(a_spec("a", memory="4G"))
    host = a_host(available="9G", used_percent=44.0)
    yard.tell(Sampled(yard.now, host, {yard.attempt("a"): 7 * GIB}))
    yard.submit(a_spec("b", memory="6G"))
    assert yard.queued == ["b"]
