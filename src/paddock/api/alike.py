"""The same again but for its key and its name: what a loop in a shell sends a thousand times.

What was checked and made of the last plain submission holds for the next one, as long as every
other word of it is equal and all that it was made with is the same: the directory's settings, the
policy, the drivers, the project. That spares the loop a third of a submission. Whatever differs
goes the usual way, and is what the next one is compared with.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from msgspec import Struct, structs

from paddock.config.mistakes import ConfigError
from paddock.core.policy import Policy
from paddock.core.run import RunSpec
from paddock.ports import Driver, Guarantees, Recipe
from paddock.wire.run_checks import is_name
from paddock.wire.run_request import RunRequest
from paddock.wire.views import Submit

from .defaults import Given
from .desk import Desk
from .ids import id_of
from .installed import KNOWN_S
from .recipes import DRIVER_LABEL, KEY_LABEL
from .submitting import Looked, Plan


class _Means(Struct, frozen=True):
    """What else goes into a plan, beside the words of a submission."""

    given: Given
    policy: Policy
    driver: Driver
    guarantees: Guarantees
    default: Driver
    default_guarantees: Guarantees
    project: str


class _Known(Struct, frozen=True):
    said: Submit  # without its key and its name
    driver: str
    means: _Means
    spec: RunSpec
    facts: Mapping[str, Any]  # of its recipe, but for the labels
    labels: Mapping[str, str]
    notes: list[str]
    until: float  # its program may have gone since, and nobody is stopped for a typo


class Alike:
    """One for all connections; used in the loop's thread only."""

    known_s = KNOWN_S

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._known: _Known | None = None

    def plan(self, body: Submit) -> Plan | None:
        """None: it is like no other, or something of it is to be declined. The usual way tells."""
        known = self._known
        if known is None or len(body.runs) != 1 or _without_names(body) != known.said:
            return None
        desk, name = self._desk, body.runs[0].name
        if not is_name(name) or body.directory not in desk.trusted:
            return None
        if known.until < time.monotonic():
            return None
        run = id_of(body.key, 0)
        if not desk.ids.surely_new((run,)) or self._means(body, known.driver) != known.means:
            return None
        desk.trusted.check(body.directory)
        recipe = Recipe(**known.facts, labels={**known.labels, KEY_LABEL: body.key})
        spec = structs.replace(known.spec, id=run, name=name)
        return Plan([spec], {run: recipe}, notes=known.notes)

    def learn(self, body: Submit, looked: Looked, plan: Plan) -> None:
        """What was made of one that is taken."""
        if len(body.runs) != 1 or not _is_plain(body.runs[0]):
            return
        [(spec, recipe)] = zip(plan.specs, plan.recipes.values(), strict=True)
        said, driver = _without_names(body), recipe.labels[DRIVER_LABEL]
        means = self._means(body, driver)
        if means is None or said.runs[0].group_in(means.project) != spec.group:
            return  # its group is its name
        if means.given is not looked.given[body.runs[0].performance_profile]:
            return  # somebody has just changed a file
        facts = {each.name: getattr(recipe, each.name) for each in fields(recipe)}
        labels = facts.pop("labels")
        until = time.monotonic() + self.known_s
        self._known = _Known(said, driver, means, spec, facts, labels, plan.notes, until)

    def _means(self, body: Submit, driver: str) -> _Means | None:
        desk, request = self._desk, body.runs[0]
        supervisor = desk.supervisor
        policy, drivers = supervisor.fleet.policy, supervisor.drivers
        profile, said = request.performance_profile or body.profile, body.environment
        try:
            given = desk.defaults.at(body.directory, policy, profile=profile, said=said)
        except ConfigError:
            return None
        chosen, default = drivers[driver], drivers[supervisor.default_driver]
        return _Means(
            given,
            policy,
            chosen,
            chosen.guarantees,
            default,
            default.guarantees,
            desk.projects.name(body.directory),
        )


def _without_names(body: Submit) -> Submit:
    nameless = tuple(structs.replace(one, name="") for one in body.runs)
    return structs.replace(body, key="", runs=nameless)


def _is_plain(request: RunRequest) -> bool:
    """Nothing but its own words goes into it: no repository, preset, input or other run."""
    others = (request.agent, request.steps, request.needs, request.stdin, request.repo, request.dir)
    return bool(request.command) and not any(others)
