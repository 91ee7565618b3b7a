"""Whether what is asked for at once is safe on this host (CAP-3)."""

import pytest

from paddock.api.preflight import at_once, too_many
from paddock.config.layers import settings_of
from paddock.config.policy import to_policy
from paddock.core.units import GIB
from tests.kit.factories import a_policy, a_spec


def test_levels_follow_the_needs() -> None:
    specs = [
        a_spec("a"),
        a_spec("b", needs=("a",)),
        a_spec("c", needs=("a", "elsewhere")),
        a_spec("d", needs=("b", "c")),
    ]
    assert [[spec.id for spec in level] for level in at_once(specs)] == [["a"], ["b", "c"], ["d"]]


def test_a_circle_is_no_level() -> None:
    assert at_once([a_spec("a", needs=("b",)), a_spec("b", needs=("a",))]) == []


@pytest.mark.parametrize(
    ("sizes", "sentence"),
    [
        (["6G", "6G"], None),
        (["12G"], None),
        (["7G", "7G"], "2 agents of 7 GiB at once are asked for; 1 is safe on this host"),
        (["8G", "4G", "1G"], "3 agents of up to 8 GiB at once are asked for; 2 are safe"),
    ],
)
def test_what_does_not_fit_together_is_said(sizes: list[str], sentence: str | None) -> None:
    found = too_many([a_spec(f"r{n}", memory=s) for n, s in enumerate(sizes)], a_policy())
    assert (found is None) == (sentence is None)
    if found is not None and sentence is not None:
        assert found[0].startswith(sentence) and "\n" not in found[0]


ON_16G = to_policy(settings_of({}), 16 * GIB)


def test_two_agents_of_4g_are_safe_on_16g() -> None:
    assert too_many([a_spec(name, memory="4G") for name in ("a", "b")], ON_16G) is None


@pytest.mark.parametrize(("each", "safe"), [("4G", "2 are"), ("8G", "1 is")])
def test_more_than_is_safe_is_reduced_and_said_with_numbers(each: str, safe: str) -> None:
    found = too_many([a_spec(name, memory=each) for name in "abcd"], ON_16G)
    assert found is not None
    assert found[0] == (
        f"4 agents of {each[0]} GiB at once are asked for; {safe} safe on this host (16 GiB, 8 GiB "
        "of it kept for the host): the others wait their turn"
    )


def test_the_number_of_agents_counts_too() -> None:
    specs = [a_spec(f"r{n}", memory="100M") for n in range(40)]
    found = too_many(specs, a_policy(max_agents=5))
    assert found is not None
    assert found[0] == (
        "40 agents of 100 MiB at once are asked for; 5 at once are allowed "
        "(performance.max_concurrent_agents or the profile; paddock config show says which): "
        "the others wait their turn"
    )


def test_ten_thousand_in_a_row_take_no_time() -> None:
    specs = [a_spec(f"r{n}", needs=(f"r{n - 1}",) if n else ()) for n in range(10_000)]
    assert len(at_once(specs)) == 10_000
