"""Faults to plant: each breaks one detail of the core while it is entered.

Patching the insides is the point here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count
from typing import Any
from unittest.mock import patch

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
from tests.unit.core import (
    test_pressure,
)

Patch = AbstractContextManager[Any]


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


def those_elsewhere_wait_for_this_host() -> Patch:
    real = scheduling._send_away  # noqa: SLF001

    def pressed(owner: fleet.Fleet) -> None:
        if owner.ladder.rung < pressure.Rung.QUEUE:
            real(owner)

    return patch.object(scheduling, "_send_away", pressed)
