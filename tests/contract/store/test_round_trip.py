"""Whatever the core can hold comes back exactly."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from paddock.core.events import Event
from paddock.core.group import Group, GroupFacts
from paddock.core.heartbeat import Heartbeat
from paddock.core.restore import owed, restore
from paddock.core.run import Ended, Run
from paddock.ports import Recipe, Step, Store
from paddock.storage.memory import MemoryStore
from paddock.storage.sqlite import open_store
from tests.kit.factories import a_policy, a_run, a_spec
from tests.kit.remembering import HEARTBEATS, IDS, RECIPES, RUNS, TEXTS, group_facts, submitted
from tests.properties.fleet_machine import FleetMachine
from tests.properties.fleet_walk import Walk

KINDS = pytest.mark.parametrize("kind", ["memory", "sqlite"])


@contextmanager
def a_store(kind: str) -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as directory:
        store = MemoryStore() if kind == "memory" else open_store(Path(directory) / "db")
        yield store
        store.close()


@KINDS
@settings(max_examples=60)
@given(runs=st.lists(RUNS, max_size=8, unique_by=lambda run: run.id))
def test_runs_in_every_state(kind: str, runs: list[Run]) -> None:
    with a_store(kind) as store:
        store.remember(submitted(*runs))
        loaded = {run.id: run for run in store.load().runs}
        assert loaded == {run.id: run for run in runs}
        assert all(store.run(run.id) == run for run in runs)
        ended = [run for run in runs if isinstance(run.state, Ended)]
        assert sorted(run.id for run in store.ended()) == sorted(run.id for run in ended)


@KINDS
@settings(max_examples=40)
@given(groups=st.dictionaries(TEXTS, group_facts(), max_size=4))
def test_groups_with_their_breakers_histograms_and_durations(
    kind: str, groups: dict[str, GroupFacts]
) -> None:
    with a_store(kind) as store:
        store.remember(Step(at=1.0, groups=groups))
        assert store.load().groups == groups
    for facts in groups.values():
        assert Group.from_facts(facts, a_policy()).facts() == facts


@KINDS
@settings(max_examples=40)
@given(beats=st.lists(HEARTBEATS, max_size=4, unique_by=lambda beat: beat.name), recipe=RECIPES)
def test_heartbeats_with_their_recipes(kind: str, beats: list[Heartbeat], recipe: Recipe) -> None:
    recipes = {beat.name: recipe for beat in beats}
    with a_store(kind) as store:
        store.remember(Step(at=1.0, heartbeats=tuple(beats), heartbeat_recipes=recipes))
        assert store.load().heartbeats == tuple(sorted(beats, key=lambda beat: beat.name))
        assert all(store.heartbeat_recipe(beat.name) == recipe for beat in beats)


@KINDS
@settings(max_examples=40)
@given(run=RUNS.filter(lambda run: not isinstance(run.state, Ended)), recipe=RECIPES)
def test_recipes_down_to_bytes_that_are_no_text(kind: str, run: Run, recipe: Recipe) -> None:
    with a_store(kind) as store:
        store.remember(submitted(run, recipes={run.id: recipe}))
        assert store.recipe(run.id) == recipe


@KINDS
@settings(max_examples=40)
@given(ids=st.lists(IDS, unique=True, max_size=8), text=IDS)
def test_a_prefix_finds_what_begins_with_it(kind: str, ids: list[str], text: str) -> None:
    runs = [run_named(name, n) for n, name in enumerate(ids)]
    with a_store(kind) as store:
        store.remember(submitted(*runs))
        found = [run.id for run in store.find(text)]
    fitting = sorted(name for name in ids if name.startswith(text))
    assert found == ([text] if text in ids else fitting[:6])


def run_named(name: str, number: int) -> Run:
    return a_run(replace(a_spec(name), name=""), sequence=number)


class RememberedMachine(FleetMachine):
    """Every step of a life is remembered as the loop would."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store
        self.last: dict[str, Run] = {}

    def tell(self, event: Event) -> None:
        super().tell(event)
        fleet = self.fleet
        self.last |= {change.run.id: change.run for change in fleet.changes}
        groups = {name: fleet.groups[name].facts() for name in fleet.changed_groups}
        fleet.changed_groups.clear()
        self.store.remember(Step(at=fleet.now, changes=tuple(fleet.changes), groups=groups))

    def teardown(self) -> None:
        """No drain: the store is asked about a fleet that is in the middle of things."""


class RememberedWalk(Walk):
    def __init__(self, seed: int, store: Store) -> None:
        super().__init__(seed)
        self.machine = RememberedMachine(store)
        self.machine.begin(self._policy(), [self._spec() for _ in range(5)])


@KINDS
@pytest.mark.parametrize("seed", range(4))
def test_a_fleet_built_from_the_store_is_the_fleet_that_was(kind: str, seed: int) -> None:
    with a_store(kind) as store:
        walk = RememberedWalk(seed, store)
        walk.live(steps=40)
        machine = walk.machine
        assert isinstance(machine, RememberedMachine)
        assert machine.last
        assert {run: store.run(run) for run in machine.last} == machine.last
        found, fleet = store.load(), machine.fleet
        groups = {
            name: Group.from_facts(facts, fleet.policy) for name, facts in found.groups.items()
        }
        again = restore(fleet.policy, found.runs, groups=groups, now=found.at)
        assert {r.id: r for r in again.live_runs()} == {r.id: r for r in fleet.live_runs()}
        assert again.waiting == fleet.waiting
        assert sorted(map(str, owed(again))) == sorted(map(str, owed(fleet)))
