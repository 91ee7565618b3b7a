"""What is in the files, how large they get, and what does not linger in them."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from paddock.core.heartbeat import Heartbeat
from paddock.core.run import Queued
from paddock.ports import Keep, Step
from paddock.storage import sqlite
from paddock.storage.opening import copy_to, mended_name
from paddock.storage.sqlite import SqliteStore, open_store
from tests.kit.factories import a_spec
from tests.kit.remembering import a_recipe, ended, moved, numbered, submitted

SECRET = "sk-hunter2-" + "9f" * 40


def linger(store: SqliteStore) -> list[str]:
    """Files beside the store that hold the secret."""
    files = store.path.parent.iterdir()
    return [file.name for file in files if SECRET.encode() in file.read_bytes()]


def test_environment_values_leave_the_files_when_the_run_ends(path: Path) -> None:
    store = open_store(path)
    runs = [numbered(n) for n in range(1, 30)]
    # Long ones spill into pages of their own, short ones share a page with others.
    own = {
        run.id: a_recipe(environment={"TOKEN": SECRET * (1 + n * 9), "N": str(n)})
        for n, run in enumerate(runs)
    }
    store.remember(submitted(*runs, recipes=own))
    assert linger(store)
    store.remember_many([ended(run) for run in runs])
    store.tidy(now_at=3.0)
    assert linger(store) == []
    store.close()
    assert linger(store) == []


def test_nor_do_they_stay_after_a_crash(path: Path) -> None:
    store = open_store(path)
    store.remember(submitted(numbered(1), recipes={"r1": a_recipe(environment={"T": SECRET})}))
    store.remember(ended(numbered(1)))
    assert linger(store) == ["fleet.db-wal"]  # until the next checkpoint
    crashed = path.parent.parent / "crashed" / "fleet.db"
    crashed.parent.mkdir(mode=0o700)
    for end in ("", "-wal"):
        Path(f"{crashed}{end}").write_bytes(Path(f"{path}{end}").read_bytes())
    store.close()
    again = open_store(crashed)
    assert linger(again) == []
    again.close()


def test_a_heartbeats_environment_leaves_with_it(path: Path) -> None:
    store = open_store(path)
    beat, recipe = Heartbeat(a_spec("tidy"), 60.0, 60.0), a_recipe(environment={"T": SECRET})
    store.remember(Step(at=1.0, heartbeats=(beat,), heartbeat_recipes={"tidy": recipe}))
    other = replace(recipe, environment={"T": "harmless"})
    store.remember(Step(at=2.0, heartbeats=(beat,), heartbeat_recipes={"tidy": other}))
    store.tidy(now_at=3.0)
    assert linger(store) == []
    store.remember(Step(at=4.0, heartbeat_recipes={"tidy": recipe}))
    store.remember(Step(at=5.0, removed_heartbeats=("tidy",)))
    store.tidy(now_at=6.0)
    assert linger(store) == []
    store.close()


def test_the_file_stays_bounded_while_runs_come_and_go(path: Path) -> None:
    store = open_store(path)
    sizes = []
    for lot in range(12):
        runs = [numbered(lot * 500 + n) for n in range(500)]
        store.remember(submitted(*runs, at=float(lot)))
        store.remember_many([ended(run, at=float(lot)) for run in runs])
        while store.tidy(now_at=float(lot), keep=Keep(runs=500)):
            pass
        sizes.append(path.stat().st_size + Path(f"{path}-wal").stat().st_size)
    assert len(store.ended(limit=1000)) == 500
    assert max(sizes[6:]) <= 1.2 * max(sizes[:6])
    store.close()


def test_what_is_removed_is_given_back_to_the_disk(path: Path) -> None:
    store = open_store(path)
    runs = [numbered(n) for n in range(3000)]
    store.remember(submitted(*runs))
    store.remember_many([ended(run) for run in runs])
    store.tidy(now_at=3.0)  # all of it is in the database now, not in the WAL
    before = path.stat().st_size
    while store.tidy(now_at=3.0, keep=Keep(runs=10)):
        pass
    assert path.stat().st_size < before / 4
    store.close()


def test_what_is_loaded_at_the_start_is_bounded(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sqlite.LOAD_BYTES == 10_000_000
    store = open_store(path)
    runs = [numbered(n) for n in range(300)]
    store.remember(submitted(*runs))
    store.remember_many([ended(run, at=float(n)) for n, run in enumerate(runs[:200])])
    monkeypatch.setattr(sqlite, "LOAD_BYTES", 100_000)
    loaded = store.load().runs
    assert [run.id for run in loaded[:100]] == [f"r{n}" for n in range(200, 300)]
    newest = [run.id for run in loaded[100:]]
    assert newest == [f"r{n}" for n in range(199, 199 - len(newest), -1)]
    assert 0 < len(newest) < 150
    monkeypatch.setattr(sqlite, "LOAD_BYTES", 1000)
    assert len(store.load().runs) == 100  # what waits is never left out
    store.close()


def test_reading_while_another_thread_commits_is_no_trouble(path: Path) -> None:
    store = open_store(path)
    run = numbered(1)
    store.remember(submitted(run))
    steps = [moved(run, Queued(float(n)), at=float(n)) for n in range(200)]

    def write() -> None:
        for step in steps:
            store.remember(step)

    writer = threading.Thread(target=write)
    writer.start()
    lengths = []
    while writer.is_alive():
        lengths.append(len(store.story("r1")))
        assert store.find("r1")
    writer.join()
    assert lengths == sorted(lengths)
    assert len(store.story("r1")) == 201
    store.close()


def test_a_copy_that_was_whole_when_its_maker_was_killed_is_taken_up(path: Path) -> None:
    store = open_store(path)
    store.remember(submitted(numbered(1)))
    path.unlink()
    copy_to(store._db, mended_name(path))  # noqa: SLF001 - and then it is killed
    store.close()
    for left in (path, Path(f"{path}-wal")):
        left.unlink(missing_ok=True)
    again = open_store(path)
    assert again.run("r1") is not None
    again.close()


def test_removed_files_are_noticed_and_put_back(path: Path) -> None:
    store = open_store(path)
    store.remember(submitted(numbered(1)))
    assert not store.missing()
    for file in path.parent.iterdir():
        file.unlink()
    assert store.missing()
    store.mend()
    assert not store.missing()
    store.remember(submitted(numbered(2)))
    store.close()
    again = open_store(path)
    assert [run.id for run in again.load().runs] == ["r1", "r2"]
    again.close()
