"""Would the tests notice? Each fault breaks one detail of the core, and must be caught.

`docs/develop/planted-faults.md` shows the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from paddock.core import (
    fleet,
)
from tests.properties import faults
from tests.properties.faults import Patch
from tests.properties.fleet_machine import live_through
from tests.properties.fleet_walk import walk
from tests.unit.core import (
    test_away,
    test_breaker,
    test_lifecycle,
    test_preemption,
    test_pressure,
    test_relief,
    test_restore,
    test_scheduling,
    test_step,
    test_submission,
)

TABLE = Path(__file__).parents[2] / "docs/develop/planted-faults.md"
KINDS = {
    "oversold memory",
    "lost run",
    "double start",
    "starvation",
    "preemption loop",
    "wrong victim",
    "others",
}


def machine() -> None:
    """Lives of the state machine, the same ones each time."""
    live_through(lives=20, steps=40)
    for seed in range(40):
        walk(seed, steps=60)


@dataclass(frozen=True, slots=True)
class Fault:
    kind: str
    name: str
    plant: Callable[[], Patch]
    caught_by: tuple[Callable[[], None], ...]


FAULTS = (
    Fault("oversold memory", "everything always fits", faults.always_fits, (machine,)),
    Fault(
        "oversold memory",
        "what the host has free is not looked at",
        faults.no_host_sum,
        (machine, test_scheduling.test_more_room_on_the_host_is_used_at_the_next_sample),
    ),
    Fault(
        "oversold memory",
        "use above the limit is not counted",
        faults.use_over_the_limit_is_not_counted,
        (test_scheduling.test_an_attempt_that_grew_over_its_limit_leaves_less_for_others,),
    ),
    Fault(
        "oversold memory",
        "strays give their memory back before they are gone",
        faults.strays_hold_nothing,
        (machine, test_lifecycle.test_strays_hold_the_memory_until_the_last_is_gone),
    ),
    Fault("oversold memory", "more agents than allowed", faults.no_maximum_of_agents, (machine,)),
    Fault(
        "lost run",
        "a run that should come back is left where it was",
        faults.not_requeued,
        (machine,),
    ),
    Fault(
        "lost run",
        "a run that should come back is dropped",
        faults.requeued_into_nowhere,
        (machine,),
    ),
    Fault(
        "lost run",
        "those that wait for a run are not told of its end",
        faults.dependents_are_not_told,
        (machine, test_submission.test_a_need_is_waited_for),
    ),
    Fault("lost run", "a waiting time has no timer", faults.timer_forgotten, (machine,)),
    Fault("double start", "one start is asked for twice", faults.started_twice, (machine,)),
    Fault("double start", "an attempt number is used again", faults.same_number_again, (machine,)),
    Fault(
        "double start",
        "news of an old attempt is taken for news of the present one",
        faults.old_news_is_believed,
        (machine, test_lifecycle.test_news_of_an_old_attempt_changes_nothing),
    ),
    Fault(
        "starvation",
        "waiting makes nobody more urgent",
        faults.no_ageing,
        (test_scheduling.test_no_stream_of_urgent_runs_starves_a_low_one,),
    ),
    Fault(
        "starvation",
        "groups take no turns",
        faults.no_turns,
        (test_scheduling.test_a_group_with_many_does_not_hold_up_one_with_few,),
    ),
    Fault(
        "starvation",
        "newcomers go first",
        faults.newcomers_first,
        (test_scheduling.test_runs_of_a_group_start_in_the_order_they_came,),
    ),
    Fault(
        "starvation",
        "small runs pass a big one for ever",
        faults.the_door_is_never_held,
        (test_scheduling.test_a_stream_of_small_runs_cannot_delay_a_big_one_for_ever,),
    ),
    Fault(
        "starvation",
        "an open breaker never lets a probe through",
        faults.no_probe,
        (machine, test_breaker.test_the_probes_success_closes_it),
    ),
    Fault("starvation", "a look that failed is the last one", faults.never_looks_again, (machine,)),
    Fault(
        "starvation",
        "runs elsewhere wait for the pressure here",
        faults.those_elsewhere_wait_for_this_host,
        (machine, test_away.test_what_would_live_here_still_waits_under_pressure),
    ),
    Fault(
        "preemption loop",
        "a run is stopped before its minimum time",
        faults.no_minimum_run_time,
        (test_preemption.test_a_run_is_left_alone_for_its_first_minute,),
    ),
    Fault(
        "preemption loop",
        "there is no cap",
        faults.no_cap,
        (test_preemption.test_a_run_preempted_three_times_is_protected_from_then_on,),
    ),
    Fault(
        "preemption loop",
        "preemptions are not counted",
        faults.preemptions_are_not_counted,
        (test_preemption.test_a_run_preempted_three_times_is_protected_from_then_on,),
    ),
    Fault(
        "preemption loop",
        "who won its place by waiting is put out by who came later",
        faults.a_patient_run_is_put_out,
        (test_preemption.test_who_won_its_place_by_waiting_is_not_put_out_by_who_came_later,),
    ),
    Fault(
        "wrong victim",
        "the most valuable goes first",
        faults.ranked_backwards,
        (
            test_preemption.test_the_lowest_priority_gives_way_first,
            test_relief.test_an_emergency_kills_down_to_the_relief_target,
        ),
    ),
    Fault(
        "wrong victim",
        "everybody gives way for one",
        faults.more_than_needed,
        (test_preemption.test_no_more_are_stopped_than_are_needed,),
    ),
    Fault(
        "wrong victim",
        "everybody gives way to pressure",
        faults.more_than_needed_under_pressure,
        (test_relief.test_first_the_lowest_priority_is_frozen_and_its_memory_pushed_out,),
    ),
    Fault(
        "wrong victim",
        "runs of the same priority are stopped",
        faults.equals_are_stopped,
        (machine, test_preemption.test_one_of_the_same_priority_disturbs_nobody),
    ),
    Fault(
        "wrong victim",
        "the critical are frozen before an emergency",
        faults.the_critical_are_frozen,
        (machine, test_relief.test_the_critical_are_spared_below_an_emergency),
    ),
    Fault(
        "others",
        "exit 75 counts as a failure",
        faults.later_is_a_failure,
        (lambda: test_breaker.test_what_is_not_the_agents_failure_does_not_count("later"),),
    ),
    Fault(
        "others",
        "the breaker counts preemptions",
        faults.preemption_is_a_failure,
        (lambda: test_breaker.test_what_is_not_the_agents_failure_does_not_count("preempted"),),
    ),
    Fault(
        "others",
        "the ladder has no hysteresis",
        faults.no_hysteresis,
        (test_pressure.test_use_around_a_step_does_not_make_it_flap,),
    ),
    Fault(
        "others",
        "an exit code counts more than paddock's own stop",
        faults.the_exit_code_wins,
        (test_lifecycle.test_a_cancel_tells_and_ten_seconds_later_kills,),
    ),
    Fault(
        "others",
        "a decision depends on chance",
        faults.chance,
        (test_step.test_the_same_events_give_the_same_actions,),
    ),
    Fault(
        "others",
        "a restart forgets whose turn it was",
        faults.turns_are_forgotten_at_a_restart,
        (test_restore.test_newcomers_do_not_pass_those_who_waited_through_the_restart,),
    ),
    Fault(
        "others",
        "runs are killed on a guess",
        faults.kills_on_a_guess,
        (test_relief.test_nobody_is_killed_on_a_guess,),
    ),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_caught(fault: Fault) -> None:
    for catcher in fault.caught_by:
        with fault.plant(), pytest.raises((AssertionError, fleet.ForbiddenMove, KeyError)):
            catcher()


def test_without_a_fault_nothing_is_caught() -> None:
    for catcher in {catcher for fault in FAULTS for catcher in fault.caught_by}:
        catcher()


def test_every_kind_has_a_fault() -> None:
    assert {fault.kind for fault in FAULTS} == KINDS
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)


def test_the_documentation_lists_exactly_these() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = [(kind, name) for kind, name in rows if kind in KINDS]
    assert listed == [(fault.kind, fault.name) for fault in FAULTS]
