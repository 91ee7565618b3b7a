"""What is counted as the fleet goes: each thing once, in bounded memory."""

from __future__ import annotations

from paddock.core.events import Exited, Sampled, Submitted
from paddock.core.fleet import Fleet
from paddock.core.run import Attempt, Exit, Outcome, Priority
from paddock.core.step import step
from paddock.core.units import DAY_S
from paddock.observe.counts import Counts
from paddock.observe.metric import OTHER
from tests.kit.factories import a_host, a_policy, a_spec
from tests.unit.observe.small_fleet import SmallFleet


def test_a_run_is_counted_from_its_submission_to_its_end() -> None:
    one = SmallFleet()
    one.submit("a", at=1.0)
    one.started("a", at=3.0)
    one.exited("a", at=13.0, code=0)
    group = one.counts.groups["g"]
    assert (group.submitted, group.started) == (1, 1)
    assert dict(group.outcomes) == {Outcome.SUCCEEDED: 1}
    assert (group.durations.sum, sum(group.durations.counts)) == (10.0, 1)
    assert sum(one.counts.waits[Priority.NORMAL].counts) == 1


def test_a_kill_for_memory_is_counted_once_with_its_time() -> None:
    one = SmallFleet()
    one.submit("a", at=1.0)
    one.started("a", at=2.0)
    one.exited("a", at=9.0, signal=9, oom=True, empty=False)
    one.exited("a", at=9.5, signal=9, oom=True)  # once more, with its strays gone
    one.exited("a", at=9.7, signal=9, oom=True)  # an echo of an attempt that is over
    assert one.counts.limits == {"memory": 1, "fleet": 0, "pids": 0, "watched": 0}
    assert (one.counts.groups["g"].ooms, one.counts.groups["g"].last_oom_at) == (1, 9.0)


def test_a_kill_at_the_fleets_wall_is_another_limit() -> None:
    one = SmallFleet()
    one.submit("a", at=1.0)
    one.started("a", at=2.0)
    one.exited("a", at=9.0, signal=9, fleet_oom=True)
    assert one.counts.limits["fleet"] == 1
    assert one.counts.limits["memory"] == 0


def test_timeouts_are_counted_soft_and_hard() -> None:
    one = SmallFleet()
    one.submit("a", at=0.0, hard_timeout_s=100.0, soft_timeout_s=50.0)
    one.started("a", at=0.0)
    one.time(at=51.0)
    assert one.counts.timeouts == {"soft": 1, "hard": 0}
    one.time(at=101.0)
    one.time(at=102.0)
    assert one.counts.timeouts == {"soft": 1, "hard": 1}


def test_a_preemption_for_an_urgent_run_is_told_from_one_for_pressure() -> None:
    one = SmallFleet(max_agents=1)
    one.submit("a", at=0.0, priority=Priority.LOW)
    one.started("a", at=1.0)
    one.submit("b", at=1000.0, priority=Priority.CRITICAL)
    one.look(at=1001.0)
    assert dict(one.counts.preemptions()) == {"pressure": 0, "priority": 1}


def test_a_preemption_by_pressure_is_told_from_one_for_others() -> None:
    one = SmallFleet()
    one.submit("a", at=0.0, priority=Priority.LOW)
    one.started("a", at=1.0)
    for second in range(100, 400, 20):
        one.look(at=float(second), used={Attempt("a", 1): 1 << 30}, used_percent=90.0)
    assert dict(one.counts.preemptions()) == {"pressure": 1, "priority": 0}


def test_an_attempt_over_a_limit_that_is_only_sampled_is_counted_as_watched() -> None:
    one = SmallFleet()
    one.submit("a", at=0.0, soft_limit_bytes=100)
    one.started("a", at=1.0)
    one.look(at=2.0, used={Attempt("a", 1): 1000})
    assert one.counts.limits["watched"] == 1


def test_a_thousand_groups_are_a_hundred_series_and_the_rest_together() -> None:
    fleet = Fleet(a_policy(queue_depth=10_000))
    counts = Counts(fleet.runs, most_groups=100)
    for number in range(1000):
        step(fleet, Submitted(float(number), (a_spec(f"r{number}", group=f"g{number}"),)))
        for change in fleet.changes:
            counts.changed(change)
    assert len(counts.groups) == 101
    assert counts.groups[OTHER].submitted == 900
    assert sum(group.submitted for group in counts.groups.values()) == 1000


def test_a_group_not_heard_of_for_a_day_gives_its_place_away() -> None:
    fleet = Fleet(a_policy(queue_depth=10_000))
    counts = Counts(fleet.runs, most_groups=2)
    for number, at in enumerate((0.0, 1000.0, DAY_S - 1, DAY_S + 1)):
        step(fleet, Submitted(at, (a_spec(f"r{number}", group=f"g{number}"),)))
        for change in fleet.changes:
            counts.changed(change)
    assert set(counts.groups) == {OTHER, "g1", "g3"}
    assert counts.groups[OTHER].submitted == 1


def test_events_that_say_nothing_new_count_nothing() -> None:
    counts = Counts({})
    counts.heard(Sampled(1.0, a_host()))
    counts.heard(Exited(1.0, Attempt("nobody", 1), Exit(oom=True)))
    assert set(counts.limits.values()) == {0}
