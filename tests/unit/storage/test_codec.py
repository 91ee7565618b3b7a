"""Rows: exact, tolerant of what is newer, strict about what is broken."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddock.core.run import Ended, Exit, Outcome, Queued, Run, RunSpec
from paddock.ports import Recipe
from paddock.storage import codec
from paddock.storage.errors import Unfit
from tests.kit.factories import a_run, a_spec
from tests.kit.remembering import EXITS, RECIPES, RUNS, SPECS, a_recipe

PACKED = st.one_of(RUNS.map(lambda run: run.state), SPECS, EXITS)
RUN_COLUMNS = 4


@given(PACKED)
def test_what_is_packed_comes_out_the_same(value: object) -> None:
    assert codec.unpack(codec.pack(value), type(value)) == value


@given(RUNS)
def test_a_row_is_a_run(run: Run) -> None:
    assert codec.run_of(codec.run_row(run)[:RUN_COLUMNS]) == run


def test_the_same_facts_give_the_same_bytes() -> None:
    names = [f"run-{n}" for n in range(40)]
    one, two = Queued(1.0, unmet=frozenset(names)), Queued(1.0, unmet=frozenset(reversed(names)))
    assert codec.pack(one) == codec.pack(two)


def test_no_timeout_is_not_an_unset_timeout() -> None:
    spec = a_spec(hard_timeout_s=math.inf)
    text = codec.pack(spec)
    assert codec.unpack(text, RunSpec).hard_timeout_s == math.inf
    assert codec.unpack(codec.pack(a_spec()), RunSpec).hard_timeout_s is None
    json.loads(text, parse_constant=pytest.fail)  # plain JSON, for whoever looks with sqlite3


def test_a_field_of_a_newer_version_is_passed_over() -> None:
    facts = {**json.loads(codec.pack(Queued(1.0))), "mood": {"good": True}}
    assert codec.unpack(json.dumps(facts), Queued) == Queued(1.0)


def test_a_field_that_did_not_exist_yet_gets_its_default() -> None:
    assert codec.unpack('{"since_at": 1.0}', Queued) == Queued(1.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '{"since_at": null}',
        '{"since_at": "1.0"}',
        '{"since_at": 1.0, "unmet": "all"}',
        '{"since_at": {"$float": "soon"}}',
    ],
)
def test_a_broken_row_is_an_error(text: str) -> None:
    with pytest.raises(codec.Broken):
        codec.unpack(text, Queued)


COUNTS = codec.run_row(a_run())[3]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (1, "resting"),
        (2, '{"since_at": []}'),
        (3, "{}"),
        (3, COUNTS.replace('"priority":2', '"priority":9')),
    ],
)
def test_a_run_with_a_broken_part_is_broken(column: int, value: object) -> None:
    row = list(codec.run_row(a_run())[:RUN_COLUMNS])
    row[column] = value
    with pytest.raises(codec.Broken):
        codec.run_of(tuple(row))


def test_a_run_written_before_a_count_was_added_gets_its_default() -> None:
    older = json.loads(COUNTS)
    del older["preemptions"], older["peak_bytes"]
    row = (*codec.run_row(a_run())[:3], json.dumps({**older, "newer": 1}))
    assert codec.run_of(row) == a_run()


def test_an_unknown_outcome_is_broken() -> None:
    text = codec.pack(Ended(1.0, Outcome.LOST, "")).replace("lost", "misplaced")
    with pytest.raises(codec.Broken, match="misplaced"):
        codec.unpack(text, Ended)


def test_an_unknown_breaker_is_broken() -> None:
    with pytest.raises(codec.Broken, match="ajar"):
        codec.group_of(("g", "ajar", "{}", "{}", "[]"))


def test_text_that_utf8_cannot_hold_is_shown_as_escapes() -> None:
    """A spawn error may name a file whose name is no text."""
    state = Ended(1.0, Outcome.SPAWN_FAILED, "no such file: a\udcff")
    assert codec.unpack(codec.pack(state), Ended).because == r"no such file: a\udcff"


def test_text_that_looks_like_a_marker_is_only_text() -> None:
    state = Ended(1.0, Outcome.FAILED, '{"$float": "inf"}')
    assert codec.unpack(codec.pack(state), Ended) == state
    spec = a_spec("$float", hard_timeout_s=math.inf)
    assert codec.unpack(codec.pack(spec), RunSpec) == spec


def test_numbers_that_are_none_come_back() -> None:
    found = codec.unpack(codec.pack(Exit(1, retry_after_s=math.nan)), Exit)
    assert found.retry_after_s is not None and math.isnan(found.retry_after_s)


@given(RECIPES)
def test_a_recipe_comes_back_down_to_its_bytes(recipe: Recipe) -> None:
    _, variables = codec.environment_row(recipe.environment or {})
    environment = codec.environment_of(variables)
    assert codec.recipe_of(codec.recipe_row(recipe), environment) == recipe


def test_labels_may_be_called_anything() -> None:
    recipe = a_recipe(labels={"$float": "soon"})
    row = codec.recipe_row(recipe)
    assert codec.recipe_of(row, None).labels == {"$float": "soon"}
    with pytest.raises(codec.Broken):
        codec.recipe_of((*row[:3], "[1]"), None)


@pytest.mark.parametrize(
    "recipe",
    [
        a_recipe(command=("a\0b",)),
        a_recipe(command=("\ud800",)),
        a_recipe(directory=Path("/a\0b")),
        a_recipe(stdin=Path("/\ud800")),
    ],
)
def test_what_no_program_could_be_given_is_unfit(recipe: Recipe) -> None:
    with pytest.raises(Unfit):
        codec.recipe_row(recipe)


@pytest.mark.parametrize("variables", [{"": "a"}, {"a=b": "c"}, {"a": "b\0"}, {"a\0": "b"}])
def test_variables_that_no_program_could_be_given_are_unfit(variables: dict[str, str]) -> None:
    with pytest.raises(Unfit):
        codec.environment_row(variables)


def test_an_unfit_environment_is_told_without_its_values() -> None:
    with pytest.raises(Unfit) as caught:
        codec.environment_row({"TOKEN": "hunter2\0"})
    assert "hunter2" not in str(caught.value)
