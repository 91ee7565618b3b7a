"""Going on where the last daemon stopped: the fleet from the store, the attempts from the drivers.

Nothing is guessed. An attempt that a driver still has goes on or tells how it ended; one that died
with the machine is requeued by policy; one of which nothing is known is lost, and said to be.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from paddock.core.actions import Refuse
from paddock.core.events import AttemptLost, Emptied
from paddock.core.fleet import Fleet
from paddock.core.group import Group
from paddock.core.policy import Policy
from paddock.core.restore import owed, restore, with_time_to_be_heard
from paddock.core.run import Attempt, Outcome, Run, Starting, Stopping, outcome_of
from paddock.ports import Driver, Recipe, Remembered, Stop, Store
from paddock.supervisor.clock import Clock, continue_clock
from paddock.supervisor.loop import Supervisor

log = logging.getLogger("paddock.recovery")


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What the last daemon left, as far as it was remembered."""

    fleet: Fleet
    clock: Clock
    epoch: int  # of this daemon: greater than any before
    same_boot: bool


def inherit(store: Store, policy: Policy) -> Inheritance:
    remembered = store.load(ended=policy.keep_ended)
    clock, same_boot = continue_clock(remembered.boot_id, remembered.at)
    return Inheritance(_fleet(remembered, policy, clock), clock, remembered.epoch + 1, same_boot)


def _fleet(remembered: Remembered, policy: Policy, clock: Clock) -> Fleet:
    groups = {name: Group.from_facts(facts, policy) for name, facts in remembered.groups.items()}
    now = max(remembered.at, clock.now())
    fleet = restore(
        policy,
        [with_time_to_be_heard(run, now) for run in remembered.runs],
        groups=groups,
        heartbeats=remembered.heartbeats,
        now=now,
    )
    fleet.continue_after(remembered.sequence)
    return fleet


async def recover(supervisor: Supervisor, inherited: Inheritance) -> None:
    """In this order: the new epoch is remembered before any driver hears of it, the attempts are
    found before anything is started, and only then what was owed is done.

    Attempts of a driver that does not answer are left as they are, for `take_up`.
    """
    recipes = await _owed_recipes(supervisor)
    await supervisor.count_outcomes()
    hands, fleet = supervisor.hands, supervisor.fleet
    found = hands.adopt()
    runs = [run for run in fleet.live_runs() if not hands.is_unheard(run)]
    await _go_on(supervisor, runs, found, same_boot=inherited.same_boot)
    _do_owed(supervisor, {run.attempt for run in runs}, recipes)
    await supervisor.settled()


async def take_up(supervisor: Supervisor, name: str) -> None:
    """The driver of that name was silent when this daemon began, and answers: what it has goes on,
    and what was to be done meanwhile is done. Nothing else could have touched these attempts.

    Who is let in while the store is asked is the loop's to start, as soon as it is remembered.
    """
    before = {run.attempt for run in supervisor.fleet.live_runs() if run.spec.away}
    recipes = await _owed_recipes(supervisor)
    found = supervisor.hands.adopt_from(name)
    runs = [run for run in supervisor.fleet.live_runs() if run.attempt in before]
    await _go_on(supervisor, runs, found, same_boot=True)
    _do_owed(supervisor, {run.attempt for run in runs}, recipes)


async def _go_on(
    supervisor: Supervisor, runs: Sequence[Run], found: frozenset[Attempt], *, same_boot: bool
) -> None:
    wanted = {run.attempt for run in supervisor.fleet.live_runs()}
    for run in runs:
        if run.attempt not in found:
            _missing(supervisor, run, same_boot=same_boot or run.spec.away)
    for attempt in found - wanted:
        await _unwanted(supervisor, attempt)


def _do_owed(supervisor: Supervisor, attempts: set[Attempt], recipes: Mapping[str, Recipe]) -> None:
    for action in owed(supervisor.fleet):
        attempt = None if isinstance(action, Refuse) else action.attempt
        if attempt in attempts:
            supervisor.hands.perform(action, supervisor.fleet, recipes.get(attempt.run))


async def _owed_recipes(supervisor: Supervisor) -> Mapping[str, Recipe]:
    starting = [r.id for r in supervisor.fleet.live_runs() if isinstance(r.state, Starting)]
    found = await supervisor.look(lambda store: {run: store.recipe(run) for run in starting})
    return {run: recipe for run, recipe in found.items() if recipe is not None}


def _missing(supervisor: Supervisor, run: Run, *, same_boot: bool) -> None:
    """No driver has it. What was to start has not been started, and is started by what is owed;
    what was being stopped is gone."""
    if isinstance(run.state, Starting) and same_boot:
        return
    if isinstance(run.state, Stopping):
        supervisor.post(Emptied(0.0, run.attempt))
        return
    reason = "it is gone without a trace" if same_boot else "the machine was restarted"
    supervisor.post(AttemptLost(0.0, run.attempt, reason, permanent=same_boot))


async def has_succeeded(supervisor: Supervisor, run: str) -> bool:
    """As it is remembered, however long ago."""
    found = await supervisor.look(lambda store: store.run(run))
    return found is not None and outcome_of(found) is Outcome.SUCCEEDED


async def _unwanted(supervisor: Supervisor, attempt: Attempt) -> None:
    """Its end is remembered already. Or the store is not the one it was started from: then it is
    left alone, with its output, because nobody here can say whether it should end."""
    driver: Driver | None = supervisor.hands.driver_of(attempt)
    if driver is None:
        return
    if await supervisor.look(lambda store: store.run(attempt.run)) is None:
        log.warning("attempt %s belongs to no run that is remembered: it is left alone", attempt)
        supervisor.hands.forget(attempt, lives=True)
        return
    driver.kill(attempt, Stop(Outcome.CANCELLED, "its end is remembered"))
    supervisor.hands.forget(attempt)
