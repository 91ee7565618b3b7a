"""What every store promises to the loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from paddock.core.fleet import Change
from paddock.core.group import Group
from paddock.core.heartbeat import Heartbeat
from paddock.core.run import Ended, Hold, Outcome, Queued, Starting, StepDone
from paddock.ports import Move, Remembered, Step, Store, Wanted
from paddock.storage import story
from paddock.storage.errors import StoreError, Unfit
from tests.contract.store.conftest import Shelf
from tests.kit.factories import a_policy, a_run, a_spec
from tests.kit.remembering import a_recipe, ended, moved, numbered, submitted
from tests.kit.yard import Yard


def test_a_new_store_remembers_nothing(store: Store) -> None:
    assert store.load() == Remembered()
    assert store.run("a") is None
    assert store.find("a") == store.ended() == ()
    assert store.story("a") == ()
    assert store.recipe("a") is store.heartbeat_recipe("a") is None


def test_nothing_to_remember_is_no_trouble(store: Store) -> None:
    store.remember_many([])
    assert store.load() == Remembered()


def test_a_run_is_there_after_a_restart(shelf: Shelf) -> None:
    run = a_run()
    shelf.store.remember(submitted(run, at=7.0))
    assert shelf.reopened().load() == Remembered(runs=(run,), at=7.0, sequence=1)


def test_the_last_change_of_a_step_is_the_state_and_all_are_the_story(store: Store) -> None:
    run = a_run()
    waits = structs.replace(run, state=Queued(3.0, because="no room"))
    over = structs.replace(run, state=Ended(3.0, Outcome.CANCELLED, "cancelled"), attempts=2)
    changes = (Change(run, None, "came"), Change(waits, run.state, "no room"))
    store.remember(Step(at=3.0, changes=(*changes, Change(over, waits.state, "cancelled"))))
    assert store.run("a") == over
    assert store.story("a") == (
        Move(3.0, "queued", 0, "came"),
        Move(3.0, "queued", 0, "no room"),
        Move(3.0, "ended", 2, "cancelled"),
    )


def test_a_run_whose_beginning_was_never_told_is_kept_from_its_first_move_on(store: Store) -> None:
    run = a_run()
    store.remember(ended(run, at=3.0))
    found = store.run("a")
    assert found is not None and (found.spec, type(found.state)) == (run.spec, Ended)
    assert [move.state for move in store.story("a")] == ["ended"]


def test_many_steps_are_kept_in_their_order(store: Store) -> None:
    run = a_run()
    store.remember_many([submitted(run), moved(run, Queued(2.0)), ended(run, at=3.0)])
    assert [move.state for move in store.story("a")] == ["queued", "queued", "ended"]
    assert store.load().at == 3.0


def test_what_is_unfit_keeps_the_whole_batch_out(store: Store) -> None:
    bad = submitted(numbered(2), recipes={"r2": a_recipe(environment={"A": "a\0b"})})
    with pytest.raises(Unfit, match="zero byte"):
        store.remember_many([submitted(numbered(1)), bad])
    assert store.load() == Remembered()
    store.remember(submitted(numbered(1)))
    assert store.run("r1") is not None


def test_a_recipe_for_nobody_is_unfit(store: Store) -> None:
    with pytest.raises(Unfit):
        store.remember(Step(at=1.0, recipes={"nobody": a_recipe()}))
    with pytest.raises(Unfit):
        store.remember(Step(at=1.0, heartbeat_recipes={"nobody": a_recipe()}))


def test_the_time_of_the_fleet_never_goes_back(store: Store) -> None:
    store.remember_many([Step(at=9.0), Step(at=4.0)])
    store.remember(Step(at=5.0))
    assert store.load().at == 9.0


def test_epoch_and_boot_stay_until_they_are_told_anew(shelf: Shelf) -> None:
    shelf.store.remember(Step(at=1.0, epoch=4, boot_id="b00t"))
    shelf.store.remember(Step(at=2.0))
    found = shelf.reopened().load()
    assert (found.epoch, found.boot_id) == (4, "b00t")
    shelf.store.remember(Step(at=2.0, epoch=5))
    found = shelf.store.load()
    assert (found.epoch, found.boot_id) == (5, "b00t")


def test_the_highest_sequence_outlives_its_run(store: Store) -> None:
    store.remember(submitted(numbered(41)))
    store.remember(ended(numbered(41)))
    store.remember(submitted(numbered(3)))
    while store.tidy(now_at=1e12):
        pass
    assert store.run("r41") is None
    assert store.load().sequence == 41


# -- groups and heartbeats ----------------------------------------------------------------------


def test_a_group_comes_back_as_it_was(shelf: Shelf) -> None:
    yard = Yard()
    yard.run(a_spec())
    yard.sample(a="1G")
    yard.advance(30)
    yard.end("a", 1)
    facts = yard.fleet.groups["coder"].facts()
    shelf.store.remember(Step(at=1.0, groups={"coder": facts}))
    found = shelf.reopened().load().groups
    assert found == {"coder": facts}
    assert Group.from_facts(found["coder"], a_policy()).facts() == facts


def test_a_removed_heartbeat_is_gone_with_its_recipe(shelf: Shelf) -> None:
    beat = Heartbeat(a_spec("tidy"), 60.0, 60.0)
    recipe = a_recipe()
    both = {"heartbeats": (beat,), "heartbeat_recipes": {"tidy": recipe}}
    shelf.store.remember(submitted(at=1.0, **both))
    later = structs.replace(beat, next_at=120.0, beats=1)
    shelf.store.remember(Step(at=60.0, heartbeats=(later,)))
    store = shelf.reopened()
    assert store.load().heartbeats == (later,)
    assert store.heartbeat_recipe("tidy") == recipe
    store.remember(Step(at=61.0, removed_heartbeats=("tidy",)))
    assert store.load().heartbeats == ()
    assert store.heartbeat_recipe("tidy") is None


def test_each_beat_keeps_the_recipe_of_its_time(store: Store) -> None:
    beat = Heartbeat(a_spec("tidy"), 60.0, 60.0)
    old, new = a_recipe(command=("old",)), a_recipe(command=("new",), environment={"K": "2"})
    store.remember(Step(at=1.0, heartbeats=(beat,), heartbeat_recipes={"tidy": old}))
    store.remember(submitted(a_run(a_spec("tidy.60", heartbeat="tidy")), at=60.0))
    store.remember(Step(at=61.0, heartbeats=(beat,), heartbeat_recipes={"tidy": new}))
    store.remember(submitted(a_run(a_spec("tidy.120", heartbeat="tidy")), at=120.0))
    assert store.recipe("tidy.60") == old
    assert store.recipe("tidy.120") == new


# -- recipes ------------------------------------------------------------------------------------


def test_the_environment_goes_when_the_run_ends_and_the_rest_stays(shelf: Shelf) -> None:
    run, recipe = a_run(), a_recipe(labels={"role": "tests"})
    shelf.store.remember(submitted(run, recipes={"a": recipe}))
    assert shelf.reopened().recipe("a") == recipe
    shelf.store.remember(moved(run, Starting(2.0, 1, Hold(2, 1), 9.0)))
    assert shelf.store.recipe("a") == recipe
    shelf.store.remember(ended(run))
    assert shelf.reopened().recipe("a") == replace(recipe, environment=None)


def test_an_environment_that_others_use_stays_with_them(store: Store) -> None:
    one, two = numbered(1), numbered(2)
    recipe = a_recipe()
    store.remember(submitted(one, two, recipes={"r1": recipe, "r2": recipe}))
    store.remember(ended(one))
    assert store.recipe("r1") == replace(recipe, environment=None)
    assert store.recipe("r2") == recipe


def test_what_was_taken_back_counts_for_no_environment(store: Store) -> None:
    recipe = a_recipe()
    store.remember(submitted(numbered(1), recipes={"r1": recipe}))
    lost = {"r2": recipe, "nobody": recipe}
    for _ in range(2):
        with pytest.raises(Unfit):
            store.remember(submitted(numbered(2), recipes=lost))
    assert store.recipe("r2") is None
    store.remember(ended(numbered(1)))
    store.remember(submitted(numbered(3), recipes={"r3": recipe}))
    assert store.recipe("r3") == recipe
    assert store.recipe("r1") == replace(recipe, environment=None)


def test_a_recipe_may_be_changed_and_the_others_keep_theirs(store: Store) -> None:
    first, second = a_recipe(), a_recipe(environment={"K": "2"})
    store.remember(submitted(numbered(1), numbered(2), recipes={"r1": first, "r2": first}))
    store.remember(Step(at=3.0, recipes={"r1": second}))
    assert (store.recipe("r1"), store.recipe("r2")) == (second, first)
    store.remember(ended(numbered(2)))
    assert store.recipe("r1") == second


def test_a_run_that_ends_as_it_comes_leaves_no_environment(store: Store) -> None:
    run = a_run()
    over = Change(structs.replace(run, state=Ended(1.0, Outcome.REFUSED, "no")), run.state, "no")
    changes = (Change(run, None, "came"), over)
    store.remember(Step(at=1.0, changes=changes, recipes={"a": a_recipe()}))
    assert store.recipe("a") == a_recipe(environment=None)


def test_environment_values_are_not_shown_by_accident() -> None:
    assert "hunter2" not in repr(a_recipe(environment={"TOKEN": "hunter2"}))


# -- looking back -------------------------------------------------------------------------------


def test_load_brings_all_that_wait_and_the_newest_that_ended(store: Store) -> None:
    store.remember(submitted(*(numbered(n) for n in range(1, 21))))
    for n in range(1, 11):
        store.remember(ended(numbered(n), at=100.0 - n))
    loaded = [run.id for run in store.load(ended=3).runs]
    assert loaded == [*(f"r{n}" for n in range(11, 21)), "r1", "r2", "r3"]


def test_ended_runs_come_in_pages_without_gaps_or_repeats(store: Store) -> None:
    store.remember(submitted(*(numbered(n) for n in range(25))))
    store.remember_many([ended(numbered(n), at=float(n // 5)) for n in range(25)])
    seen: list[str] = []
    page = store.ended(limit=7)
    while page:
        seen += [run.id for run in page]
        page = store.ended(before=(page[-1].state.since_at, page[-1].id), limit=7)
    assert len(seen) == len(set(seen)) == 25
    assert [int(run[1:]) // 5 for run in seen] == sorted((n // 5 for n in range(25)), reverse=True)


def test_ended_runs_can_be_asked_for_by_what_is_known_of_them(store: Store) -> None:
    store.remember(submitted(numbered(1, group="x"), numbered(2), numbered(3), numbered(4)))
    store.remember(ended(numbered(1, group="x"), at=1.0))
    store.remember(ended(numbered(2), at=2.0, outcome=Outcome.FAILED))
    store.remember(ended(numbered(3), at=3.0))

    def found(wanted: Wanted) -> list[str]:
        return [run.id for run in store.ended(wanted)]

    assert found(Wanted()) == ["r3", "r2", "r1"]
    assert found(Wanted(group="x")) == ["r1"]
    assert found(Wanted(name="r2")) == ["r2"]
    assert found(Wanted(outcome=Outcome.SUCCEEDED)) == ["r3", "r1"]
    assert found(Wanted(outcome=Outcome.SUCCEEDED, since_at=2.0)) == ["r3"]


def test_a_run_is_found_by_id_by_name_and_by_prefix(store: Store) -> None:
    first = a_run(structs.replace(a_spec("7f3a"), name="review"), sequence=1)
    second = a_run(structs.replace(a_spec("7f9c"), name="review"), sequence=2)
    third = a_run(structs.replace(a_spec("c001"), name="7f3"), sequence=3)
    store.remember(submitted(first, second, third))
    assert store.find("7f3a") == (first,)
    assert store.find("review") == (second,)
    assert store.find("7f3") == (third,)  # a whole name says more than a part of an id
    assert store.find("c0") == (third,)
    assert store.find("7f") == (first, second)
    assert store.find("%") == store.find("7F") == store.find("") == ()


def test_a_prefix_that_fits_many_brings_a_few(store: Store) -> None:
    store.remember(submitted(*(numbered(n) for n in range(50))))
    assert 2 <= len(store.find("r")) <= 10


def test_a_long_story_keeps_its_ends_and_counts_its_middle(shelf: Shelf) -> None:
    run, told = a_run(), 2 * story.LONGEST + 37
    moves = [moved(run, Queued(float(n)), at=float(n), because=str(n)) for n in range(1, told)]
    shelf.store.remember_many([submitted(run, at=0.0), *moves])
    found = shelf.reopened().story("a")
    assert len(found) <= story.LONGEST
    assert sum(move.moves for move in found) == told
    (folded,) = [move for move in found if move.moves > 1]
    assert found.index(folded) == story.HEAD
    assert "not kept" in folded.because
    assert [move.at for move in found] == sorted(move.at for move in found)
    assert found[-1].because == str(told - 1)


# -- trouble ------------------------------------------------------------------------------------


def test_a_closed_store_says_so_and_closing_twice_is_no_trouble(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.load()
    with pytest.raises(StoreError, match="closed"):
        store.remember(Step(at=1.0))


def test_how_runs_ended_is_counted(store: Store) -> None:
    assert dict(store.outcomes()) == {}
    for number, outcome in enumerate([Outcome.FAILED, Outcome.SUCCEEDED, Outcome.FAILED], start=1):
        run = numbered(number)
        store.remember_many([submitted(run), ended(run, outcome=outcome)])
    store.remember(submitted(numbered(9)))
    assert dict(store.outcomes()) == {"failed": 2, "succeeded": 1}


def a_step_done(step: int = 0, **facts: Any) -> StepDone:
    usual = {"name": "unit", "at": 4.0, "attempt": 1, "exit_code": 0}
    return StepDone(run="a", step=step, **{**usual, **facts})


def test_steps_that_are_done_are_there_after_a_restart_in_their_order(shelf: Shelf) -> None:
    run = a_run()
    done = [a_step_done(1, name="né"), a_step_done(0, output_digest="sha256:1", commit="c0ffee")]
    shelf.store.remember(submitted(run))
    shelf.store.remember(Step(at=4.0, steps_done=tuple(done)))
    assert shelf.reopened().steps_done("a") == tuple(reversed(done))
    assert shelf.store.steps_done("b") == ()


def test_a_step_is_done_once_and_what_was_kept_first_stands(store: Store) -> None:
    run = a_run()
    store.remember(Step(at=3.0, changes=submitted(run).changes, steps_done=(a_step_done(),)))
    store.remember(Step(at=5.0, steps_done=(a_step_done(attempt=2, at=5.0),)))
    assert store.steps_done("a") == (a_step_done(),)


def test_steps_go_with_their_run(store: Store) -> None:
    run = a_run()
    store.remember_many([submitted(run), Step(at=3.0, steps_done=(a_step_done(),))])
    store.remember(ended(run, at=5.0))
    store.tidy(now_at=1e9)
    assert store.run("a") is None and store.steps_done("a") == ()
