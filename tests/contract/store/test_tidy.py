"""The past is bounded; what has not ended is never removed."""

from __future__ import annotations

from paddock.core.group import Group
from paddock.core.run import Run
from paddock.ports import Keep, Step, Store
from tests.kit.factories import a_policy, a_run, a_spec
from tests.kit.remembering import a_recipe, ended, numbered, submitted

DAY_S = 86400.0


def tidy_up(store: Store, keep: Keep, *, now_at: float) -> int:
    removed = 0
    while batch := store.tidy(now_at=now_at, keep=keep):
        removed += len(batch.runs) + batch.groups
    return removed


def test_ended_runs_beyond_the_number_go_the_oldest_first(store: Store) -> None:
    store.remember(submitted(*(numbered(n) for n in range(300)), recipes={"r1": a_recipe()}))
    store.remember_many([ended(numbered(n), at=float(n)) for n in range(280)])
    assert tidy_up(store, Keep(runs=10), now_at=300.0) == 270
    assert [run.id for run in store.ended()] == [f"r{n}" for n in range(279, 269, -1)]
    assert [run.id for run in store.load(ended=0).runs] == [f"r{n}" for n in range(280, 300)]
    assert store.story("r1") == ()
    assert store.recipe("r1") is None


def test_ended_runs_go_when_they_are_too_old(store: Store) -> None:
    store.remember(submitted(numbered(1), numbered(2), numbered(3)))
    store.remember(ended(numbered(1), at=1 * DAY_S))
    store.remember(ended(numbered(2), at=20 * DAY_S))
    assert tidy_up(store, Keep(age_s=30 * DAY_S), now_at=31.5 * DAY_S) == 1
    assert [run.id for run in store.ended()] == ["r2"]
    assert tidy_up(store, Keep(age_s=30 * DAY_S), now_at=900 * DAY_S) == 1
    assert [run.id for run in store.load().runs] == ["r3"]


def a_beat(of: str, n: int) -> Run:
    return a_run(a_spec(f"{of}.{n}", heartbeat=of))


def test_of_each_heartbeat_only_the_newest_beats_stay(store: Store) -> None:
    beats = [a_beat(of, n) for n in range(250) for of in ("pulse", "check")]
    store.remember(submitted(numbered(1), *beats, recipes={"pulse.0": a_recipe()}))
    store.remember(ended(numbered(1), at=0.5))
    store.remember_many([ended(beat, at=1.0 + n) for n, beat in enumerate(beats[:-2])])
    gone: list[str] = []
    while batch := store.tidy(now_at=1000.0, keep=Keep(beats=20)):
        assert 0 < len(batch.runs) <= 100
        gone += batch.runs
    assert sorted(gone) == sorted(beat.id for beat in beats[:-42])
    assert {run.id for run in store.ended()} == {"r1", *(beat.id for beat in beats[-42:-2])}
    assert store.story("pulse.0") == () and store.recipe("pulse.0") is None
    # Under way, and so not counted and not removed.
    assert {run.id for run in store.load(ended=0).runs} == {"pulse.249", "check.249"}


def test_beats_push_no_other_run_out(store: Store) -> None:
    beats = [a_beat("pulse", n) for n in range(300)]
    store.remember(submitted(*(numbered(n) for n in range(30)), *beats))
    store.remember_many([ended(numbered(n), at=float(n)) for n in range(30)])
    store.remember_many([ended(beat, at=100.0 + n) for n, beat in enumerate(beats)])
    tidy_up(store, Keep(runs=50, beats=20), now_at=1000.0)
    found = [run.id for run in store.ended(limit=500)]
    assert [run for run in found if run.startswith("r")] == [f"r{n}" for n in range(29, -1, -1)]
    assert len(found) == 50


def test_a_run_whose_id_only_looks_like_a_beats_stays(store: Store) -> None:
    lookalikes = [a_run(a_spec(f"pulse.{n}")) for n in range(30)]
    store.remember(submitted(*lookalikes))
    store.remember_many([ended(run, at=float(n)) for n, run in enumerate(lookalikes)])
    assert tidy_up(store, Keep(beats=20), now_at=100.0) == 0


def test_groups_that_nobody_used_for_long_are_forgotten(store: Store) -> None:
    facts = Group(a_policy()).facts()
    for day in range(5):
        store.remember(Step(at=day * DAY_S, groups={f"g{day}": facts}))
    tidy_up(store, Keep(age_s=3.5 * DAY_S, groups=100), now_at=5 * DAY_S)
    assert sorted(store.load().groups) == ["g2", "g3", "g4"]
    tidy_up(store, Keep(age_s=30 * DAY_S, groups=1), now_at=5 * DAY_S)
    assert sorted(store.load().groups) == ["g4"]


def test_with_nothing_to_remove_nothing_goes(store: Store) -> None:
    store.remember(submitted(numbered(1), numbered(2)))
    store.remember(ended(numbered(1)))
    assert not store.tidy(now_at=3.0)
    assert len(store.load().runs) == 2
