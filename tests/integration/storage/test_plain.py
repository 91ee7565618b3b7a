"""The plain batch and the long way leave the same rows, down to the last byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TypeVar

import pytest

from paddock.core.events import Event
from paddock.core.fleet import Change
from paddock.core.run import Starting
from paddock.ports import Recipe, Step
from paddock.storage import story
from paddock.storage.opening import connect, hold
from paddock.storage.sqlite import SqliteStore
from paddock.supervisor.batch import Batch
from tests.kit.factories import a_run, a_spec
from tests.kit.remembering import a_recipe, ended, submitted
from tests.properties.fleet_machine import FleetMachine
from tests.properties.fleet_walk import Walk

TABLES = ("runs", "moves", "groups", "fleet", "environments")
T = TypeVar("T", bound="ShownStore")
SHELLS: tuple[dict[str, str], ...] = ({"HOME": "/home/a"}, {"HOME": "/home/b", "TERM": "dumb"})


class ShownStore(SqliteStore):
    def rows(self) -> dict[str, list[object]]:
        query = "SELECT * FROM {} ORDER BY 1, 2"
        return {table: list(self._db.execute(query.format(table))) for table in TABLES}


class CountingStore(ShownStore):
    plain = 0

    def _remember_plain(self, steps: Sequence[Step]) -> bool:
        was_plain = super()._remember_plain(steps)
        self.plain += was_plain
        return was_plain


class LongWayStore(ShownStore):
    def _remember_plain(self, *_: object) -> bool:
        return False


@contextmanager
def a_store(kind: type[T], path: Path) -> Iterator[T]:
    lock = hold(path)
    store = kind(connect(path), path, lock=lock)
    yield store
    store.close()


class TakenDown(FleetMachine):
    """Every step of a life, as the loop would bring it to a store."""

    def __init__(self, draw: Random) -> None:
        super().__init__()
        self.draw = draw
        self.steps: list[Step] = []

    def tell(self, event: Event) -> None:
        super().tell(event)
        fleet = self.fleet
        groups = {name: fleet.groups[name].facts() for name in fleet.changed_groups}
        fleet.changed_groups.clear()
        new = [change.run.id for change in fleet.changes if change.before is None]
        recipes = {run: self._recipe(run) for run in new}
        changes = tuple(fleet.changes)
        self.steps.append(Step(at=fleet.now, changes=changes, groups=groups, recipes=recipes))

    def _recipe(self, run: str) -> Recipe:
        return a_recipe(command=("agent", run), environment=self.draw.choice(SHELLS))

    def teardown(self) -> None:
        """No drain: a store is asked about a fleet that is in the middle of things."""


class TakenDownWalk(Walk):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.machine = self.taken = TakenDown(self.draw)
        self.machine.begin(self._policy(), [self._spec() for _ in range(5)])


def a_life(seed: int) -> list[Step]:
    walk = TakenDownWalk(seed)
    walk.live(steps=120)
    return walk.taken.steps


def batches(steps: list[Step], draw: Random) -> Iterator[Batch]:
    while steps:
        many = draw.choice([1, 1, 2, 5])
        taken, steps = steps[:many], steps[many:]
        changes = [change for step in taken for change in step.changes]
        starts = [change.run.id for change in changes if isinstance(change.run.state, Starting)]
        yield Batch(taken, starts)


@pytest.mark.parametrize("seed", range(6))
def test_a_life_leaves_the_same_rows_either_way(tmp_path: Path, seed: int) -> None:
    with (
        a_store(CountingStore, tmp_path / "plain") as plain,
        a_store(LongWayStore, tmp_path / "long") as long,
    ):
        count = 0
        for batch in batches(a_life(seed), Random(seed)):
            told = [batch.keep(store) for store in (plain, long)]
            assert told[0] == told[1]
            assert plain.rows() == long.rows()
            count += 1
        assert plain.plain > count / 3  # or nothing was compared


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ShownStore]:
    with a_store(ShownStore, tmp_path / "db") as found:
        yield found


def test_an_environment_goes_with_the_last_that_uses_it(store: ShownStore) -> None:
    recipe = a_recipe()
    runs = [a_run(a_spec(name), sequence=n) for n, name in enumerate(("one", "two"))]
    for run in runs:
        store.remember(submitted(run, recipes={run.id: recipe}))
    for run, left in zip(runs, (1, 0), strict=True):
        assert store.recipe(run.id) == recipe
        store.remember(ended(run))
        found = store.recipe(run.id)
        assert found is not None and found.environment is None
        assert len(store.rows()["environments"]) == left


def test_a_run_that_the_store_does_not_know_is_put_there(store: ShownStore) -> None:
    """Its files were put back from a moment before it came, say."""
    known, unknown = (a_run(a_spec(name), sequence=n) for n, name in enumerate(("a", "b")))
    store.remember(submitted(known))
    moves = tuple(Change(run, run.state, "moved") for run in (known, unknown))
    store.remember(Step(at=5.0, changes=moves))
    assert store.run("b") == unknown
    assert [move.because for move in store.story("a")] == ["submitted", "moved"]
    assert [move.because for move in store.story("b")] == ["moved"]


def test_one_that_is_there_already_is_not_there_twice(store: ShownStore) -> None:
    run = a_run(a_spec("a"), sequence=1)
    for _ in range(3):
        store.remember(submitted(run, recipes={run.id: a_recipe()}))
    assert [found.id for found in store.load().runs] == ["a"]
    assert len(store.rows()["environments"]) == 1


def test_a_story_without_end_is_folded_by_plain_batches(store: ShownStore) -> None:
    run = a_run(a_spec("a"), sequence=1)
    store.remember(submitted(run))
    moves = [
        Step(at=float(n), changes=(Change(run, run.state, f"move {n}"),)) for n in range(2, 1501)
    ]
    for first in range(0, len(moves), 50):
        store.remember_many(moves[first : first + 50])
    told = store.story("a")
    assert len(told) <= story.LONGEST
    assert sum(move.moves for move in told) == 1500
    assert told[-1].because == "move 1500"


@pytest.mark.parametrize("kind", [ShownStore, LongWayStore])
def test_what_is_expected_is_what_a_new_store_reads(tmp_path: Path, kind: type[ShownStore]) -> None:
    recipes = {
        name: a_recipe(command=("agent", name, text), labels={"a": text}, environment=SHELLS[0])
        for name, text in (("plain", "x"), ("long", "y" * 3000), ("odd", "é\udcff"))
    }
    runs = [a_run(a_spec(name), sequence=n) for n, name in enumerate(recipes)]
    with a_store(kind, tmp_path / "db") as store:
        for run in runs:
            store.remember(submitted(run, recipes={run.id: recipes[run.id]}))
        told = {run.id: store.recipe(run.id) for run in runs}
    with a_store(kind, tmp_path / "db") as anew:
        assert {run.id: anew.recipe(run.id) for run in runs} == told
    assert told["plain"] == recipes["plain"]


@pytest.mark.parametrize("kind", [ShownStore, LongWayStore])
def test_another_recipe_takes_the_place_of_an_expected_one(
    tmp_path: Path, kind: type[ShownStore]
) -> None:
    run, other = a_run(a_spec("a"), sequence=1), a_recipe(command=("another",))
    with a_store(kind, tmp_path / "db") as store:
        store.remember(submitted(run, recipes={run.id: a_recipe()}))
        store.remember(Step(at=5.0, recipes={run.id: other}))
        assert store.recipe(run.id) == other
        store.remember(submitted(run, recipes={run.id: a_recipe()}))  # it is there: nothing of it
        assert store.recipe(run.id) == other


def test_a_run_that_came_and_went_in_one_batch_is_not_expected(store: ShownStore) -> None:
    run = a_run(a_spec("a"), sequence=1)
    store.remember_many([submitted(run, recipes={run.id: a_recipe()}), ended(run)])
    found = store.recipe(run.id)
    assert found is not None and found.environment is None
