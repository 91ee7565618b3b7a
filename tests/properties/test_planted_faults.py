"""Would the tests notice? Each fault breaks one detail of the core, and must be caught.

`docs/develop/planted-faults.md` shows the table. Patching the insides is the point here, and
nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec import structs

from paddock.core import (
    admission,
    breaker,
    fleet,
    lifecycle,
    preemption,
    pressure,
    queue,
    relief,
    retry,
    scheduling,
    step,
    timers,
    victims,
)
from paddock.core.admission import Fit
from paddock.core.run import Outcome, Priority, Queued, Run
from tests.properties.fleet_machine import live_through
from tests.properties.fleet_walk import walk
from tests.unit.core import (
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
Patch = AbstractContextManager[Any]


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


# -- oversold memory ----------------------------------------------------------------------


def always_fits() -> Patch:
    return patch.object(fleet, "fit", lambda *_, **__: Fit(0, 0, 0))


def no_host_sum() -> Patch:
    real = admission.fit

    def blind(*args: Any, **kwargs: Any) -> Fit:
        return real(*args, **kwargs)._replace(host_short_bytes=0)

    return patch.object(fleet, "fit", blind)


def use_over_the_limit_is_not_counted() -> Patch:
    held = admission._Held  # noqa: SLF001
    return patch.object(held, "fixed_bytes", property(lambda self: self.limit_bytes))


def strays_hold_nothing() -> Patch:
    real = lifecycle.exited

    def hasty(*args: Any, **kwargs: Any) -> None:
        real(*args, **{**kwargs, "empty": True})

    return patch.object(step, "exited", hasty)


def no_maximum_of_agents() -> Patch:
    return patch.object(scheduling, "_full", lambda _: False)


# -- lost run -----------------------------------------------------------------------------


def not_requeued() -> Patch:
    return patch.object(lifecycle, "_requeue", lambda *_, **__: None)


def requeued_into_nowhere() -> Patch:
    real = lifecycle._requeue  # noqa: SLF001

    def forgetful(owner: fleet.Fleet, run: Run, *args: Any, **kwargs: Any) -> None:
        real(owner, run, *args, **kwargs)
        owner.waiting -= 1
        if run.id in owner.queue:
            owner.queue.remove(run.id)
        del owner.runs[run.id]

    return patch.object(lifecycle, "_requeue", forgetful)


def dependents_are_not_told() -> Patch:
    return patch.object(lifecycle, "release_dependents", lambda *_: None)


def timer_forgotten() -> Patch:
    real = fleet.Fleet.wake

    def deaf(self: fleet.Fleet, timer: timers.Timer) -> None:
        run = self.runs.get(timer.key)
        if run is None or not isinstance(run.state, Queued):
            real(self, timer)

    return patch.object(fleet.Fleet, "wake", deaf)


# -- double start -------------------------------------------------------------------------


def started_twice() -> Patch:
    real = lifecycle.start

    def eager(owner: fleet.Fleet, run: Run) -> None:
        real(owner, run)
        owner.actions.append(owner.actions[-1])

    return patch.object(scheduling, "start", eager)


def same_number_again() -> Patch:
    real = lifecycle.start

    def forgetful(owner: fleet.Fleet, run: Run) -> None:
        real(owner, structs.replace(run, attempts=0))

    return patch.object(scheduling, "start", forgetful)


def old_news_is_believed() -> Patch:
    def gullible(owner: fleet.Fleet, attempt: Any) -> Run | None:
        run = owner.runs.get(attempt.run)
        return run if run is not None and run.live else None

    return patch.object(step, "_live", gullible)


# -- starvation ---------------------------------------------------------------------------


def no_ageing() -> Patch:
    real = queue.Queue.in_order

    def ageless(self: queue.Queue, *, ageing_s: float, above: Priority | None = None) -> Any:
        return real(self, ageing_s=ageing_s + 1e12, above=above)

    return patch.object(queue.Queue, "in_order", ageless)


def no_turns() -> Patch:
    return patch.object(queue.Queue, "new_tag", lambda *_, **__: 1)


def newcomers_first() -> Patch:
    numbers = count(-1, -1)
    return patch.object(queue.Queue, "new_tag", lambda *_, **__: next(numbers))


def the_door_is_never_held() -> Patch:
    return patch.object(scheduling, "_holds_the_door", lambda *_: False)


def no_probe() -> Patch:
    return patch.object(breaker, "after_time", lambda state, **_: state)


def never_looks_again() -> Patch:
    return patch.object(fleet.Fleet, "stir", lambda _: None)


# -- preemption loop ----------------------------------------------------------------------


def _with_policy(**changes: Any) -> Patch:
    """The choice of candidates sees another policy than everybody else."""
    real = preemption._candidates  # noqa: SLF001

    def lawless(owner: fleet.Fleet, claimant: Run) -> list[victims.Candidate]:
        policy, owner.policy = owner.policy, replace(owner.policy, **changes)
        try:
            return real(owner, claimant)
        finally:
            owner.policy = policy

    return patch.object(preemption, "_candidates", lawless)


def no_minimum_run_time() -> Patch:
    return _with_policy(min_run_s=0.0)


def no_cap() -> Patch:
    return _with_policy(max_preemptions=10**9)


def preemptions_are_not_counted() -> Patch:
    real = lifecycle._counted  # noqa: SLF001

    def careless(run: Run, verdict: retry.Verdict) -> Run:
        return structs.replace(real(run, verdict), preemptions=run.preemptions)

    return patch.object(lifecycle, "_counted", careless)


def a_patient_run_is_put_out() -> Patch:
    """Who is later in line may be stopped by who is earlier; here everybody is later."""
    lines = count()
    return patch.object(preemption, "_line", lambda *_: -next(lines))


# -- wrong victim -------------------------------------------------------------------------


def ranked_backwards() -> Patch:
    real = victims.ranked
    return patch.object(victims, "ranked", lambda some: real(some)[::-1])


def _everybody(candidates: Sequence[victims.Candidate], _: object) -> list[victims.Candidate]:
    return list(candidates)


def more_than_needed() -> Patch:
    return patch.object(preemption, "choose", _everybody)


def more_than_needed_under_pressure() -> Patch:
    return patch.object(relief, "choose", _everybody)


def equals_are_stopped() -> Patch:
    real = preemption._candidates  # noqa: SLF001

    def haughty(owner: fleet.Fleet, claimant: Run) -> list[victims.Candidate]:
        return real(owner, structs.replace(claimant, priority=Priority.CRITICAL))

    return patch.object(preemption, "_candidates", haughty)


def the_critical_are_frozen() -> Patch:
    class Nobody:
        CRITICAL = None

    return patch.object(relief, "Priority", Nobody)


# -- others -------------------------------------------------------------------------------


def later_is_a_failure() -> Patch:
    return patch.object(retry, "TRY_LATER", -1)


def preemption_is_a_failure() -> Patch:
    return patch.object(breaker, "FAILURES", breaker.FAILURES | {Outcome.PREEMPTED})


def no_hysteresis() -> Patch:
    real = pressure.climb

    def nervous(ladder: Any, host: Any, policy: Any, *, at: float) -> Any:
        return real(ladder, host, replace(policy, hysteresis=0.0, dwell_s=0.0), at=at)

    return patch.object(test_pressure, "climb", nervous)


def the_exit_code_wins() -> Patch:
    def trusting(_: Any, verdict: retry.Verdict) -> bool:
        return verdict.outcome is Outcome.SUCCEEDED

    return patch.object(lifecycle, "_finished", trusting)


def chance() -> Patch:
    numbers = count(1)
    return patch.object(retry, "_backoff", lambda *_, **__: float(next(numbers)))


def turns_are_forgotten_at_a_restart() -> Patch:
    return patch.object(queue.Queue, "was_served", lambda *_, **__: None)


def kills_on_a_guess() -> Patch:
    real = relief.relieve

    def rash(owner: fleet.Fleet) -> None:
        if owner.host is not None and owner.host.available_bytes is None:
            owner.host = structs.replace(owner.host, used_percent=99.0, available_bytes=1)
        real(owner)

    return patch.object(step, "relieve", rash)


FAULTS = (
    Fault("oversold memory", "everything always fits", always_fits, (machine,)),
    Fault(
        "oversold memory",
        "what the host has free is not looked at",
        no_host_sum,
        (machine, test_scheduling.test_more_room_on_the_host_is_used_at_the_next_sample),
    ),
    Fault(
        "oversold memory",
        "use above the limit is not counted",
        use_over_the_limit_is_not_counted,
        (test_scheduling.test_an_attempt_that_grew_over_its_limit_leaves_less_for_others,),
    ),
    Fault(
        "oversold memory",
        "strays give their memory back before they are gone",
        strays_hold_nothing,
        (machine, test_lifecycle.test_strays_hold_the_memory_until_the_last_is_gone),
    ),
    Fault("oversold memory", "more agents than allowed", no_maximum_of_agents, (machine,)),
    Fault("lost run", "a run that should come back is left where it was", not_requeued, (machine,)),
    Fault("lost run", "a run that should come back is dropped", requeued_into_nowhere, (machine,)),
    Fault(
        "lost run",
        "those that wait for a run are not told of its end",
        dependents_are_not_told,
        (machine, test_submission.test_a_need_is_waited_for),
    ),
    Fault("lost run", "a waiting time has no timer", timer_forgotten, (machine,)),
    Fault("double start", "one start is asked for twice", started_twice, (machine,)),
    Fault("double start", "an attempt number is used again", same_number_again, (machine,)),
    Fault(
        "double start",
        "news of an old attempt is taken for news of the present one",
        old_news_is_believed,
        (machine, test_lifecycle.test_news_of_an_old_attempt_changes_nothing),
    ),
    Fault(
        "starvation",
        "waiting makes nobody more urgent",
        no_ageing,
        (test_scheduling.test_no_stream_of_urgent_runs_starves_a_low_one,),
    ),
    Fault(
        "starvation",
        "groups take no turns",
        no_turns,
        (test_scheduling.test_a_group_with_many_does_not_hold_up_one_with_few,),
    ),
    Fault(
        "starvation",
        "newcomers go first",
        newcomers_first,
        (test_scheduling.test_runs_of_a_group_start_in_the_order_they_came,),
    ),
    Fault(
        "starvation",
        "small runs pass a big one for ever",
        the_door_is_never_held,
        (test_scheduling.test_a_stream_of_small_runs_cannot_delay_a_big_one_for_ever,),
    ),
    Fault(
        "starvation",
        "an open breaker never lets a probe through",
        no_probe,
        (machine, test_breaker.test_the_probes_success_closes_it),
    ),
    Fault("starvation", "a look that failed is the last one", never_looks_again, (machine,)),
    Fault(
        "preemption loop",
        "a run is stopped before its minimum time",
        no_minimum_run_time,
        (test_preemption.test_a_run_is_left_alone_for_its_first_minute,),
    ),
    Fault(
        "preemption loop",
        "there is no cap",
        no_cap,
        (test_preemption.test_a_run_preempted_three_times_is_protected_from_then_on,),
    ),
    Fault(
        "preemption loop",
        "preemptions are not counted",
        preemptions_are_not_counted,
        (test_preemption.test_a_run_preempted_three_times_is_protected_from_then_on,),
    ),
    Fault(
        "preemption loop",
        "who won its place by waiting is put out by who came later",
        a_patient_run_is_put_out,
        (test_preemption.test_who_won_its_place_by_waiting_is_not_put_out_by_who_came_later,),
    ),
    Fault(
        "wrong victim",
        "the most valuable goes first",
        ranked_backwards,
        (
            test_preemption.test_the_lowest_priority_gives_way_first,
            test_relief.test_an_emergency_kills_down_to_the_relief_target,
        ),
    ),
    Fault(
        "wrong victim",
        "everybody gives way for one",
        more_than_needed,
        (test_preemption.test_no_more_are_stopped_than_are_needed,),
    ),
    Fault(
        "wrong victim",
        "everybody gives way to pressure",
        more_than_needed_under_pressure,
        (test_relief.test_first_the_lowest_priority_is_frozen_and_its_memory_pushed_out,),
    ),
    Fault(
        "wrong victim",
        "runs of the same priority are stopped",
        equals_are_stopped,
        (machine, test_preemption.test_one_of_the_same_priority_disturbs_nobody),
    ),
    Fault(
        "wrong victim",
        "the critical are frozen before an emergency",
        the_critical_are_frozen,
        (machine, test_relief.test_the_critical_are_spared_below_an_emergency),
    ),
    Fault(
        "others",
        "exit 75 counts as a failure",
        later_is_a_failure,
        (lambda: test_breaker.test_what_is_not_the_agents_failure_does_not_count("later"),),
    ),
    Fault(
        "others",
        "the breaker counts preemptions",
        preemption_is_a_failure,
        (lambda: test_breaker.test_what_is_not_the_agents_failure_does_not_count("preempted"),),
    ),
    Fault(
        "others",
        "the ladder has no hysteresis",
        no_hysteresis,
        (test_pressure.test_use_around_a_step_does_not_make_it_flap,),
    ),
    Fault(
        "others",
        "an exit code counts more than paddock's own stop",
        the_exit_code_wins,
        (test_lifecycle.test_a_cancel_tells_and_ten_seconds_later_kills,),
    ),
    Fault(
        "others",
        "a decision depends on chance",
        chance,
        (test_step.test_the_same_events_give_the_same_actions,),
    ),
    Fault(
        "others",
        "a restart forgets whose turn it was",
        turns_are_forgotten_at_a_restart,
        (test_restore.test_newcomers_do_not_pass_those_who_waited_through_the_restart,),
    ),
    Fault(
        "others",
        "runs are killed on a guess",
        kills_on_a_guess,
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
