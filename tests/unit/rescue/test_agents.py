"""Which agent is meant by a word on the command line."""

from __future__ import annotations

import pytest

from paddock.rescue.agents import Agent, chosen
from paddock.rescue.records import Facts


def agent(run: str, name: str, *, attempt: int = 1, begun_at: float = 0.0) -> Agent:
    return Agent(f"{run}.{attempt}", Facts(run, attempt, name, begun_at=begun_at))


FLEET = [
    agent("3f2a", "review", begun_at=1.0),
    agent("3f2a", "review", attempt=2, begun_at=5.0),
    agent("3f91", "review", begun_at=3.0),
    agent("beef", "3f91", begun_at=9.0),
]


def keys(*refs: str) -> list[str]:
    found, _ = chosen(FLEET, refs)
    return sorted(one.key for one in found)


def test_an_id_comes_before_a_name() -> None:
    assert keys("3f91") == ["3f91.1"]


def test_a_beginning_that_fits_one_run_is_enough() -> None:
    assert keys("3f9") == ["3f91.1"]
    assert keys("b") == ["beef.1"]


def test_a_name_means_the_newest_run_of_it_with_all_its_attempts() -> None:
    assert keys("review") == ["3f2a.1", "3f2a.2"]


def test_a_beginning_of_several_is_refused_with_all_of_them() -> None:
    with pytest.raises(ValueError, match="'3f' could be 3f2a, 3f91: say more of it"):
        keys("3f")


def test_who_is_not_there_is_named() -> None:
    assert chosen(FLEET, ("nobody", ""))[1] == ["nobody", ""]
