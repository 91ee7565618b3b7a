"""Databases of every released version must always load (see tests/data/make_database.py)."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.core.group import Group
from paddock.core.restore import owed, restore
from paddock.core.run import Ended
from paddock.ports import Rollup
from paddock.storage import schema
from paddock.storage.rollup import DAY_S, HOUR_S, MINUTE_S, fleet_span, group_span
from paddock.storage.sqlite import SqliteStore, open_store
from tests.data import make_database as made

DATA = Path(made.__file__).parent


@pytest.fixture(params=range(1, schema.VERSION + 1))
def store(request: pytest.FixtureRequest, path: Path) -> SqliteStore:
    path.parent.mkdir(mode=0o700)
    shutil.copy(DATA / f"store_v{request.param}.db", path)
    return open_store(path)


def test_an_old_database_loads_whole(store: SqliteStore) -> None:
    found = store.load()
    assert {run.id: run for run in found.runs} == {run.id: run for run in made.runs()}
    assert found.groups == made.groups()
    assert found.heartbeats == (made.heartbeat(),)
    assert (found.at, found.sequence, found.epoch, found.boot_id) == (21.0, 17, 7, "0b00-7")
    for run in found.runs:
        kept = made.recipe()
        if isinstance(run.state, Ended):
            kept = replace(kept, environment=None)
        assert store.recipe(run.id) == kept
        came, moved = store.story(run.id)
        assert (came.state, came.because) == ("queued", "submitted")
        assert moved.because == f"it is {run.spec.name} now"
    assert store.heartbeat_recipe("health") == made.recipe()
    store.close()


def test_steps_that_were_done_are_done(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    shutil.copy(DATA / "store_v3.db", path)
    store = open_store(path)
    assert store.steps_done(made.steps_done()[0].run) == made.steps_done()
    store.close()


def test_the_past_is_still_there(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    shutil.copy(DATA / "store_v5.db", path)
    store = open_store(path)
    found = [
        rollup
        for step_s in (MINUTE_S, HOUR_S, DAY_S)
        for rollup in store.rollups(step_s, since=(0, ""), until_at=9e18, limit=10)
    ]
    assert sorted(map(told, found)) == sorted(map(told, made.rollups()))
    assert store.ledger(since_at=0.0) == (made.entry(),)
    store.close()


def told(rollup: Rollup) -> str:
    """What it says: a row of before has fewer fields, and reads as before."""
    span = (fleet_span if rollup.group is None else group_span)(rollup.data)
    return f"{rollup.step_s} {rollup.at} {rollup.group} {span}"


def test_a_fleet_goes_on_from_an_old_database(store: SqliteStore) -> None:
    found = store.load()
    groups = {name: Group.from_facts(facts, made.POLICY) for name, facts in found.groups.items()}
    fleet = restore(
        made.POLICY, found.runs, groups=groups, heartbeats=found.heartbeats, now=found.at
    )
    assert len(fleet.live) == 5
    assert fleet.waiting == 2
    assert owed(fleet)
    for step in made.steps():
        store.remember(step)  # and it can be written
    store.close()
