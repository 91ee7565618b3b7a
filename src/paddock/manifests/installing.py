"""All of it into a cluster: everything at once but a change of sizes, which goes in stages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from paddock.cluster.client import Api

from . import revisions
from .applying import Applier, Deed, Did
from .removing import stale
from .rendering import all_of, render
from .revisions import History, Revision
from .rollout import News, Pace, Rollout, apply_sizes
from .sizes import WHOLE, Sizes, between, differences, same, sizes_of, with_sizes
from .values import Values

PATIENCE_S: Final = 30.0


class Declined(Exception):
    """It is not done, and why; one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    dry_run: bool = False
    force: bool = False  # take over what others have set
    at_once: bool = False  # no stages
    again: bool = False  # also sizes that were taken back before
    prune: bool = False  # remove what earlier ones made and this one does not
    pace: Pace = field(default_factory=Pace)


class Installer:
    def __init__(self, api: Api, values: Values, how: How) -> None:
        self._api, self._values, self._how = api, values, how
        self._applier = Applier(api, dry_run=how.dry_run, force=how.force, patience_s=PATIENCE_S)
        self.refused = 0

    async def run(self) -> AsyncIterator[Deed | News]:
        """Told as it happens. Declined, rollout.TakenBack, rollout.Failed, revisions.Raced."""
        values, how = self._values, self._how
        history = await revisions.read(self._api, values.namespace, patience_s=PATIENCE_S)
        old = self._staged_from(history)
        base = values if old is None else with_sizes(values, self._standing(history, old))
        wanted = all_of(render(base))
        async for deed in self._applier.apply(wanted):
            self.refused += deed.did is Did.REFUSED
            yield deed
        if how.prune:
            discovery = self._applier.discovery
            async for deed in stale(self._api, discovery, values, wanted, dry_run=how.dry_run):
                yield deed
        if how.dry_run and old is not None:
            for told in differences(old.sizes, sizes_of(values)):
                yield News(f"in stages: {told}")
        if how.dry_run or self.refused:
            return
        history.values = values
        if old is None:
            await self._remember(history)
            return
        rollout = Rollout(self._api, self._applier, values, pace=how.pace)
        async for news in rollout.run(history):
            yield news

    def _staged_from(self, history: History) -> Revision | None:
        """The revision that stages begin at; None where sizes are applied with all the rest."""
        current, wanted = history.current, sizes_of(self._values)
        if current is None or same(current.sizes, wanted) or self._how.at_once:
            return None
        before = history.taken_back(wanted)
        if before is not None and not self._how.again:
            text = f"these sizes were taken back as revision {before.number} ({before.because})"
            raise Declined(f"{text}: --again tries them once more")
        return current

    def _standing(self, history: History, old: Revision) -> Sizes:
        """The sizes that the cluster has now, as far as a trial of the same has come."""
        trial, wanted = history.trial, sizes_of(self._values)
        if trial is None or not same(trial.sizes, wanted):
            return old.sizes
        return between(old.sizes, trial.sizes, trial.stage)

    async def _remember(self, history: History) -> None:
        wanted, current = sizes_of(self._values), history.current
        if history.trial is not None:
            history.give_up(history.trial.number)
        if current is None or not same(current.sizes, wanted):
            history.settle(history.begin(wanted, WHOLE).number)
        await revisions.write(self._api, self._values.namespace, history, patience_s=PATIENCE_S)


async def roll_back(
    api: Api, namespace: str, *, to: int | None = None, dry_run: bool = False, force: bool = False
) -> AsyncIterator[Deed | News]:
    """By hand, and at once: whoever asks for it has seen enough."""
    history = await revisions.read(api, namespace, patience_s=PATIENCE_S)
    target = _target(history, namespace, to)
    assert history.values is not None
    wrong = history.trial or history.current
    yield News(f"back to revision {target.number}")
    applier = Applier(api, dry_run=dry_run, force=force, patience_s=PATIENCE_S)
    refused = False
    async for deed in apply_sizes(applier, with_sizes(history.values, target.sizes)):
        refused |= deed.did is Did.REFUSED
        yield deed
    if dry_run or refused:
        return
    if wrong is not None and wrong.number != target.number:
        history.take_back(wrong.number, "by hand")
    history.settle(target.number)
    await revisions.write(api, namespace, history, patience_s=PATIENCE_S)


def _target(history: History, namespace: str, to: int | None) -> Revision:
    if history.values is None:
        text = f"nothing was applied to the namespace {namespace} yet"
        raise Declined(f"{text}: paddock kubernetes apply")
    if to is not None:
        found = history.numbered(to)
        known = ", ".join(str(one.number) for one in history.revisions)
    else:
        found = history.current if history.trial is not None else history.before
        known = ""
    if found is None:
        missing = "before this one" if to is None else f"{to}; known are {known}"
        raise Declined(f"there is no revision {missing}")
    return found
