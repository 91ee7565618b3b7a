"""Which runs came with a fleet file: by the labels of their recipes. Keeps nothing."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Final, NamedTuple

from paddock.core.run import Ended, Run
from paddock.ports import Store

from .desk import Desk
from .problems import not_found
from .recipes import FLEET_LABEL, KEY_LABEL

# Of one that was retried: the submission that its fleet came with, which is not its own.
FLEET_KEY_LABEL: Final = "fleet_key"
PAGE: Final = 50  # then others may have the store: a recipe takes it up to 0.4 ms


class Member(NamedTuple):
    run: Run
    key: str  # of the submission of its fleet
    retried: bool  # it came later than that


async def unended_of(desk: Desk, name: str, runs: Sequence[Run]) -> list[Run]:
    return [member.run async for member in _members(desk, name, runs)]


async def ended_of(desk: Desk, name: str, *, most: int) -> list[Run]:
    """The newest first."""
    found: list[Run] = []
    async for members, _ in _ended(desk, name):
        found += [member.run for member in members]
        if len(found) >= most:
            break
    return found[:most]


async def newest_of(desk: Desk, name: str) -> list[Run]:
    """The runs of the newest fleet of this name, without beats; of one that was retried the last
    try. There is a fleet as long as one of its runs is known."""
    known = desk.supervisor.fleet.runs.values()
    unended = [run for run in known if not isinstance(run.state, Ended)]
    unremembered = desk.supervisor.unremembered()
    members = [each async for each in _members(desk, name, unended)]
    await desk.supervisor.remembered(unremembered)
    async for some, oldest_at in _ended(desk, name):
        members += some
        if oldest_at < _submitted_at(_newest(members)):
            break  # whoever ended before it came is none of it
    found = {each.run.spec.name: each.run for each in _newest(members)}
    if not found:
        raise not_found(f"there is no fleet {name[:64]!r}; `paddock ls --all` lists all runs")
    return list(found.values())


async def heartbeats_of(desk: Desk, name: str) -> list[str]:
    beats = list(desk.supervisor.fleet.heartbeats)

    def read(store: Store) -> list[str]:
        recipes = ((beat, store.heartbeat_recipe(beat)) for beat in beats)
        return [beat for beat, found in recipes if found and found.labels.get(FLEET_LABEL) == name]

    return await desk.supervisor.look(read)


def _newest(members: Sequence[Member]) -> list[Member]:
    """Those of one fleet, in the order in which they came."""
    runs = [each for each in members if each.run.spec.heartbeat is None]
    runs.sort(key=lambda each: each.run.sequence)
    return [each for each in runs if each.key == runs[-1].key]


def _submitted_at(members: Sequence[Member]) -> float:
    """When their fleet came, as far as they can tell."""
    return next((each.run.enqueued_at for each in members if not each.retried), -math.inf)


async def _ended(desk: Desk, name: str) -> AsyncIterator[tuple[list[Member], float]]:
    """Page by page, the newest first, each with the time of its oldest end."""
    before: tuple[float, str] | None = None
    while True:
        page = await desk.supervisor.look(
            lambda store, before=before: store.ended(before=before, limit=PAGE)  # type: ignore[misc]
        )
        if not page:
            return
        before = (page[-1].state.since_at, page[-1].id)
        yield [each async for each in _members(desk, name, page)], before[0]


async def _members(desk: Desk, name: str, runs: Sequence[Run]) -> AsyncIterator[Member]:
    for first in range(0, len(runs), PAGE):
        some = runs[first : first + PAGE]
        labels = await desk.supervisor.look(lambda store, some=some: _labels(store, some))  # type: ignore[misc]
        for run, said in zip(some, labels, strict=True):
            if said.get(FLEET_LABEL) == name:
                key = said.get(FLEET_KEY_LABEL, said.get(KEY_LABEL, ""))
                yield Member(run, key, FLEET_KEY_LABEL in said)


def _labels(store: Store, runs: Sequence[Run]) -> list[Mapping[str, str]]:
    recipes = (store.recipe(run.id) for run in runs)
    return [{} if recipe is None else recipe.labels for recipe in recipes]
