"""What goes to the store together, and what comes back with it. Runs in the store's thread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from paddock.core.fleet import Change
from paddock.core.group import GroupFacts
from paddock.core.heartbeat import Heartbeat
from paddock.core.run import Ended, Run
from paddock.ports import Recipe, Step, Store

if TYPE_CHECKING:
    from paddock.supervisor.early import EarlyAnswer


@dataclass(frozen=True, slots=True)
class Kept:
    recipes: dict[str, Recipe]  # of the runs that start now
    parted: list[tuple[Run, Recipe | None]]  # those that ended, their environment still in it


@dataclass(frozen=True, slots=True)
class Batch:
    steps: Sequence[Step]
    starts: Sequence[str]

    def keep(self, store: Store, early: Sequence[EarlyAnswer] = ()) -> Kept:
        """The recipes of those that end are read first: the environment leaves with the end.

        Answers are given last: what fails before is told as a failure, and nobody is told both.
        """
        parted = [(run, store.recipe(run.id)) for run in _ending(self.steps)]
        store.remember_many(self.steps)
        found = {run: store.recipe(run) for run in self.starts}
        recipes = {run: recipe for run, recipe in found.items() if recipe is not None}
        for answer in early:
            answer.give()
        return Kept(recipes, parted)


def _ending(steps: Iterable[Step]) -> list[Run]:
    changes = (change for step in steps for change in step.changes)
    return [change.run for change in changes if isinstance(change.run.state, Ended)]


def merged(steps: Sequence[Step]) -> Step:
    """All of them as one, with the last change of each run only."""
    changes: dict[str, Change] = {}
    groups: dict[str, GroupFacts] = {}
    beats: dict[str, Heartbeat] = {}
    removed: dict[str, None] = {}
    recipes: dict[str, Recipe] = {}
    beat_recipes: dict[str, Recipe] = {}
    for step in steps:
        for change in step.changes:
            first = changes.pop(change.run.id, change)
            changes[change.run.id] = change._replace(before=first.before)
        for name in step.removed_heartbeats:
            removed[name] = None
            beats.pop(name, None)
        groups |= step.groups
        beats |= {beat.name: beat for beat in step.heartbeats}
        recipes |= step.recipes
        beat_recipes |= step.heartbeat_recipes
    epochs = [step for step in steps if step.boot_id is not None]
    return replace(
        steps[-1],
        changes=tuple(changes.values()),
        steps_done=tuple(done for step in steps for done in step.steps_done),
        groups=groups,
        heartbeats=tuple(beats.values()),
        removed_heartbeats=tuple(removed),
        recipes=recipes,
        heartbeat_recipes=beat_recipes,
        epoch=epochs[-1].epoch if epochs else None,
        boot_id=epochs[-1].boot_id if epochs else None,
    )
