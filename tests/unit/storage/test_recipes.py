"""Which recipes are known without a look at the disk, and that they are few and small."""

from __future__ import annotations

from paddock.storage.recipes import LONGEST, MOST, MOST_EXPECTED, Recipes
from tests.kit.remembering import a_recipe


def test_the_first_who_wait_are_known_and_the_rest_is_not() -> None:
    recipes = Recipes()
    for n in range(MOST_EXPECTED + 5):
        recipes.expect(f"run-{n}", a_recipe(command=("agent", str(n))), 1)
    assert recipes.of("run-0") == a_recipe(command=("agent", "0"))
    assert recipes.of(f"run-{MOST_EXPECTED}") is None
    recipes.forget("run-0")
    recipes.expect("late", a_recipe(), 1)
    assert recipes.of("late") == a_recipe() and recipes.of("run-0") is None


def test_those_who_wait_share_one_environment() -> None:
    recipes = Recipes()
    for name in ("one", "two"):
        recipes.expect(name, a_recipe(environment={"HOME": "/home/a"}), 1)
    recipes.expect("another", a_recipe(environment={"HOME": "/home/b"}), 2)
    found = [recipes.of(name) for name in ("one", "two")]
    assert found[0] and found[1] and found[0].environment is found[1].environment
    assert recipes.of("another") is None
    assert [recipes.environment_of(name) for name in ("one", "two", "another")] == [1, 1, None]


def test_a_long_one_and_one_that_is_not_plain_are_read_again() -> None:
    recipes = Recipes()
    recipes.expect("long", a_recipe(command=("agent", "x" * LONGEST)), 1)
    recipes.expect("odd", a_recipe(command=("agent", "\udcc3\udca9")), 1)
    recipes.expect("label", a_recipe(labels={"say": "\ud800"}), 1)
    assert [recipes.of(name) for name in ("long", "odd", "label")] == [None] * 3


def test_many_at_work_put_out_the_first_of_them_but_nobody_who_waits() -> None:
    recipes = Recipes()
    recipes.expect("waits", a_recipe(), 1)
    for n in range(MOST + 1):
        recipes.learn(f"run-{n}", a_recipe(), n)
    assert recipes.of("run-0") is None and recipes.of(f"run-{MOST}") is not None
    assert recipes.of("waits") is not None
