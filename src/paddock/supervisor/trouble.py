"""While the store cannot be written: stops are done, what is new is taken back, nothing is lost."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from msgspec import structs

from paddock.core.actions import Action, StartAttempt
from paddock.core.events import CancelRequested, Event, HeartbeatRemoved, PolicyChanged, StartPutOff
from paddock.core.fleet import Fleet
from paddock.core.policy import Policy
from paddock.ports import Step
from paddock.storage.codec import check_recipe
from paddock.storage.errors import StoreError, Unfit
from paddock.supervisor.thoughts import Thought, reply

log = logging.getLogger("paddock.loop")


class StoreTrouble(Exception):
    """The store cannot be written, so nothing new is taken; says why and what to do."""


class Acting(Protocol):
    """Who thinks and acts all the same: the loop."""

    fleet: Fleet

    def post(self, event: Event) -> None: ...

    def act_now(self, action: Action) -> None: ...


class Trouble:
    def __init__(self, loop: Acting) -> None:
        self.told: str | None = None  # what it is, while there is some
        self._loop = loop
        self._policy: Policy | None = None  # the true one, while nothing may start

    def set_policy(self, policy: Policy) -> None:
        """The new one waits with the rest."""
        if self._policy is not None:
            self._policy = policy
        else:
            self._loop.post(PolicyChanged(0.0, policy))

    def met(self, error: StoreError, thoughts: Sequence[Thought]) -> None:
        """With what could not be kept."""
        if isinstance(error, Unfit):
            self._drop_recipes(error, thoughts)
            return
        if self.told is None:
            log.error("the store is in trouble: %s", error)
            self._policy = self._loop.fleet.policy
            self.told = str(error)
            self._loop.post(PolicyChanged(0.0, replace(self._policy, max_agents=0)))
        self.told = str(error)
        for thought in thoughts:
            self._go_on_without(thought)

    def over(self) -> None:
        if self.told is None:
            return
        log.warning("the store works again")
        self.told = None
        policy, self._policy = self._policy, None
        if policy is not None:
            self._loop.post(PolicyChanged(0.0, policy))

    def _go_on_without(self, thought: Thought) -> None:
        for action in thought.actions:
            if isinstance(action, StartAttempt):
                off = StartPutOff(0.0, action.attempt, "that it starts cannot be kept")
                self._loop.post(off)
            else:
                self._loop.act_now(action)
        thought.actions = []
        if thought.submitted or thought.step.heartbeat_recipes:
            self._take_back(thought, StoreTrouble(self.told))
        elif thought.answer is not None:
            reply(thought)

    def _drop_recipes(self, error: Unfit, thoughts: Sequence[Thought]) -> None:
        """A recipe that no store can keep: its run ends, and whoever asked is told why. All others
        that came with it are kept; only where nobody knows whose it is, none of them is."""
        asked = [each for each in thoughts if each.step.recipes or each.step.heartbeat_recipes]
        found = [(each, wrong) for each in asked if (wrong := _unfit_in(each.step, error))]
        for thought, wrong in found or [(each, error) for each in asked]:
            self._take_back(thought, StoreTrouble(str(wrong)))
            thought.step = structs.replace(thought.step, recipes={}, heartbeat_recipes={})

    def _take_back(self, thought: Thought, error: StoreTrouble) -> None:
        for run in thought.submitted:
            self._loop.post(CancelRequested(0.0, run, refused=f"not taken: {error}"))
        thought.submitted = ()
        for name in thought.step.heartbeat_recipes:
            self._loop.post(HeartbeatRemoved(0.0, name))
        if thought.answer is not None and not thought.answer.done():
            thought.answer.set_exception(error)
        thought.answer = None


def _unfit_in(step: Step, error: Unfit) -> Unfit | None:
    """What is wrong with a recipe of this very step, if anything."""
    recipes = {**step.recipes, **step.heartbeat_recipes}
    if error.of in recipes:
        return error
    for recipe in recipes.values():
        try:
            check_recipe(recipe)
        except Unfit as wrong:
            return wrong
    return None
