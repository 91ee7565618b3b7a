"""Whether what is asked for at once is safe on this host (CAP-3)."""

import pytest

from paddock.api.preflight import at_once, too_many
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
